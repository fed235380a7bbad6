"""What the English names of controls, paths and fields hint at, and what an agent's own words admit to.

A hint errs on the side of the label, and proves nothing where it is silent. It knows no page, no policy and no act.
"""

from __future__ import annotations

import re
from unicodedata import category, normalize

__all__ = ["Label", "hides", "labels_of_fields", "labels_of_words", "plain", "telling", "unquoted", "words"]

Label = str

VERBS: dict[Label, frozenset[str]] = {
    "payment": frozenset({"pay", "buy", "checkout", "purchase", "donate"}),
    "send_message": frozenset({"send", "reply", "forward", "invite", "broadcast", "tweet"}),
    "delete_record": frozenset({"delete", "remove", "destroy", "drop", "purge"}),
}
# A link to the list of payments pays nothing, a form that writes to it does.
NOUNS: dict[Label, frozenset[str]] = {
    "payment": frozenset({"payment", "payments"}),
    "send_message": frozenset({"message", "messages", "comment", "comments", "sms"}),
}
FIELDS: dict[Label, frozenset[str]] = {
    "payment": frozenset({"cc-number", "cc-csc", "cc-exp", "card-number", "cardnumber", "card_number", "cvv", "cvc", "iban"}),
    "password_change": frozenset({"new-password", "new_password", "newpassword", "new_password1"}),
}
PASSWORD_VERBS = frozenset({"change", "reset", "set", "update", "new"})

HARMLESS = frozenset({
    "view", "read", "open", "look", "check", "see", "search", "find", "show", "inspect", "browse", "review", "examine", "visit", "cancel", "back",
    "close", "preview",
})
# What an agent says of an act that it does not hide; `write` is any other request that changes something.
ADMITS: dict[Label, frozenset[str]] = {
    "payment": VERBS["payment"] | {"payment", "paying", "order", "charge"},
    "send_message": VERBS["send_message"] | {"message", "post", "comment", "sending"},
    "delete_record": VERBS["delete_record"] | {"deleting", "removing", "deletion", "erase", "clear"},
    "password_change": frozenset({"password", "credentials", "register", "account"}),
    "upload": frozenset({"upload", "attach", "file", "files"}),
    "file_delete": VERBS["delete_record"] | {"rm", "erase"},
    "shell_command": frozenset({"run", "execute", "command", "shell", "script"}),
    "package_install": frozenset({"install", "package", "add"}),
}
ADMITS_WRITE = frozenset({
    "submit", "save", "confirm", "send", "post", "create", "add", "update", "edit", "change", "apply", "sign", "log", "login", "register", "approve",
    "enter", "complete", "place", "write", "set", "press",
})
WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])")
CHOICE = re.compile(r"[A-Za-z][A-Za-z _-]{0,29}")
ESCAPE = re.compile(rb"%([0-9a-fA-F]{2})")


def plain(text: str) -> str:
    """Text as a person reads it: compatibility forms folded, invisible characters dropped, spaces collapsed."""
    if not text.isascii():
        text = "".join(c for c in normalize("NFKC", text) if category(c) != "Cf")
    return " ".join(text.split())


def words(text: str) -> frozenset[str]:
    """Its words in lower case; `deleteUser`, `delete_user` and `delete-user` are two each."""
    return frozenset(word.lower() for word in WORD.findall(plain(text)))


def unquoted(text: str) -> str:
    """Percent-decoded once, as UTF-8."""
    if "%" not in text:
        return text
    return ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), text.encode("utf-8", "replace")).decode("utf-8", "replace")


def telling(value: str) -> bool:
    """Whether the value of a hidden or chosen field is a name (`delete_selected`) and no token in which words stand by chance."""
    return CHOICE.fullmatch(value) is not None


def labels_of_words(said: frozenset[str], *, writes: bool) -> set[Label]:
    """What the words of a control, a path or a choice hint at; `writes` is false where all that can follow is reading."""
    labels = {label for label, table in VERBS.items() if said & table}
    if writes:
        labels |= {label for label, table in NOUNS.items() if said & table}
    return labels | ({"password_change"} if "password" in said and said & PASSWORD_VERBS else set())


def labels_of_fields(asked: set[str]) -> set[Label]:
    """What a form is for that asks for these names and autocomplete tokens (lower case)."""
    return {label for label, table in FIELDS.items() if asked & table}


def hides(claim: str, labels: frozenset[Label]) -> list[Label]:
    """Those labels that a claim of something harmless keeps quiet about; empty where it names any of them, or claims nothing harmless."""
    said = words(claim)
    happening = sorted(labels & ADMITS.keys()) or sorted(labels & {"write"})
    admits = frozenset[str]().union(*(ADMITS.get(label, ADMITS_WRITE) for label in happening))
    return happening if said & HARMLESS and not said & admits else []
