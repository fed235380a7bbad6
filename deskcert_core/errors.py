"""Everything that can go wrong, and whose fault it is.

DeskCertError              70  the base; raised bare it is our bug
├── UsageError             64  the command line
├── InputError             65  a suite, task, policy or costs file; carries every problem found
├── PluginError            69  a plug-in is missing, broken, duplicate or of the wrong version
├── UnavailableError       69  a browser, program or service that the run needs
├── EvidenceError           4  a run folder that does not verify
└── TrialFault                 ends one trial, never the program
    ├── AgentFault             the agent's adapter: crash, garbage, silence
    └── HarnessFault           harness, browser, application or model service: the trial is INCONCLUSIVE
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

Whose = Literal["agent", "harness", "browser", "application", "model", "session"]


class ExitCode(IntEnum):
    """What `deskcert run` and `deskcert ci` end with, worst first in `WORST`."""

    PASSED = 0
    BELOW_GATE = 1
    VIOLATION = 2
    INCONCLUSIVE = 3
    EVIDENCE = 4
    USAGE = 64
    INPUT = 65
    UNAVAILABLE = 69
    BUG = 70
    INTERRUPTED = 130


WORST = (ExitCode.BUG, ExitCode.EVIDENCE, ExitCode.VIOLATION, ExitCode.INCONCLUSIVE, ExitCode.BELOW_GATE, ExitCode.PASSED)


class DeskCertError(Exception):
    """One line for a person: what is wrong and what to do. `hint` is the second half."""

    exit_code = ExitCode.BUG

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class UsageError(DeskCertError):
    """The command line asks for something that does not exist or cannot be."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Problem:
    """One fault in one file. `line` and `column` count from 1; 0 means the file as a whole."""

    file: str
    line: int = 0
    column: int = 0
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.message}"


class InputError(DeskCertError):
    """A file of the suite's author is wrong. `problems` holds all of them, sorted by place."""

    exit_code = ExitCode.INPUT

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = sorted(problems)
        super().__init__("\n".join(map(str, self.problems)))


class PluginError(DeskCertError):
    """A plug-in cannot be used. The message names its distribution and version."""

    exit_code = ExitCode.UNAVAILABLE


class UnavailableError(DeskCertError):
    """A browser, program or service that the run needs is not there."""

    exit_code = ExitCode.UNAVAILABLE


class EvidenceError(DeskCertError):
    """A run folder does not verify; the message names the first bad record."""

    exit_code = ExitCode.EVIDENCE


class TrialFault(DeskCertError):
    """Ends one trial. `whose` says who broke; the session records it and goes on."""

    whose: Whose = "harness"


class AgentFault(TrialFault):
    """The agent's process crashed, sent garbage or kept silent."""

    whose: Whose = "agent"


class HarnessFault(TrialFault):
    """Harness, browser, application, session or model service broke: never a verdict on the agent."""

    def __init__(self, message: str, *, whose: Whose = "harness", hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.whose = whose
