"""The run folder: writes are whole or the run stops, and a secret is gone before anything is hashed. Judged by the bytes on the disk."""

import base64
import errno
import html
import json
import os
import urllib.parse

import pytest

from deskcert_core.errors import EvidenceError
from deskcert_core.evidence import store
from deskcert_core.evidence.record import Intended, Note
from deskcert_core.evidence.scrub import Scrubber
from deskcert_core.evidence.store import RunFolder, StoreError

SECRET = 'p4ss "wörd" & <more>/+1'


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path / "run-1", secrets={"door": SECRET})


def everything(path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file())


def forms(value: str) -> list[str]:
    raw = value.encode()
    taken = [urllib.parse.unquote_plus(value)] if urllib.parse.unquote_plus(value) != value else []
    mixed = urllib.parse.quote(value, safe="/&+")
    return [
        *taken, urllib.parse.quote(value, safe="/<>&+"), mixed.lower(), mixed.replace("%20", "+"), urllib.parse.quote(urllib.parse.quote(value)).lower(),
        raw.hex().upper(), html.escape(json.dumps(value)[1:-1]), json.dumps(value).encode("unicode_escape").decode()[1:-1],
        json.dumps(json.dumps(value))[3:-3], urllib.parse.quote(base64.b64encode(raw).decode(), safe=""), urllib.parse.quote(value, encoding="cp1252"),
        value, urllib.parse.quote(value), urllib.parse.quote_plus(value), json.dumps(value)[1:-1], html.escape(value), raw.hex(),
        base64.b64encode(b"user:" + raw).decode(), base64.b64encode(b"user1:" + raw + b"!!").decode(), base64.b64encode(raw).decode(),
    ]


@pytest.mark.parametrize("place", range(len(forms(SECRET))))
def test_no_form_of_a_secret_reaches_the_disk(folder, place):
    said = forms(SECRET)[place]
    journal = folder.journal("task", 1)
    journal.append(Note(what="said", detail={"text": f"before {said} after"}))
    journal.close()
    folder.text_blob(f"page shows {said} here")
    assert not Scrubber({"door": SECRET}).holds(everything(folder.path))
    assert b"secret:door" in everything(folder.path)


def test_without_the_secret_named_it_would_be_there(tmp_path):
    """The negative control: the same words, with nothing to scrub."""
    folder = RunFolder.create(tmp_path / "run-2", secrets={})
    folder.text_blob(f"page shows {SECRET} here")
    assert Scrubber({"door": SECRET}).holds(everything(folder.path))


def test_a_secret_too_short_to_be_found_again_is_refused():
    with pytest.raises(ValueError, match="shorter"):
        Scrubber({"pin": "123"})


@pytest.mark.parametrize("other", ["p4ss wörd", 'P4SS "WÖRD" & <MORE>/+1', "p4ss%20%22w", "%2522%2526"])
def test_what_is_no_secret_is_kept(folder, other):
    assert folder.shown(other) == other
    assert other.encode() in folder.data(folder.text_blob(other))


@pytest.mark.parametrize("secret", ["1234", "cafe", "true", "null", '","x', "body", "{}{}"])
def test_a_secret_that_looks_like_json_breaks_no_journal_and_no_digest(tmp_path, secret):
    folder = RunFolder.create(tmp_path / "run-3", secrets={"pin": secret})
    digest = "cafe1234" * 8
    journal = folder.journal("task", 1)
    journal.append(Note(what="said", detail={"text": f"a {secret} b", "blob": digest, "number": 1234, "none": None, "yes": True}))
    journal.close()
    ((line),) = folder.lines("task", 1)
    assert line.body == Note(what="said", detail={"text": "a {{secret:pin}} b", "blob": digest, "number": 1234, "none": None, "yes": True})


def test_a_secret_as_long_as_a_digest_is_a_secret(tmp_path):
    folder = RunFolder.create(tmp_path / "run-4", secrets={"key": "ab" * 32})
    assert Scrubber({"key": "ab" * 32}).value(["ab" * 32, "cd" * 32]) == ["{{secret:key}}", "cd" * 32]
    assert folder.shown("ab" * 32) == "{{secret:key}}"


@pytest.mark.parametrize("secret", ['"/"/"/"/xyz', "\\\\xyz", "\n\n\n\nxyz", "    xyz", "%%%%xyz"])
@pytest.mark.parametrize("page", ["\\", '"', "\n", " ", "%", "%25", "&#0", '\\"'])
def test_a_page_cannot_hold_up_the_scrubber(secret, page):
    """Half a megabyte that almost fits, over and over: were a search not bounded, this would never end."""
    text = page * (500_000 // len(page))
    assert Scrubber({"door": secret}).text(text) == text


def test_short_writes_are_finished(folder, monkeypatch):
    real = os.write
    monkeypatch.setattr(store.os, "write", lambda fd, data: real(fd, bytes(data[:7])))
    journal = folder.journal("task", 1)
    for step in range(3):
        journal.append(Intended(step=step), sync=True)
    assert [line.body for line in folder.lines("task", 1)] == [Intended(step=step) for step in range(3)]


@pytest.mark.parametrize("call", ["write", "fsync"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_after_a_failed_write_nothing_is_ever_written_again(folder, monkeypatch, call, code):
    journal = folder.journal("task", 1)
    journal.append(Intended(step=0), sync=True)
    calls = []

    def fail(*_):
        calls.append(1)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(store.os, call, fail)
    for _ in range(3):
        with pytest.raises(StoreError):
            journal.append(Intended(step=1), sync=True)
    monkeypatch.undo()
    with pytest.raises(StoreError):
        journal.append(Intended(step=1), sync=True)
    assert len(calls) == 1
    assert folder.lines("task", 1)[0].body == Intended(step=0)


def test_a_changed_or_missing_blob_is_named(folder):
    digest = folder.text_blob("hello")
    path = folder.path / "blobs" / "sha256" / digest
    path.write_bytes(b"hellp")
    with pytest.raises(EvidenceError, match=f"{digest} was changed"):
        folder.data(digest)
    path.unlink()
    with pytest.raises(EvidenceError, match=f"{digest} is missing"):
        folder.data(digest)


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b'{"layout": 99}'])
def test_what_is_no_run_folder_is_said_in_one_line(tmp_path, content):
    if content is not None:
        (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(EvidenceError) as caught:
        RunFolder.open(tmp_path)
    assert "\n" not in str(caught.value)


def test_files_are_for_the_owner_only(folder):
    journal = folder.journal("task", 1)
    journal.append(Intended(step=0))
    digest = folder.text_blob("x")
    for path in (folder.path / "trials" / "task" / "1" / "journal.jsonl", folder.path / "blobs" / "sha256" / digest):
        assert path.stat().st_mode & 0o077 == 0
