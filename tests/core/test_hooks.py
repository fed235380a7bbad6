"""Hook plug-ins from fake distributions: in order, each alone, only tightening, never skipped."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fake_distributions import Site, on_path

from deskcert_core.address import parse
from deskcert_core.effect import Effect, Grounding, Request
from deskcert_core.errors import PluginError
from deskcert_core.plugins.hooks import ActSeen, Hooks, HookVerdict, RequestSeenByHook, RunSeen, Spec, TrialSeen
from deskcert_core.policy.rules import Decision, Status
from deskcert_core.proposal import ActionType, Proposal

HEAD = "from deskcert_core.plugins.hooks import HookVerdict, hookimpl\nfrom deskcert_core.api import Status\ndeskcert_api = 1\n"
ALLOWED = Decision(status=Status.ALLOWED, matched_rule="allowed.click", risk_level="low", reason="listed")
ACT = ActSeen(
    run_id="r", task_id="t", trial=1, step=2, proposal=Proposal(action_type=ActionType.CLICK), grounding=Grounding(page=None),
    effect=Effect(), decision=ALLOWED,
)
REQUEST = RequestSeenByHook(
    run_id="r", task_id="t", trial=1, step=2, request=Request(method="GET", address=parse("http://127.0.0.1/x")), decision=ALLOWED
)


def verdict(body: str, hook: str = "deskcert_verdict(act)") -> str:
    return f"{HEAD}\n@hookimpl\ndef {hook}:\n    {body}\n"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with on_path(tmp_path / "site", monkeypatch) as made:
        yield made


def add(site: Site, distribution: str, source: str, name: str = "") -> None:
    site.add(distribution, name or distribution, source, attribute="", group="deskcert.hooks")


def refusal() -> str:
    with pytest.raises(PluginError) as caught:
        Hooks.load()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_none_installed_says_nothing(site: Site) -> None:
    hooks = Hooks.load()
    assert (hooks.plugins, hooks.verdicts(ACT), hooks.trial_ended(TrialSeen(run_id="r", task_id="t", trial=1, reason="finished"))) == ((), (), ())


def test_answers_come_in_order_of_distribution_and_name(site: Site) -> None:
    add(site, "b-dist", verdict("return HookVerdict(status=Status.BLOCKED, reason=act.task_id, by='somebody else')"))
    add(site, "a-dist", verdict("return HookVerdict(status=Status.APPROVAL_REQUIRED, reason=str(act.step))"))
    add(site, "c-dist", verdict("return None"))
    hooks = Hooks.load()
    assert [f.distribution for f in hooks.plugins] == ["a-dist", "b-dist", "c-dist"]
    assert hooks.verdicts(ACT) == (
        HookVerdict(status=Status.APPROVAL_REQUIRED, reason="2", by="a-dist:a-dist"),
        HookVerdict(status=Status.BLOCKED, reason="t", by="b-dist:b-dist"),
    )
    assert hooks.request_verdicts(REQUEST) == ()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise ValueError('no\\nidea')", "ValueError: no idea"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("return True", "it answered with True"),
        ("return HookVerdict(status='allowed', reason='')", "it answered with HookVerdict"),
        ("return HookVerdict(status=Status.ALLOWED, reason=None)", "it answered with HookVerdict"),
    ],
)
def test_a_failing_decision_hook_blocks_and_stops_nobody(site: Site, body: str, said: str) -> None:
    add(site, "a-dist", verdict(body))
    add(site, "b-dist", verdict("return HookVerdict(status=Status.APPROVAL_REQUIRED, reason='seen')"))
    failed, after = Hooks.load().verdicts(ACT)
    assert (failed.status, failed.by) == (Status.BLOCKED, "a-dist:a-dist")
    assert failed.reason.startswith("hook a-dist:a-dist failed: ")
    assert said in failed.reason
    assert after.reason == "seen"


def test_a_wrapper_cannot_take_away_another_plug_ins_answer(site: Site) -> None:
    wrapper = f"{HEAD}\n@hookimpl(wrapper=True)\ndef deskcert_verdict(act):\n    yield\n    return []\n"
    add(site, "a-dist", wrapper)
    add(site, "b-dist", verdict("return HookVerdict(status=Status.BLOCKED, reason='no')"))
    assert [v.status for v in Hooks.load().verdicts(ACT)] == [Status.BLOCKED]


def test_a_wrapper_that_answers_with_nothing_blocks(site: Site) -> None:
    add(site, "a-dist", f"{HEAD}\n@hookimpl(wrapper=True)\ndef deskcert_verdict(act):\n    yield\n")
    assert [v.status for v in Hooks.load().verdicts(ACT)] == [Status.BLOCKED]


def test_requests_are_asked_about(site: Site) -> None:
    body = "return HookVerdict(status=Status.BLOCKED, reason=request.request.address.path)"
    add(site, "a-dist", verdict(body, "deskcert_request_verdict(request)"))
    (said,) = Hooks.load().request_verdicts(REQUEST)
    assert (said.status, said.reason) == (Status.BLOCKED, "/x")


def test_a_failing_observer_is_a_problem_to_record(site: Site) -> None:
    add(site, "a-dist", verdict("raise OSError('disk')", "deskcert_trial_ended(ended)") + "\n@hookimpl\ndef deskcert_run_ended(): 1 / 0\n")
    add(site, "b-dist", verdict("seen.append(ended)", "deskcert_trial_ended(ended)") + "\nseen = []\n")
    hooks = Hooks.load()
    ended = TrialSeen(run_id="r", task_id="t", trial=1, reason="finished")
    assert hooks.trial_ended(ended) == ("hook a-dist:a-dist failed at deskcert_trial_ended: OSError: disk",)
    assert hooks.run_ended(RunSeen(run_id="r", reason="finished", trials=1)) == (
        "hook a-dist:a-dist failed at deskcert_run_ended: ZeroDivisionError: division by zero",
    )
    import b_dist_mod

    assert b_dist_mod.seen == [ended]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import no_such_module_at_all", "cannot be imported: ModuleNotFoundError"),
        ("raise SystemExit(3)", "called exit(3) at import"),
        (HEAD.replace("deskcert_api = 1", ""), "does not say which plug-in API it speaks"),
        (verdict("return None", "deskcert_verdikt(act)"), "unknown hook 'deskcert_verdikt'"),
        (verdict("return None", "deskcert_verdict(act, policy)"), "does not fit"),
        (HEAD + "def deskcert_verdict(act): ...\n", "implements no hook"),
    ],
)
def test_a_broken_one_stops_the_run_and_is_named(site: Site, source: str, said: str) -> None:
    add(site, "good-dist", verdict("return None"))
    add(site, "a-dist", source)
    line = refusal()
    assert "hook plug-in 'a-dist' of a-dist 1.0" in line
    assert said in line


def test_two_of_a_name_are_refused(site: Site) -> None:
    add(site, "a-dist", verdict("return None"), "audit")
    add(site, "b-dist", verdict("return None"), "audit")
    assert "hook plug-in 'audit' is claimed by a-dist 1.0 (a_dist_mod) and by b-dist 1.0 (b_dist_mod)" in refusal()
    assert site.imported() == set()


def test_only_named_distributions_take_part(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    add(site, "a-dist", verdict("return None"))
    monkeypatch.setenv("DESKCERT_PLUGINS", "")
    assert Hooks.load().plugins == ()
    assert site.imported() == set()


def test_what_it_prints_is_a_note(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    add(site, "a-dist", "print('hello')\n" + verdict("return None"))
    assert Hooks.load().notes == ("a-dist 1.0 (a_dist_mod) printed at import: hello",)
    assert capfd.readouterr() == ("", "")


def test_the_documented_hook_plug_in_works(site: Site) -> None:
    page = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text()
    assert [name for name, _ in inspect.getmembers(Spec, inspect.isfunction) if f"| `{name}(" not in page] == []
    sample = page.partition("```python\n")[2].partition("```")[0]
    add(site, "office-dist", sample.replace("9 <= datetime.now().hour < 17", "False"))
    labelled = replace(ACT, effect=Effect(labels=frozenset({"form_submit"})))
    hooks = Hooks.load()
    assert hooks.verdicts(ACT) == ()
    assert [(said.status, said.reason) for said in hooks.verdicts(labelled)] == [(Status.APPROVAL_REQUIRED, "outside office hours")]
