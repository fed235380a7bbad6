from __future__ import annotations

import pytest

from deskcert_adapters.executors.proxy.body import essence, fields, has_file
from deskcert_core.effect import UNKNOWN

FORM = "application/x-www-form-urlencoded"
MULTI = "multipart/form-data; boundary=----b"


def multi(*parts: bytes, end: bytes = b"------b--\r\n") -> bytes:
    return b"".join(b"------b\r\n" + part + b"\r\n" for part in parts) + end


def part(name: str, value: str, more: str = "", head: str = "") -> bytes:
    return f'Content-Disposition: form-data; name="{name}"{more}\r\n{head}\r\n{value}'.encode()


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        (FORM, b"a=1&b=&c&a=2", (("a", "1"), ("b", ""), ("c", ""), ("a", "2"))),
        (FORM, b"a+b=%C3%A9+%26", (("a b", "é &"),)),
        (f"{FORM};charset=UTF-8", "ö=ü".encode(), (("ö", "ü"),)),
        (f'{FORM.upper()}; charset="iso-8859-1"', b"a=%E9", (("a", "é"),)),
        (FORM, b"a=1%3Bb=2", (("a", "1;b=2"),)),
        (MULTI, multi(part("a", "1"), part("b", "x\r\ny")), (("a", "1"), ("b", "x\r\ny"))),
        (MULTI, multi(part("f", "\x00binary", '; filename="inv.pdf"', "Content-Type: application/pdf\r\n")), (("f", "inv.pdf"),)),
        (MULTI, multi(part("f", "", '; filename=""', "Content-Type: application/octet-stream\r\n")), (("f", ""),)),
        ('multipart/form-data; boundary="----b"', multi(part("é", "ü")), (("é", "ü"),)),
        (MULTI, b"------b--\r\n", ()),
        ("application/json", b'{"a": 1, "b": "\\u00e9", "c": true, "a": -20}', (("a", "1"), ("b", "é"), ("c", "true"), ("a", "-20"))),
        ("Application/JSON; charset=UTF-8", b"{}", ()),
        (FORM, b"", None),
        ("application/json", b"", None),
        ("", b"", None),
    ],
)
def test_a_form_is_read(content_type: str, body: bytes, expected: object) -> None:
    assert fields(content_type, "", body) == expected


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (FORM, b"a=%E9"),  # not the charset it should be: servers differ
        (f"{FORM}; charset=utf-7", b"a=+AGE-"),
        (f"{FORM}; charset=utf-16", b"a=1"),
        (f"{FORM}; charset=utf-8; charset=utf-7", b"a=1"),
        (f"{FORM}, text/plain", b"a=1"),
        (f"text/plain, {FORM}", b"a=1"),
        (FORM, b"&".join(b"a=1" for _ in range(10_001))),
        ("", b"a=1"),
        ("form", b"a=1"),
        (FORM, b"a=1;b=2"),  # a separator to some
        ("text/plain;charset=UTF-8", b"a=1"),
        ("application/octet-stream", b"a=1"),
        ("text/xml", b"<a>1</a>"),
        ("application/json", b"a=1"),
        ("application/json", b'{"a": {"b": 1}}'),
        ("application/json", b'{"a": [1]}'),
        ("application/json", b'{"a": null}'),
        ("application/json", b'{"a": 1e3}'),
        ("application/json", b'{"a": 1.0}'),
        ("application/json", b'{"a": NaN}'),
        ("application/json", b'[["a", "1"]]'),
        ("application/json", b'"a"'),
        ("application/json", b'{"a": "\\ud800"}'),
        ("application/json", b'\xef\xbb\xbf{"a": 1}'),
        ("application/json", b"[" * 100_000),
        ("application/json; charset=utf-16", b'{"a": 1}'),
        ("application/merge-patch+json", b'{"a": 1}'),
        ("multipart/mixed; boundary=----b", multi(part("a", "1"))),
        ("multipart/form-data", multi(part("a", "1"))),
        ("multipart/form-data; boundary=----b; boundary=x", multi(part("a", "1"))),
        ("multipart/form-data; charset=utf-7; boundary=----b", multi(part("a", "1"))),
        (MULTI, multi(part("a", "1", '; filename=""'))),  # an empty file to some, a field to others
        (MULTI, multi(part("a", "1"), end=b"")),
        (MULTI, multi(part("a", "1"), end=b"------b--\r\n" + part("b", "2"))),
        (MULTI, b"before\r\n" + multi(part("a", "1"))),
        (MULTI, multi(part("a", "1")).replace(b"\r\n", b"\n")),
        (MULTI, multi(part("a", "1", "; filename*=utf-8''x"))),
        (MULTI, multi(part('a"; name="b', "1"))),
        (MULTI, multi(part("a\\", "1"))),
        (MULTI, multi(part("a", "YQ==", head="Content-Transfer-Encoding: base64\r\n"))),
        (MULTI, multi(part("a", "1", head="Content-Type: text/plain; charset=utf-16\r\n"))),
        (MULTI, multi(part("a", "1", head='Content-Disposition: form-data; name="b"\r\n'))),
        (MULTI, multi(part("a", "1", head="X: 1\r\n"))),
        (MULTI, multi(part("a", "1\r\n------bb\r\nx"))),  # a delimiter to some parsers, text to others
        (MULTI, multi(b'Content-Disposition: form-data; name="a"\r\n\r\n\xe9')),
    ],
)
def test_a_body_on_which_servers_could_differ_is_unknown(content_type: str, body: bytes) -> None:
    assert fields(content_type, "", body) is UNKNOWN


def test_a_body_that_is_compressed_or_too_long_is_unknown() -> None:
    assert fields(FORM, "gzip", b"a=1") is UNKNOWN
    assert fields("application/json", "", None) is UNKNOWN
    assert fields(FORM, "identity", b"a=1") == (("a", "1"),)


def test_a_part_with_the_content_of_a_file_is_told() -> None:
    assert has_file(MULTI, multi(part("f", "x", '; filename="a"')))
    assert not has_file(MULTI, multi(part("f", "", '; filename=""'), part("a", "1")))
    assert not has_file(FORM, b'a=filename="x"')


def test_essence_drops_the_parameters() -> None:
    assert essence("Multipart/Form-Data; boundary=x") == "multipart/form-data"
