"""What the tries of the malicious adapter share. Each gives a proof of what it got, or raises. They aim at what the test made, on loopback alone."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

TRIES: dict[str, Callable[[dict[str, Any]], object]] = {}
LIBC = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"
SECONDS = 2.0


def attempt(found: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    TRIES[found.__name__] = found
    return found


def called(result: int) -> int:
    """A libc call's result. Raises OSError as Python's own calls do."""
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def outcomes(world: dict[str, Any]) -> dict[str, list[str]]:
    """Of each try: `got` and the proof, or `no` and why."""
    told = {}
    for name, function in TRIES.items():
        try:
            told[name] = ["got", str(function(world))[:200]]
        except Exception as error:
            told[name] = ["no", f"{type(error).__name__}: {error}"[:200]]
    return told
