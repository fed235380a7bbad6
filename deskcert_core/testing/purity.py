"""What a call reached for beside its arguments: clock, chance, files, network, environment. Told by the functions that were called."""

from __future__ import annotations

import datetime
import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

__all__ = ["impure"]

T = TypeVar("T")
CLOCK = {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "process_time_ns", "localtime", "sleep"}
NOW = {"now", "utcnow", "today"}
OUTSIDE = {"_io", "io", "_socket", "socket", "posix", "os", "subprocess", "_posixsubprocess", "random", "secrets", "urllib.request", "http.client"}
HARMLESS = {"fspath", "_fspath", "fsencode", "fsdecode"}  # they turn names into names


def impure(call: Callable[[], T]) -> tuple[T, list[str]]:
    """What the call gives, and the impure functions behind it, sorted. Code that is imported on the way counts too: call it once before."""
    reached: set[str] = set()

    def watch(frame: FrameType, event: str, function: Any) -> None:
        if event == "c_call":
            reached.update(_outside(function))
        elif event == "call" and frame.f_globals.get("__name__") in OUTSIDE and frame.f_code.co_name not in HARMLESS:
            reached.add(f"{frame.f_globals['__name__']}.{frame.f_code.co_name}")

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        given = call()
    finally:
        sys.setprofile(before)
    return given, sorted(reached - {"posix.fspath"})


def _outside(function: Any) -> set[str]:
    """The name of a built-in function if it is impure, else nothing."""
    owner, name, module = getattr(function, "__self__", None), function.__name__, getattr(function, "__module__", None)
    if module == "time":
        return {f"time.{name}"} if name in CLOCK else set()
    if isinstance(owner, type) and issubclass(owner, datetime.date):
        return {f"{owner.__name__}.{name}"} if name in NOW else set()
    if isinstance(owner, random.Random):
        return {f"random.{name}"}
    return {f"{module}.{name}"} if module in OUTSIDE else set()
