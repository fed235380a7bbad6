"""The run folder on disk: journals that only grow, blobs named by digest, one manifest. The only part of the core that writes evidence.

Two rules: a write is whole or the run stops (no short write, no retried fsync); what is secret is gone before anything is hashed.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict, TypeVar

import msgspec

from deskcert_core.errors import EvidenceError, ExitCode, HarnessFault
from deskcert_core.evidence import chain
from deskcert_core.evidence.record import Body, Line, encode, well_formed
from deskcert_core.evidence.scrub import Scrubber
from deskcert_core.policy.rules import Policy
from deskcert_core.task import Suite

__all__ = ["JournalWriter", "RunFolder", "StoreError"]

LAYOUT = 1
T = TypeVar("T")
DIGEST = re.compile("[0-9a-f]{64}")


class StoreError(HarnessFault):
    """Evidence could not be written: nothing may happen after this."""

    exit_code = ExitCode.UNAVAILABLE


class Inputs(TypedDict):
    """The digests of what was resolved."""

    suite: str
    policy: str


class Manifest(TypedDict):
    """The shape of manifest.json, as far as it is read: held against it before anything is believed. Further keys are for people."""

    layout: Literal[1]
    run_id: Annotated[str, msgspec.Meta(min_length=1)]
    inputs: Inputs
    agent: NotRequired[str]
    adapter: NotRequired[str]
    suite: NotRequired[str]
    environment: NotRequired[str]
    base_url: NotRequired[str]
    approver: NotRequired[str]
    containment: NotRequired[str]
    agent_isolation: NotRequired[str]
    browser: NotRequired[dict[str, str | bool | int | None] | None]
    criteria: NotRequired[dict[str, str]]
    replay: NotRequired[dict[str, str] | None]


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
        raw = encode(line, self._scrubber.value)
        try:
            write_all(self._fd, raw + b"\n")
            if sync:
                os.fsync(self._fd)
        except OSError as error:
            self.broken = True
            raise StoreError(f"evidence cannot be written: {error}") from error
        self._seq, self._prev = self._seq + 1, chain.link(raw)
        return line.seq

    def shown(self, value: T) -> T:
        """The data as a person may see it: with the secrets taken out that are taken out of the record."""
        return self._scrubber.shown(value)

    def close(self) -> None:
        os.close(self._fd)


Resolved = TypeVar("Resolved", Suite, Policy)


class RunFolder:
    """One run's folder. `create` for the session, `open` for everybody who reads. `digest` is the SHA-256 of manifest.json's bytes."""

    def __init__(self, path: Path, manifest: dict[str, Any], scrubber: Scrubber, digest: str = "") -> None:
        self.path, self.manifest, self._scrubber, self.digest = path, manifest, scrubber, digest

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
            raw = (path / "manifest.json").read_bytes()
            manifest = msgspec.json.decode(raw)
            if isinstance(manifest, dict) and manifest.get("layout") != LAYOUT:
                raise EvidenceError(f"{path}/manifest.json is not of layout {LAYOUT}")
            msgspec.convert(manifest, Manifest)
        except OSError as error:
            raise EvidenceError(f"{path} is no run folder: manifest.json: {error.strerror}", hint="give the folder of one run, as `deskcert run` printed it") from error
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise EvidenceError(f"{path}/manifest.json cannot be read: {error}") from error
        return cls(path, manifest, Scrubber({}), hashlib.sha256(raw).hexdigest())

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

    def shown(self, value: T) -> T:
        """The text or data as it may be shown to an agent or a person: known secrets replaced by their handles."""
        return self._scrubber.shown(value)

    def write_manifest(self, manifest: dict[str, Any], suite: Suite, policy: Policy) -> None:
        """The manifest and what was resolved, as blobs. Written before the first trial."""
        inputs = {"suite": self._data_blob(suite), "policy": self._data_blob(policy)}
        self.manifest = {"layout": LAYOUT, "run_id": self.run_id, **manifest, "inputs": inputs}
        clean = self._scrubber.value(well_formed(msgspec.to_builtins(self.manifest)))
        raw = msgspec.json.format(msgspec.json.encode(clean, order="deterministic"), indent=2) + b"\n"
        write_file(self.path / "manifest.json", raw)
        self.digest = hashlib.sha256(raw).hexdigest()

    def write_derived(self, relative: str, data: bytes) -> Path:
        """A file that can be recomputed at any time. Raises StoreError, also where a symbolic link would lead the write out of the run folder."""
        path = self.path / "derived" / relative
        for folder in path.parents[: len(path.relative_to(self.path).parts) - 1]:
            if folder.is_symlink():
                raise StoreError(f"{folder} is a symbolic link, and nothing is written through one", hint="remove it")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{path.parent} cannot be made: {error.strerror}", hint=f"remove {self.path / 'derived'}, or make it writable") from error
        write_file(path, data)
        return path

    # -- reading
    @property
    def suite(self) -> Suite:
        return self._input("suite", Suite)

    @property
    def policy(self) -> Policy:
        return self._input("policy", Policy)

    def trials(self) -> tuple[tuple[str, int], ...]:
        """The trials that were started, in the suite's order. Raises EvidenceError for a folder that is none of a trial."""
        order = {task.id: place for place, task in enumerate(self.suite.tasks)}
        found = [(path.parent.parent.name, trial_number(path.parent)) for path in (self.path / "trials").glob("*/*/journal.jsonl")]
        return tuple(sorted(found, key=lambda trial: (order.get(trial[0], len(order)), trial)))

    def lines(self, task_id: str, trial: int) -> tuple[Line, ...]:
        """A trial's records, chain checked, a torn tail left out. Raises EvidenceError."""
        return self._read(self.path / "trials" / task_id / str(trial) / "journal.jsonl", self._name(task_id, trial))

    def run_lines(self) -> tuple[Line, ...]:
        return self._read(self.path / "run.jsonl", f"{self.run_id}/run")

    def data(self, digest: str) -> bytes:
        """A blob, held against its digest. Raises EvidenceError."""
        if not DIGEST.fullmatch(digest):
            raise EvidenceError(f"{digest[:80]!r} is no name of a blob")
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
        return self.blob(msgspec.json.encode(self._scrubber.value(msgspec.to_builtins(value, order="deterministic")), order="deterministic"))

    def _input(self, name: str, kind: type[Resolved]) -> Resolved:
        try:
            return msgspec.json.decode(self.data(self.manifest["inputs"][name]), type=kind)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise EvidenceError(f"the {name} of the run cannot be read: {error}") from error

    def _read(self, path: Path, name: str) -> tuple[Line, ...]:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise EvidenceError(f"{path} cannot be read: {error.strerror}") from error
        return chain.read(name, data).lines


def trial_number(folder: Path) -> int:
    """The number that a trial's folder is named by, written in the one way that the session writes it."""
    if not re.fullmatch("[1-9][0-9]{0,8}", folder.name):
        raise EvidenceError(f"{folder} is no folder of a trial")
    return int(folder.name)


def write_all(fd: int, data: bytes) -> None:
    """Write every byte: `os.write` may write fewer and say so only by its count."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_file(path: Path, data: bytes) -> None:
    """A whole file or none: temporary file, sync, rename, sync of the folder. Raises StoreError."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
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
