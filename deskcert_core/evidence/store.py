"""The run folder on disk: journals that only grow, blobs named by digest, one manifest. The only part of the core that writes evidence.

Two rules: a write is whole or the run stops (no short write, no retried fsync); what is secret is gone before anything is hashed.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from deskcert_core.errors import EvidenceError, ExitCode, HarnessFault
from deskcert_core.evidence import chain
from deskcert_core.evidence.record import Body, Line, encode, well_formed
from deskcert_core.evidence.scrub import Scrubber
from deskcert_core.policy.rules import Policy
from deskcert_core.task import Suite

__all__ = ["JournalWriter", "RunFolder", "StoreError"]

LAYOUT = 1


class StoreError(HarnessFault):
    """Evidence could not be written: nothing may happen after this."""

    exit_code = ExitCode.UNAVAILABLE


class JournalWriter:
    """Appends records to one journal. After any failed write or sync every further call raises: what cannot be recorded must not be done."""

    def __init__(self, path: Path, name: str, scrubber: Scrubber, clock: Callable[[], int] = time.monotonic_ns) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        sync_folder(path.parent)
        self._scrubber, self._clock, self._start = scrubber, clock, clock()
        self._seq, self._prev, self.broken = 0, chain.genesis(name), False

    def append(self, body: Body, *, sync: bool = False) -> int:
        """Write one record; with `sync` it is on the disk when this returns. Gives its sequence number. Raises StoreError."""
        if self.broken:
            raise StoreError("the journal is broken: an earlier write failed")
        line = Line(seq=self._seq, prev=self._prev, t_ns=self._clock() - self._start, body=body)
        raw = self._scrubber.scrub(encode(line))
        try:
            write_all(self._fd, raw + b"\n")
            if sync:
                os.fsync(self._fd)
        except OSError as error:
            self.broken = True
            raise StoreError(f"evidence cannot be written: {error}") from error
        self._seq, self._prev = self._seq + 1, chain.link(raw)
        return line.seq

    def close(self) -> None:
        os.close(self._fd)


class RunFolder:
    """One run's folder. `create` for the session, `open` for everybody who reads."""

    def __init__(self, path: Path, manifest: dict[str, Any], scrubber: Scrubber) -> None:
        self.path, self.manifest, self._scrubber = path, manifest, scrubber

    @classmethod
    def create(cls, path: Path, *, secrets: dict[str, str]) -> RunFolder:
        """A new folder; its last part is the run's id. Raises StoreError if it exists or cannot be made."""
        try:
            path.mkdir(parents=True)
            (path / "blobs" / "sha256").mkdir(parents=True)
        except OSError as error:
            raise StoreError(f"cannot make the run folder {path}: {error.strerror}") from error
        return cls(path, {}, Scrubber(secrets))

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """An existing folder. Raises EvidenceError if it is none of ours."""
        try:
            manifest = msgspec.json.decode((path / "manifest.json").read_bytes())
        except OSError as error:
            raise EvidenceError(f"{path} is no run folder: manifest.json: {error.strerror}", hint="give the folder of one run, as `deskcert run` printed it") from error
        except msgspec.MsgspecError as error:
            raise EvidenceError(f"{path}/manifest.json cannot be read: {error}") from error
        if not isinstance(manifest, dict) or manifest.get("layout") != LAYOUT:
            raise EvidenceError(f"{path}/manifest.json is not of layout {LAYOUT}")
        return cls(path, manifest, Scrubber({}))

    @property
    def run_id(self) -> str:
        return str(self.manifest.get("run_id", self.path.name))

    # -- writing
    def journal(self, task_id: str, trial: int) -> JournalWriter:
        path = self.path / "trials" / task_id / str(trial) / "journal.jsonl"
        return JournalWriter(path, self._name(task_id, trial), self._scrubber)

    def run_journal(self) -> JournalWriter:
        return JournalWriter(self.path / "run.jsonl", f"{self.run_id}/run", self._scrubber)

    def blob(self, data: bytes) -> str:
        """Store bytes once; gives their SHA-256. Text must come through `text_blob`, so that secrets are taken out."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._blob(digest)
        if not path.exists():
            write_file(path, data)
        return digest

    def text_blob(self, text: str) -> str:
        return self.blob(self._scrubber.scrub(text.encode("utf-8", "replace")))

    def scrub_text(self, text: str) -> str:
        """The text as it may be shown to an agent: known secrets replaced by their handles."""
        return self._scrubber.text(text)

    def write_manifest(self, manifest: dict[str, Any], suite: Suite, policy: Policy) -> None:
        """The manifest and what was resolved, as blobs. Written before the first trial."""
        inputs = {"suite": self._data_blob(suite), "policy": self._data_blob(policy)}
        self.manifest = {"layout": LAYOUT, "run_id": self.run_id, **manifest, "inputs": inputs}
        raw = msgspec.json.format(msgspec.json.encode(well_formed(self.manifest), order="deterministic"), indent=2)
        write_file(self.path / "manifest.json", self._scrubber.scrub(raw) + b"\n")

    def write_derived(self, relative: str, data: bytes) -> Path:
        """A file that can be recomputed at any time."""
        path = self.path / "derived" / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, data)
        return path

    # -- reading
    @property
    def suite(self) -> Suite:
        return msgspec.json.decode(self._input("suite"), type=Suite)

    @property
    def policy(self) -> Policy:
        return msgspec.json.decode(self._input("policy"), type=Policy)

    def trials(self) -> tuple[tuple[str, int], ...]:
        """The trials that were started, in the suite's order."""
        order = {task.id: place for place, task in enumerate(self.suite.tasks)}
        found = [(path.parent.parent.name, int(path.parent.name)) for path in (self.path / "trials").glob("*/*/journal.jsonl")]
        return tuple(sorted(found, key=lambda trial: (order.get(trial[0], len(order)), trial)))

    def lines(self, task_id: str, trial: int) -> tuple[Line, ...]:
        """A trial's records, chain checked, a torn tail left out. Raises EvidenceError."""
        return self._read(self.path / "trials" / task_id / str(trial) / "journal.jsonl", self._name(task_id, trial))

    def run_lines(self) -> tuple[Line, ...]:
        return self._read(self.path / "run.jsonl", f"{self.run_id}/run")

    def data(self, digest: str) -> bytes:
        """A blob, held against its digest. Raises EvidenceError."""
        try:
            data = self._blob(digest).read_bytes()
        except OSError as error:
            raise EvidenceError(f"blob {digest} is missing: {error.strerror}") from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise EvidenceError(f"blob {digest} was changed")
        return data

    def text(self, digest: str) -> str:
        return self.data(digest).decode("utf-8", "replace")

    # -- inside
    def _name(self, task_id: str, trial: int) -> str:
        return f"{self.run_id}/{task_id}/{trial}"

    def _blob(self, digest: str) -> Path:
        return self.path / "blobs" / "sha256" / digest

    def _data_blob(self, value: Suite | Policy) -> str:
        return self.blob(self._scrubber.scrub(msgspec.json.encode(value, order="deterministic")))

    def _input(self, name: str) -> bytes:
        return self.data(self.manifest["inputs"][name])

    def _read(self, path: Path, name: str) -> tuple[Line, ...]:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise EvidenceError(f"{path} cannot be read: {error.strerror}") from error
        return chain.read(name, data).lines


def write_all(fd: int, data: bytes) -> None:
    """Write every byte: `os.write` may write fewer and say so only by its count."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_file(path: Path, data: bytes) -> None:
    """A whole file or none: temporary file, sync, rename, sync of the folder. Raises StoreError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            write_all(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)
        temporary.rename(path)
        sync_folder(path.parent)
    except OSError as error:
        raise StoreError(f"evidence cannot be written: {path}: {error.strerror}") from error


def sync_folder(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
