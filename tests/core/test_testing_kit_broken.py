"""Every broken plug-in of tests/broken_plugins is caught by the conformance kit, by a line that says its rule; the good ones pass."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from broken_plugins import adapters, criteria

from deskcert_core.api import ProbeResult
from deskcert_core.testing import check_adapter, check_adapter_process, check_criterion, check_model_fault, evidence
from deskcert_core.trial import probe_key

IN_THIS_PROCESS = {
    "OfAnotherTime": "speaks plug-in API 2",
    "Mute": "lacks propose",
    "Dictionary": "propose gives Proposal, not {'action_type': 'read'}",
    "Targetless": "a proposal is what proposal.schema.json takes",
    "Uncounted": "an adapter that says calls_model gives every proposal a usage, of zero tokens where no call was made; read has none",
    "Sly": "an adapter that gives a usage says calls_model = True",
    "Overcounted": "reasoning tokens are part of the output tokens",
}
RAISES = {"Forgetful": "there was a trial already", "Shaken": "alert(1)", "Blind": "has no len()", "OtherLoop": "attached to a different loop"}
IN_ITS_PROCESS = {
    "AtHome": "an adapter works in its own process: agent 'AtHome' (deskcert_adapters.agents.watched:Watched): KeyError: 'KIT_TEST_USER'",
    "Hangs": "no answer within 5 seconds",
    "Crashes": "it ended with exit code 7",
    "Garbage": "it sent",
    "Leaves": "an adapter leaves no process behind after its end: python",
    "LeavesWhenCut": "an adapter leaves no process behind after a trial was cancelled: python",
    "Hoards": "an adapter leaves no descriptor open from trial to trial: there were",
    "Reaches": "an adapter keeps its hands off the control plane: it imports deskcert_core.session (in broken_plugins.adapters); it loads deskcert_core.session",
    "Knows": "an adapter keeps its hands off the control plane: it imports deskcert_core.wire (in broken_plugins.adapters)",
    "Looks": "an adapter keeps its hands off the control plane: it opens /proc/…/environ of another process",
    "Signals": "an adapter keeps its hands off the control plane: it sends a signal to DeskCert",
}
NO_MODEL = {
    "GivesUp": "an adapter whose model service is down raises ModelServiceError; this one went on proposing",
    "Raises": "an adapter whose model service is down raises ModelServiceError, else it is its own fault",
}
CRITERIA = {
    "ReadsTheClock": "judge judges from evidence alone: it called time.monotonic, for the evidence that should pass",
    "ReadsTheDate": "it called datetime.now",
    "RollsDice": "it called random.",
    "ReadsAFile": "it called io.open",
    "ReadsTheEnvironment": "it called os.",
    "Calls": "it called socket.",
    "Remembers": "judge says the same twice",
    "WritesParameters": "judge leaves its parameters as they are",
    "WritesEvidence": "judge leaves the evidence as it is",
    "HiddenParameter": "the schema has every parameter that judge reads: ignore_case is not in it",
    "TakesAnything": "what the schema takes can be judged: {'value': None} raises TypeError",
    "NeedsMoreThanItSays": "what the schema takes can be judged: {} raises KeyError",
    "TakesUnknownKeys": "the schema refuses unknown keys",
    "TrustsNothing": "a trial of which nothing was recorded is judged inconclusive, not pass",
    "TrustsAMissingFact": "evidence without its probe",
    "InventsRecords": "[4711] are not in the evidence that should pass",
}


def classes(module: ModuleType) -> set[str]:
    return {name for name, found in inspect.getmembers(module, inspect.isclass) if found.__module__ == module.__name__}


def judged(criterion: Any) -> None:
    fact = {probe_key("element", criteria.FACT): ProbeResult(seq=60, value=True)}
    check_criterion(criterion, {"value": "42"}, passes=evidence(answer="42", probes=dict(fact)), fails=evidence(answer="41", probes=dict(fact)))


def said(check: Callable[[Any], Any], plugin: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        check(plugin)
    message = str(caught.value)
    assert "\n" not in message
    return message


def in_its_process(adapter: Any) -> None:
    check_adapter_process(adapter, seconds=5 if adapter is adapters.Hangs else 30)


def test_each_broken_plugin_has_its_line() -> None:
    assert classes(adapters) == {"Good", "Down", *IN_THIS_PROCESS, *RAISES, *IN_ITS_PROCESS, *NO_MODEL}
    assert classes(criteria) == {"Good", *CRITERIA}


def test_the_good_ones_pass() -> None:
    check_adapter(adapters.Good)
    check_adapter_process(adapters.Good)
    check_model_fault(adapters.Down)
    judged(criteria.Good)


@pytest.mark.parametrize("name", IN_THIS_PROCESS)
def test_a_broken_adapter_is_caught(name: str) -> None:
    assert IN_THIS_PROCESS[name] in said(check_adapter, getattr(adapters, name))


@pytest.mark.parametrize("name", RAISES)
def test_an_adapter_that_raises_shows_its_own_traceback(name: str) -> None:
    with pytest.raises((RuntimeError, TypeError)) as caught:
        check_adapter(getattr(adapters, name))
    assert RAISES[name] in str(caught.value)
    assert name in {frame.frame.f_locals["self"].__class__.__name__ for frame in caught.traceback if "self" in frame.frame.f_locals}


@pytest.mark.parametrize("name", IN_ITS_PROCESS)
def test_an_adapter_that_breaks_its_process_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, the control, nothing is amiss with most of them."""
    monkeypatch.setenv("KIT_TEST_USER", "someone")
    assert IN_ITS_PROCESS[name] in said(in_its_process, getattr(adapters, name))
    if name in ("AtHome", "Reaches", "Knows", "Looks"):
        check_adapter(getattr(adapters, name))


def test_what_a_broken_adapter_left_behind_is_ended() -> None:
    said(in_its_process, adapters.Leaves)
    until = time.monotonic() + 10
    while (left := sleepers()) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == []


def sleepers() -> list[str]:
    """The living children of `Leaves`, by their command line."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if b"KIT=" in (place / "environ").read_bytes() and b"time.sleep(600)" in (place / "cmdline").read_bytes() and place.name != str(os.getpid()):
                found.append(place.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("name", NO_MODEL)
def test_an_adapter_that_hides_an_outage_is_caught(name: str) -> None:
    assert NO_MODEL[name] in said(check_model_fault, getattr(adapters, name))


@pytest.mark.parametrize("name", CRITERIA)
def test_a_broken_criterion_is_caught(name: str) -> None:
    assert CRITERIA[name] in said(judged, getattr(criteria, name))
