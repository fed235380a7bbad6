"""The strict YAML loader: what it reads, where it says things stand, and every shape that it refuses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from deskcert_core.document import MAX_BYTES, MAX_DEPTH, MAX_PROBLEMS, parse, read
from deskcert_core.errors import InputError


def said(raw: bytes | str) -> list[str]:
    return [str(problem) for problem in parse(raw.encode() if isinstance(raw, str) else raw, "f").problems]


def test_what_yaml_1_2_reads_alike_everywhere() -> None:
    document = parse(b'a: 1\nb: -2.50\nc: true\nd: false\ne: null\nf: plain text\ng: "yes"\nh: [x, {y: 1.0}]\ni: {}\nj: 1.2.3.4\n', "f")
    assert document.problems == ()
    assert document.data == {"a": 1, "b": -2.5, "c": True, "d": False, "e": None, "f": "plain text", "g": "yes", "h": ["x", {"y": 1}], "i": {}, "j": "1.2.3.4"}


def test_a_byte_order_mark_is_fine_and_moves_nothing() -> None:
    document = parse("\ufeffa: ü\nb: x".encode(), "f")
    assert document.data == {"a": "ü", "b": "x"}
    assert document.place(("b",)) == (2, 4)


def test_places_of_values_and_keys() -> None:
    document = parse("a:\n  - x\n  - {bc: ü, d: 1}\n".encode(), "f")
    assert document.place(("a",)) == (2, 3)
    assert document.place(("a",), key=True) == (1, 1)
    assert document.place(("a", 1, "d")) == (3, 16)
    assert document.place(("a", 1, "d"), key=True) == (3, 13)
    assert document.place(("a", 1, "none", "such")) == (3, 5), "the nearest part that is there"


@pytest.mark.parametrize("scalar", [
    "yes", "no", "on", "off", "Yes", "TRUE", "~", "Null", "012", "08", "0x1F", "0o17", "0b1", "1:30", "1:30:45", "1_000", "+1", "1.", ".5", "1e3", "1E-3", "1e999",
    ".inf", "-.inf", ".nan", ".NaN", "2026-01-01", "2026-01-01T00:00:00Z", "=",
])
def test_a_plain_scalar_that_readers_disagree_on_is_refused(scalar: str) -> None:
    assert said(f"a: x\nb: {scalar}") == [
        f"f:2:4: {scalar} is read differently by different YAML readers: quote it if it is text, else write true, false, null or a plain number"
    ]
    assert said(f"a: x\nb: '{scalar}'") == [], "quoted it is text"


@pytest.mark.parametrize(("raw", "problem"), [
    ("", "f: is empty"),
    ("# only words\n", "f: is empty"),
    ("---\n...\n", "f:2:1: nothing stands here: write a value, [] or {}"),
    ("a: 1\nb: 2\na: 3", "f:3:1: the key 'a' was already given at line 1"),
    ("a: {b: 1, b: 2}", "f:1:11: the key 'b' was already given at line 1"),
    ("a: &x 1", "f:1:4: the anchor &x is not allowed: there are no aliases"),
    ("a: *x", "f:1:4: the alias *x is not allowed: write the value out"),
    ("a: !!str 1", "f:1:4: the tag !!str is not allowed: a value says its own type"),
    ("a: !!python/object:os.system x", "f:1:4: the tag !!python/object:os.system is not allowed: a value says its own type"),
    ("a: !mine [x]", "f:1:4: the tag !mine is not allowed: a value says its own type"),
    ("<<: {b: 1}", "f:1:1: merge keys (<<) are not allowed: write the keys out"),
    ("1: x", "f:1:1: the key 1 would not be read as text: quote it"),
    ("null: x", "f:1:1: the key null would not be read as text: quote it"),
    ("true: x", "f:1:1: the key true would not be read as text: quote it"),
    ("é: x", "f:1:1: the key '\\xe9' must be written in printable ASCII"),
    ('"allow\\u200bed": x', "f:1:1: the key 'allow\\u200bed' must be written in printable ASCII"),
    ('"": x', "f:1:1: the key '' must be written in printable ASCII"),
    ("[a]: x", "f:1:1: a key must be text, not a list or mapping"),
    ("a:\nb: 1", "f:1:3: nothing stands here: write a value, [] or {}"),
    ("a:\n  -\n  - 1", "f:2:4: nothing stands here: write a value, [] or {}"),
    ("a: 1234567890123456", "f:1:4: a number of more than 15 digits: quote it if it is text"),
    ('a: "\\0"', "f:1:4: a control character may not stand in a text"),
    ('a: "\\e[2J"', "f:1:4: a control character may not stand in a text"),
    ("a: 1\n--- \nb: 2", "f:2:1: a second document: one file holds one"),
    (b"a: 1\nb: \xff", "f:2:4: is not encoded in UTF-8 (byte 0xff)"),
    ("a: b".encode("utf-16"), "f: holds zero bytes: it is binary, or not encoded in UTF-8"),
    (b"\x89PNG\r\n\x1a\n\0\0", "f: holds zero bytes: it is binary, or not encoded in UTF-8"),
    (b"a: \x1b[2J", "f:1:4: the control character U+001B may not stand in a file"),
    (b"a: " + b"x" * MAX_BYTES, "f: is larger than 1,000,000 bytes"),
    ("a: [" + "1, " * 100_000 + "]", "f:1:299999: more than 100,000 values"),
    ("a: [1,\nb: }", "f:2:4: is not YAML: while parsing a flow node: did not find expected node content"),
    ("a: b: c", "f:1:5: is not YAML: mapping values are not allowed in this context"),
    ("\ta: b", "f:1:1: is not YAML: while scanning for the next token: found character that cannot start any token"),
])
def test_refused_with_its_place(raw: str | bytes, problem: str) -> None:
    assert problem in said(raw)


def test_all_problems_at_once() -> None:
    assert [line.split(": ")[0] for line in said("a: yes\nb: &x 1\nc: *x\na: 012\nd: [\n")] == ["f:1:4", "f:2:4", "f:3:4", "f:4:1", "f:4:4", "f:6:1"]


def test_what_is_refused_is_kept_as_text_so_that_a_schema_can_go_on() -> None:
    document = parse(b"a: yes\nb: {c: 1}", "f")
    assert document.data == {"a": "yes", "b": {"c": 1}}


@pytest.mark.parametrize("one", ["- ", "[", "{a: "])
def test_depth_is_capped_and_the_cap_is_reached(one: str) -> None:
    deepest = {"- ": "- " * MAX_DEPTH + "x", "[": "[" * MAX_DEPTH + "]" * MAX_DEPTH, "{a: ": "{a: " * MAX_DEPTH + "x" + "}" * MAX_DEPTH}
    assert said(deepest[one]) == []
    assert any("nested deeper than 50" in line for line in said(one + deepest[one]))


@pytest.mark.parametrize("raw", ["[" * 900_000, "- " * 450_000, "? " * 450_000, "{a: " * 200_000, "&a " * 300_000, "!" * 900_000, "'" * 899_999])
def test_a_hostile_megabyte_is_one_problem_or_few(raw: str) -> None:
    assert 1 <= len(said(raw)) <= 3


def test_an_alias_bomb_is_told_from_its_first_alias_on_and_not_expanded() -> None:
    bomb = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))
    assert len(yaml.safe_load(bomb)["a8"]) == 9, "the same bytes load elsewhere"
    found = said(bomb)
    assert found[1] == "f:2:5: the anchor &a1 is not allowed: there are no aliases"
    assert len(found) <= MAX_PROBLEMS + 2


def test_problems_are_cut_off() -> None:
    found = said("a: [" + "&x 1, " * 100_000 + "]")
    assert len(found) == MAX_PROBLEMS + 1
    assert any("there are more problems; these first" in line for line in found)


@pytest.mark.parametrize(("text", "micros"), [("0.004", 4000), ("1.0", 1_000_000), ("3", 3_000_000), ("0.000001", 1), ("0.1", 100_000), ("2.675", 2_675_000)])
def test_money_is_exact(text: str, micros: int) -> None:
    assert parse(f"a: [{text}]".encode(), "f").micro_usd(("a", 0)) == micros


def test_money_finer_than_a_micro_dollar_is_refused() -> None:
    with pytest.raises(ValueError, match="at most six decimals"):
        parse(b"a: 0.0000001", "f").micro_usd(("a",))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("a: 1")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    for name, message in {
        "none": "does not exist", ".": "is not a file", "pipe": "is not a file", "plain/x": "cannot be read: Not a directory",
        "loop": "cannot be read: Too many levels of symbolic links", "x" * 300: "cannot be read: File name too long", "\0": "cannot be read",
    }.items():
        with pytest.raises(InputError) as caught:
            read(tmp_path / name, "shown")
        assert str(caught.value).startswith(f"shown: {message}")
    assert read(tmp_path / "plain").data == {"a": 1}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_no_permission(tmp_path: Path) -> None:
    (tmp_path / "f").touch(mode=0)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        read(tmp_path / "f")


PIECES = st.sampled_from([
    "a", "b", "1", "-", ":", " ", "\n", "  ", "[", "]", "{", "}", ",", '"', "'", "&", "*", "!", "|", ">", "%", "@", "#", "?", "<<", "yes", "0.5", "\\", "---", "\t", "é", "\ufeff", "\u2028", "\x85",
])


@given(st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=60).map(lambda pieces: "".join(pieces).encode())))
@settings(max_examples=500, deadline=None)
def test_no_bytes_raise_anything(raw: bytes) -> None:
    document = parse(raw, "f")
    assert document.problems or () in document.marks
    for problem in document.problems:
        assert problem.line >= 0
        str(problem)


LEAVES = st.one_of(st.booleans(), st.integers(-(10**14), 10**14), st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=8))
KEYS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=8)


@given(st.dictionaries(KEYS, st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=20), max_size=4))
@settings(max_examples=200, deadline=None)
def test_what_another_writer_quotes_is_read_back(data: dict[str, object]) -> None:
    text = yaml.safe_dump(data, default_style='"', allow_unicode=True).replace('!!int "', '"').replace('!!bool "', '"')
    document = parse(text.encode(), "f")
    assert document.problems == ()
    assert document.data == strings(data)


def strings(value: object) -> object:
    match value:
        case dict():
            return {key: strings(inner) for key, inner in value.items()}
        case list():
            return [strings(inner) for inner in value]
        case bool():
            return str(value).lower()
        case _:
            return str(value)
