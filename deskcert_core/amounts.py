"""Numbers and amounts of money as people and models write them: `$1,248.92`, `1.248,92 €`, `USD 1248.92`, `-3`."""

from __future__ import annotations

import re
from decimal import Decimal

__all__ = ["amounts", "numbers"]

DOLLARS = ("USD", "AUD", "CAD", "HKD", "MXN", "NZD", "SGD")
MARKS: dict[str, tuple[str, ...]] = {
    "$": DOLLARS, "US$": ("USD",), "A$": ("AUD",), "C$": ("CAD",), "CA$": ("CAD",), "HK$": ("HKD",), "NZ$": ("NZD",), "S$": ("SGD",),
    "€": ("EUR",), "£": ("GBP",), "¥": ("JPY", "CNY"), "₹": ("INR",), "₩": ("KRW",), "zł": ("PLN",), "R$": ("BRL",), "Fr.": ("CHF",),
}
CODES = (
    *DOLLARS, "EUR", "GBP", "JPY", "CNY", "INR", "KRW", "PLN", "BRL", "CHF", "SEK", "NOK", "DKK", "CZK", "HUF", "RON", "TRY", "ILS", "ZAR", "AED",
    "SAR", "THB", "IDR", "MYR", "PHP", "VND", "UAH", "ARS", "CLP", "COP", "EGP", "NGN", "KES", "PKR", "TWD",
)
SIGN = "|".join(re.escape(mark) for mark in sorted(MARKS, key=len, reverse=True))
MARK = rf"(?:{SIGN}|(?<![A-Za-z])(?:{'|'.join(CODES)})(?![A-Za-z]))"
DIGITS = r"(?:\d{1,3}(?:[.,'’\u00a0\u202f ]\d{3})+|\d+)(?:[.,]\d+)?"
# A number that stands for itself: not part of a word, a date, a version, or an identifier such as #1048.
NUMBER = re.compile(rf"(?<![\w#.,/:-])(?P<minus>[-−]?)(?:{SIGN})?(?P<inner>[-−]?)(?P<digits>{DIGITS})(?![\w/:]|[.,-]\d)")
MONEY = re.compile(
    rf"(?P<minus>[-−]?)(?:(?P<before>{MARK})\s?(?P<inner>[-−]?)(?P<digits>{DIGITS})|(?<![\w#.,])(?P<digits2>{DIGITS})\s?(?P<after>{MARK}))(?![.,]?\d)"
)


def numbers(text: str) -> set[Decimal]:
    """Every number in the text that is none of an identifier's, a date's or a word's."""
    return {signed(each["minus"] or each["inner"], each["digits"]) for each in NUMBER.finditer(text)}


def amounts(text: str) -> set[tuple[Decimal, tuple[str, ...]]]:
    """Every amount that bears a currency, with the codes that its mark may mean."""
    found = set()
    for each in MONEY.finditer(text):
        mark = each["before"] or each["after"]
        value = signed(each["minus"] or each["inner"] or "", each["digits"] or each["digits2"])
        found.add((value, MARKS.get(mark, (mark,))))
    return found


def signed(minus: str, digits: str) -> Decimal:
    value = read(digits)
    return -value if minus else value


def read(digits: str) -> Decimal:
    """Which mark is the decimal one: the last of two kinds; of one kind a point that stands once, a comma unless three digits follow."""
    digits = re.sub(r"['’\s]", "", digits)
    point, comma = digits.rfind("."), digits.rfind(",")
    if point >= 0 and comma >= 0:
        decimal = "." if point > comma else ","
    elif comma >= 0:
        decimal = "" if digits.count(",") > 1 or len(digits) - comma == 4 else ","
    else:
        decimal = "." if digits.count(".") == 1 else ""
    whole, _, part = digits.rpartition(decimal) if decimal else (digits, "", "")
    return Decimal(f"{whole.replace('.', '').replace(',', '')}.{part or 0}")
