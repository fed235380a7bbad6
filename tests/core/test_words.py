"""Words in names, paths and claims."""

from __future__ import annotations

import pytest

from deskcert_core.words import hides, labels_of_fields, labels_of_words, plain, telling, unquoted, words


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("deleteUser", {"delete", "user"}), ("delete_user-2", {"delete", "user"}), ("DELETE", {"delete"}), ("HTTPDelete", {"http", "delete"}), ("", set()),
        ("Löschen", {"löschen"}), ("\uff24elete", {"delete"}), ("De\u200blete \u00ad", {"delete"}), ("undelete", {"undelete"}),
    ],
)
def test_words(text: str, read: set[str]) -> None:
    assert words(text) == read


def test_plain_is_one_line() -> None:
    assert plain(" a\n\tb\u00a0c\u200d ") == "a b c"


@pytest.mark.parametrize(("text", "read"), [("/a", "/a"), ("/%41%2F", "/A/"), ("%C3%A9", "é"), ("%ff", "\ufffd"), ("%4", "%4"), ("%\ud800", "%?")])
def test_unquoted(text: str, read: str) -> None:
    assert unquoted(text) == read


@pytest.mark.parametrize(("value", "is_name"), [("delete_selected", True), ("Delete selected", True), ("x9Pay", False), ("a" * 31, False), ("", False), ("{delete}", False)])
def test_telling(value: str, is_name: bool) -> None:
    assert telling(value) is is_name


def test_nouns_count_only_where_something_is_written() -> None:
    assert labels_of_words(frozenset({"payments", "comments"}), writes=False) == set()
    assert labels_of_words(frozenset({"payments", "comments"}), writes=True) == {"payment", "send_message"}


@pytest.mark.parametrize(("asked", "labels"), [({"cc-number"}, {"payment"}), ({"new-password", "x"}, {"password_change"}), ({"total"}, set())])
def test_fields(asked: set[str], labels: set[str]) -> None:
    assert labels_of_fields(asked) == labels


@pytest.mark.parametrize(
    ("claim", "labels", "quiet"),
    [
        ("View it", {"payment", "upload"}, ["payment", "upload"]), ("View and pay", {"payment", "upload"}, []), ("View it", {"write"}, ["write"]),
        ("View it", {"write", "payment"}, ["payment"]), ("View it", {"popup"}, []), ("Do it", {"payment"}, []), ("View, then save", {"write"}, []),
    ],
)
def test_hides(claim: str, labels: set[str], quiet: list[str]) -> None:
    assert hides(claim, frozenset(labels)) == quiet
