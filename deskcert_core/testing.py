"""The conformance kit: what DeskCert expects of a plug-in, as plain functions for pytest. Each raises AssertionError with a line for the author.

    from deskcert_core.testing import check_criterion, evidence

    def test_it_conforms():
        check_criterion(SaysHello, {"value": "hello"}, passes=evidence(answer="hello"), fails=evidence(answer="good bye"))

DeskCert's own plug-ins pass the same checks.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from deskcert_core import schemas, wire
from deskcert_core.address import parse
from deskcert_core.agent import Brief, Dialog, Observation
from deskcert_core.approval import Approval, ApprovalRequest
from deskcert_core.budget import Limits
from deskcert_core.effect import Effect, Grounding, Request
from deskcert_core.errors import PluginError
from deskcert_core.evaluation import AssertionCard, Evidence, Judgement, Look, Outcome, Probe, ProbeResult, RequestSeen, Step
from deskcert_core.evidence.record import EndReason, Fault
from deskcert_core.execution import ExecutionResult
from deskcert_core.plugins.drivers import Found, check
from deskcert_core.policy.rules import Decision, Status
from deskcert_core.proposal import ActionType, FinalStatus, Proposal
from deskcert_core.report import Report
from deskcert_core.score import suite_card, trial_card
from deskcert_core.task import Gate, Json, Task
from deskcert_core.trial import probe_key

__all__ = [
    "brief", "check_adapter", "check_approver", "check_criterion", "check_reporter", "decision", "evidence", "observation", "report", "request_seen", "step", "task",
]

T = TypeVar("T")
CONTROL = "\x1b]0;owned\x07"
HOSTILE = f"{CONTROL} <script>alert(1)</script> | `x` \u202e ${{7*7}} {{{{7*7}}}} [red]"
PAGE = "http://127.0.0.1:8000/"


# -- small values, whole in every field that a test does not care about


def task(**changes: Any) -> Task:
    """A task `t` of at most 20 steps, a minute and a dollar."""
    limits = Limits(max_steps=20, max_runtime_seconds=60, max_cost_micro_usd=1_000_000, max_repeats=3, max_dialogs=5)
    return replace(Task(id="t", goal="Read the page.", start_url=PAGE, limits=limits), **changes)


def brief(**changes: Any) -> Brief:
    """What an agent is told of that task."""
    every = tuple(map(str, ActionType))
    return replace(Brief(task_id="t", goal="Read the page.", start_url=PAGE, action_types=every, max_steps=20), **changes)


def observation(text: str = "Hello", **changes: Any) -> Observation:
    """One look at a page with that text and the title `Page`; no screenshot."""
    return replace(Observation(step=1, url=PAGE, title="Page", text=text), **changes)


def decision(status: Status = Status.ALLOWED, rule: str = "") -> Decision:
    return Decision(status=status, matched_rule=rule or f"{status}.read", risk_level="low", reason=f"the list {status} names it")


def step(number: int, action_type: ActionType = ActionType.READ, *, status: Status = Status.ALLOWED, **proposal: Any) -> Step:
    """A step as the policy decided it, carried out if it was allowed. Its records are 10·number and the five after it."""
    done = status is Status.ALLOWED
    return Step(
        number=number, seqs=tuple(range(10 * number, 10 * number + 6)), proposal=Proposal(action_type=action_type, **proposal), decision=decision(status),
        grounding=Grounding(page=parse(PAGE)), effect=Effect(), intended=done, result=ExecutionResult(status="success" if done else "not_executed"),
    )


def request_seen(method: str = "GET", url: str = PAGE, *, let_go: bool = True, own: bool = False, status: int | None = 200, **changes: Any) -> RequestSeen:
    """A request of step 1 at the gate; its record is 50."""
    word = decision(Status.ALLOWED if let_go else Status.BLOCKED)
    seen = RequestSeen(
        seq=50, step=1, number=1, request=Request(method=method, address=parse(url)), decision=word, own=own, let_go=let_go, status=status if let_go else None
    )
    return replace(seen, **changes)


def evidence(
    text: str = "Hello", *, answer: str | None = None, final_status: FinalStatus | None = "success", end_reason: EndReason | None = "finished",
    url: str = PAGE, steps: Sequence[Step] | None = None, requests: Sequence[RequestSeen] = (), probes: Mapping[str, ProbeResult] | None = None, **changes: Any,
) -> Evidence:
    """A finished trial: the start page shows `text`, the agent reads it (step 1), finishes (step 2), and the page is looked at once more."""
    given = (step(1), step(2, ActionType.FINISH, final_status=final_status, answer=answer)) if steps is None else tuple(steps)
    last = given[-1].seqs[-1] if given else 1
    looks = (
        Look(seq=1, step=0, url=PAGE, title="Page", text=text), Look(seq=9, step=1, url=url, title="Page", text=text),
        Look(seq=last + 1, step=len(given) + 1, url=url, title="Page", text=text, shown_to_agent=False),
    )
    return Evidence(
        task=changes.pop("task", task()), agent="scripted", trial=1, looks=changes.pop("looks", looks), steps=given, requests=tuple(requests),
        probes=probes or {}, end_reason=end_reason, end_seq=last + 2, final_status=final_status, answer=answer, **changes,
    )


def report(*trials: Evidence, judgement: Outcome = Outcome.PASS) -> Report:
    """A judged run of those trials (one that passes, if none is given), each with one assertion judged so."""
    whole = trials or (evidence(answer="Hello"),)
    card = AssertionCard(type="contains_text", shown='"Hello"', judgement=Judgement(outcome=judgement, message="looked for 'Hello'", records=(1,)))
    cards = [trial_card(each, (card,)) for each in whole]
    suite = suite_card(suite="suite", run_id="run-1", agent="scripted", gate=Gate(min_score=70, violation_weight=50), trials=cards, not_covered=("nothing",))
    return Report(card=suite, evidence=whole, folder="runs/run-1", facts=(("browser", "Chromium"),))


# -- the checks


def check_criterion(criterion: Any, params: Mapping[str, Json], *, passes: Evidence, fails: Evidence) -> None:
    """A criterion's class: its schema takes `params` and nothing unknown, judging is pure, and evidence that is missing is never a pass."""
    _conforms(criterion, "deskcert.criteria")
    judge = criterion()
    _expect(isinstance(judge.version, str) and judge.version != "", "version is a text that changes when the same evidence may be judged otherwise")
    _check_schema(judge.schema, params)
    wanted = tuple(judge.probes(params))
    _expect(all(isinstance(each, Probe) for each in wanted), f"probes gives Probe values, not {wanted!r}")
    _expect(tuple(judge.probes(params)) == wanted, "probes gives the same twice")
    _judged(judge, params, passes, Outcome.PASS, "the evidence that should pass")
    _judged(judge, params, fails, Outcome.FAIL, "the evidence that should fail")
    nothing = Evidence(task=passes.task, agent=passes.agent, trial=1)
    _judged(judge, params, nothing, Outcome.INCONCLUSIVE, "a trial of which nothing was recorded")
    for each in wanted:
        key = probe_key(each.kind, each.params)
        without = {name: result for name, result in passes.probes.items() if name != key}
        _judged(judge, params, replace(passes, probes=without), Outcome.INCONCLUSIVE, f"evidence without its probe {key}")
        broken = without | {key: ProbeResult(seq=60, problem="it did not answer")}
        _judged(judge, params, replace(passes, probes=broken), Outcome.INCONCLUSIVE, f"evidence whose probe {key} had a problem")


def _judged(judge: Any, params: Mapping[str, Json], given: Evidence, wanted: Outcome, which: str) -> None:
    mine = copy.deepcopy(dict(params))
    said = _is(judge.judge(mine, given), Judgement, f"judge, for {which},")
    _expect(said.outcome is wanted, f"{which} is judged {wanted}, not {said.outcome} ({said.message})")
    _expect(said.message != "" and "\n" not in said.message, f"the message for {which} is one line, not {said.message!r}")
    _expect(mine == params, f"judge leaves its parameters as they are, for {which}")
    _expect(judge.judge(mine, given) == said and type(judge)().judge(mine, given) == said, f"judge says the same twice, for {which}")
    unknown = set(said.records) - _records(given)
    _expect(not unknown, f"the records that a judgement rests on are there: {sorted(unknown)} are not in {which}")


def _records(given: Evidence) -> set[int]:
    seqs = {seen.seq for part in (given.looks, given.requests, tuple(given.probes.values())) for seen in part}
    return seqs | {seq for each in given.steps for seq in each.seqs} | {seq for seq, _ in given.faults} | {given.end_seq}


def _check_schema(schema: Any, params: Mapping[str, Json]) -> None:
    """As `deskcert validate` composes it into the schema of a task."""
    try:
        whole = schemas.task_schema({"it": json.loads(json.dumps(schema))})
    except (TypeError, ValueError) as error:
        raise AssertionError(f"schema is a JSON Schema: {error}") from error
    _expect("type" not in schema.get("properties", {}), "no parameter is called type: that key names the criterion")
    head = {"version": 1, "id": "t", "goal": "g", "start_url": PAGE}
    fits = {**head, "assertions": [{"type": "it", **params}]}
    _expect(whole.holds(fits), f"the schema takes the parameters {dict(params)}: {whole.first_error(fits)}")
    _expect(not whole.holds({**head, "assertions": [{"type": "it", **params, "no such key": 1}]}), "the schema refuses unknown keys")


def check_adapter(
    adapter: Any, *, options: Mapping[str, str] | None = None, told: Brief | None = None, sees: Sequence[Observation] | None = None, max_steps: int = 20
) -> tuple[Proposal, ...]:
    """An adapter's class: it proposes only what the proposal schema takes, until it finishes or for `max_steps`, and twice over.

    `sees` are the looks at the page, the last one again and again; without it, a page, a dialog and a page of hostile text. Gives the proposals.
    """
    _conforms(adapter, "deskcert.adapters")
    canned = (observation(), observation(text="", dialog=Dialog(kind="confirm", message="Sure?")), observation(HOSTILE + "\ud800", title=HOSTILE))
    made = adapter(dict(options or {}))
    runs = [asyncio.run(_trial(made, told or brief(), sees or canned, max_steps)) for _ in range(2)]
    return runs[0]


async def _trial(made: Any, told: Brief, sees: Sequence[Observation], max_steps: int) -> tuple[Proposal, ...]:
    await _value(made.start(told))
    proposals: list[Proposal] = []
    for number in range(1, max_steps + 1):
        seen = replace(sees[min(number, len(sees)) - 1], step=number)
        proposal = _is(await _value(made.propose(seen)), Proposal, "propose")
        _check_proposal(proposal)
        proposals.append(proposal)
        if proposal.action_type is ActionType.FINISH:
            break
    return tuple(proposals)


def _check_proposal(proposal: Proposal) -> None:
    try:
        same = wire.decode(wire.encode(wire.Propose(proposal=proposal))[wire.HEADER :])
    except ValueError as error:
        raise AssertionError(f"a proposal can be sent to DeskCert: {error}") from error
    _expect(same == wire.Propose(proposal=proposal), f"a proposal arrives as it was sent: {proposal!r}")
    schema, plain = schemas.named("proposal"), wire.plain(proposal)
    _expect(schema.holds(plain), f"a proposal is what proposal.schema.json takes: {plain}: {schema.first_error(plain)}")


def check_reporter(reporter: Any) -> None:
    """A reporter's class: it words any run, the same twice, says the verdict, and passes no control characters of a page on."""
    _conforms(reporter, "deskcert.reporters")
    made = reporter()
    _expect(isinstance(made.suffix, str) and made.suffix.isidentifier(), f"suffix is the ending of a file name without the dot, not {made.suffix!r}")
    blocked = evidence(steps=(step(1, ActionType.CLICK, status=Status.BLOCKED, decision_summary=HOSTILE),), end_reason="blocked", final_status=None)
    broken = evidence(end_reason="fault", faults=((70, Fault(whose="browser", message=HOSTILE)),))
    runs = (
        report(), report(evidence(HOSTILE, answer=HOSTILE), blocked, judgement=Outcome.FAIL), report(broken), report(Evidence(task=task(), agent="x", trial=1)),
    )
    for run in runs:
        said = made.render(run)
        _expect(isinstance(said, str) and said != "", f"render gives a text, not {said!r:.80}")
        _expect(reporter().render(run) == said, "render gives the same twice")
        _expect(run.card.verdict in said, f"the report says the verdict {run.card.verdict}")
        _expect(CONTROL not in said and "\x07" not in said, "control characters of a page stay out of the report")


def check_approver(approver: Any) -> Approval:
    """An approver's class: with nobody there it answers in time, in words that are defined, under its own assurance. Gives the answer."""
    _conforms(approver, "deskcert.approvers")
    made = approver()
    asked = ApprovalRequest(
        run_id="run-1", task_id="t", trial=1, step=1, action="submit_form", effect="sends a form", claim=HOSTILE, matched_rule="approval_required.form_submit",
        risk_level="medium", page=PAGE, form=(("total", "1"),), expires_seconds=2,
    )
    said = _is(asyncio.run(asyncio.wait_for(made.ask(asked), 10)), Approval, "ask")
    _expect(said.outcome in ("approved", "denied", "expired", "unavailable"), f"the outcome is approved, denied, expired or unavailable, not {said.outcome!r}")
    _expect(said.assurance == made.assurance != "", f"the answer's assurance is the approver's, {made.assurance!r}, not {said.assurance!r}")
    return said


def _conforms(plugin: Any, group: str) -> None:
    name = getattr(plugin, "__name__", repr(plugin))
    try:
        check(plugin, Found(group=group, name=name, value=f"{getattr(plugin, '__module__', '?')}:{name}", distribution="(under test)", version=""))
    except PluginError as error:
        raise AssertionError(str(error)) from error


async def _value(given: T | Awaitable[T]) -> T:
    return await given if inspect.isawaitable(given) else given


def _is(given: object, kind: type[T], what: str) -> T:
    if not isinstance(given, kind):
        raise AssertionError(f"{what} gives {kind.__name__}, not {given!r:.80}")
    return given


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)
