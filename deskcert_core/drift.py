"""Where a replay went another way than the run it replays, step by step. It knows no verdict: drift is said, the assertions judge.

Values of form fields are not compared: what the agent typed is the same by construction, and tokens differ in every run.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from deskcert_core.effect import Element, Request, Unknown
from deskcert_core.evidence.record import StepFacts
from deskcert_core.trial import Evidence, Step

__all__ = ["Drift", "drift", "facts_of"]

SAID = {
    "act": "the act", "page": "the page", "text": "the page's text", "decision": "the decision", "element": "the element hit", "requests": "the predicted requests",
    "result": "the result",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """One step in which the two runs differ, in one line, with this run's records of the step."""

    step: int
    message: str
    records: tuple[int, ...]


def drift(evidence: Evidence) -> tuple[Drift, ...]:
    """Every step that differs, and a replay that ended early or went on. Empty for a trial that replays nothing."""
    if evidence.replayed is None:
        return ()
    before, now = evidence.replayed.steps, facts_of(evidence)
    found = [
        Drift(step=step.number, message=f"step {step.number}, {old.act}: {what}", records=step.seqs)
        for step, old, new in zip(evidence.steps, before, now, strict=False) if (what := differences(old, new))
    ]
    if len(before) != len(now):
        message = f"the recorded run has {len(before)} steps, the replay ended after {len(now)} ({evidence.end_message or evidence.end_reason or 'cut off'})"
        found.append(Drift(step=len(now), message=message, records=(evidence.end_seq,) if evidence.end_seq >= 0 else ()))
    return tuple(found)


def facts_of(evidence: Evidence, base: tuple[str, str] = ("", "")) -> tuple[StepFacts, ...]:
    """The facts of each step of a trial. `base`: addresses that begin with the first text are given the second instead."""
    looks = {look.step: look for look in evidence.looks if look.shown_to_agent}
    return tuple(
        StepFacts(
            act=act_of(step), page=rebased(looks[step.number].url, base) if step.number in looks else "",
            text=looks[step.number].text_hash if step.number in looks else "", decision=decision_of(step), element=element_of(step),
            requests=tuple(rebased_request(request, base) for request in step.effect.requests) if step.effect else (),
            result=step.result.status if step.result else "none",
        )
        for step in evidence.steps
    )


def rebased(url: str, base: tuple[str, str]) -> str:
    """The same address under another base URL: a suite may be given another port at every start."""
    old, new = (each.rstrip("/") for each in base)
    return new + url[len(old):] if old and (url == old or url.startswith((f"{old}/", f"{old}?", f"{old}#"))) else url


def differences(old: StepFacts, new: StepFacts) -> str:
    pairs = [(each.name, getattr(old, each.name), getattr(new, each.name)) for each in fields(StepFacts)]
    return "; ".join(f"{SAID[name]} {difference(name, was, now)}" for name, was, now in pairs if was != now)


def difference(name: str, was: object, now: object) -> str:
    match was, now:
        case _ if name == "text":
            return "is another"
        case tuple(), tuple():
            return f"were {', '.join(was) or 'none'} and are {', '.join(now) or 'none'}"
        case _:
            return f"was {was or 'none'} and is {now or 'none'}"


def act_of(step: Step) -> str:
    what = step.proposal.target or step.proposal.final_status or ""
    return f"{step.proposal.action_type} {what}".rstrip()


def decision_of(step: Step) -> str:
    return f"{step.decision.status} ({step.decision.matched_rule})" if step.decision else ""


def element_of(step: Step) -> str:
    match step.grounding.element if step.grounding else None:
        case Element(tag=tag, role=role, name=name):
            return f"{role or 'no role'} {name!r} <{tag}>"
        case Unknown():
            return "one that cannot be read"
        case None:
            return step.grounding.problem_kind or "" if step.grounding else ""


def rebased_request(request: Request, base: tuple[str, str]) -> str:
    names = f" ({', '.join(name for name, _ in request.fields)})" if isinstance(request.fields, tuple) and request.fields else ""
    return f"{request.method} {rebased(request.address.href, base)}{names}"
