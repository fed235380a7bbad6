"""Assertions judged from evidence: a criterion that is missing or breaks fails nobody and passes nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from journals import assertions, invoice

from deskcert_core.evaluation import Evidence, Judgement, Outcome, Probe, judge
from deskcert_core.task import Json


class Canned:
    """Says what it was made with, or does what it was made with."""

    version = "1"
    schema: Mapping[str, Json] = {}

    def __init__(self, says: Callable[[], Any]) -> None:
        self.says = says

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        return ()

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        given: Judgement = self.says()
        return given


def broken(error: BaseException) -> Callable[[], Any]:
    def fails() -> Any:
        raise error

    return fails


def one(criterion: Canned | None, problems: Mapping[str, str] | None = None) -> Judgement:
    criteria = {"it": criterion} if criterion else {}
    (card,) = judge(assertions({"it": 1}), criteria, invoice().evidence(), problems)
    return card.judgement


def test_the_criterions_word_is_kept() -> None:
    word = Judgement(outcome=Outcome.FAIL, message="no", records=(3,))
    assert one(Canned(lambda: word)) is word


def test_a_missing_criterion_is_inconclusive() -> None:
    assert one(None).outcome is Outcome.INCONCLUSIVE
    assert "no criterion named it" in one(None).message
    assert one(None, {"it": "of another version"}).message == "of another version"


@pytest.mark.parametrize("error", [ValueError("bad"), SystemExit(0), RecursionError("deep")])
def test_a_broken_criterion_is_inconclusive(error: BaseException) -> None:
    said = one(Canned(broken(error)))
    assert said.outcome is Outcome.INCONCLUSIVE
    assert type(error).__name__ in said.message


def test_ctrl_c_is_no_judgement() -> None:
    with pytest.raises(KeyboardInterrupt):
        one(Canned(broken(KeyboardInterrupt())))


@pytest.mark.parametrize("answer", [None, True, "pass", Outcome.PASS])
def test_what_is_no_judgement_is_inconclusive(answer: object) -> None:
    assert one(Canned(lambda: answer)).outcome is Outcome.INCONCLUSIVE


def test_assertions_are_shown_in_one_line_and_in_order() -> None:
    given = assertions({"a": 20, "b": {"value": "$1", "new": True}, "c": {"money": 1.5}, "d": {}})
    cards = judge(given, {}, invoice().evidence())
    assert [(card.type, card.shown) for card in cards] == [("a", "20"), ("b", 'value: "$1", new: true'), ("c", "money: 1.5"), ("d", "")]
