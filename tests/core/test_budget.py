"""Money, in whole micro-dollars: what providers bill, each call once; and what the next step would cost, before it is taken."""

from __future__ import annotations

from typing import Any

import pytest

from deskcert_core.budget import Costs, Limits, ModelPrice, Spent, Usage

PRICE = ModelPrice(input=3_000_000, output=15_000_000, cache_read=300_000, cache_write=3_750_000)
COSTS = Costs(per_screenshot=4000, per_action=1000, models={"m": PRICE, "free": ModelPrice(input=0, output=0, cache_read=0, cache_write=0)})


def limits(micro_usd: int | None) -> Limits:
    return Limits(max_steps=9, max_runtime_seconds=9, max_cost_micro_usd=micro_usd, max_repeats=3, max_dialogs=5)


def prompt(included: bool, tokens: int = 2000, **given: Any) -> Usage:
    given = {"output_tokens": 100, "cache_read_tokens": 500, "cache_write_tokens": 300, **given}
    return Usage.of_prompt(model="m", prompt_tokens=tokens, prompt_includes_cache=included, **given)


def test_cached_tokens_are_billed_once_and_at_their_own_price() -> None:
    assert COSTS.of_usage(prompt(included=True)) == 6375
    assert COSTS.of_usage(prompt(included=True)) != 7275  # the 300 that were written, billed as input too
    assert COSTS.of_usage(prompt(included=False)) == 6375 + 800 * 3


def test_the_two_conventions_agree_where_the_counts_do() -> None:
    assert prompt(included=True) == prompt(included=False, tokens=1200)
    with pytest.raises(TypeError, match="prompt_includes_cache"):
        Usage.of_prompt(model="m", prompt_tokens=1, output_tokens=1)  # type: ignore[call-arg]


@pytest.mark.parametrize("given", [{"tokens": 799}, {"reasoning_tokens": 101}, {"cache_read_tokens": -1}, {"output_tokens": -1}, {"reasoning_tokens": -1}])
def test_counts_that_cannot_be_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        prompt(included=True, **given)


def test_reasoning_is_part_of_the_output_and_not_billed_again() -> None:
    assert COSTS.of_usage(prompt(included=True, reasoning_tokens=60)) == 6375


def test_three_attempts_of_which_two_failed_are_three_calls() -> None:
    used = prompt(included=True) + prompt(included=True) + prompt(included=True)
    assert COSTS.of_usage(used) == 3 * 6375
    with pytest.raises(ValueError, match="one model"):
        _ = used + Usage(model="free")


def test_a_part_of_a_micro_dollar_counts_as_one() -> None:
    assert COSTS.of_usage(Usage(model="m", cache_read_tokens=1)) == 1


def test_a_model_without_a_price_has_no_cost_and_a_free_one_has_none_to_pay() -> None:
    assert COSTS.of_usage(Usage(model="other")) is None
    assert COSTS.unpriced(Usage(model="other")) == "model 'other' has no price in the suite's costs"
    assert COSTS.of_usage(Usage(model="free", input_tokens=10**9, cache_write_tokens=5)) == 0


@pytest.mark.parametrize("kind", ["cache_read", "cache_write"])
def test_a_kind_of_token_without_a_price_is_not_free(kind: str) -> None:
    costs = Costs(models={"m": ModelPrice(input=3_000_000, output=15_000_000)})
    used = Usage(model="m", input_tokens=1, **{f"{kind}_tokens": 7})  # type: ignore[arg-type]
    assert costs.of_usage(used) is None
    assert f"no {kind} price" in costs.unpriced(used)
    assert costs.of_usage(Usage(model="m", input_tokens=1)) == 3


def test_the_next_step_is_held_against_the_limit_with_the_dearest_call_so_far() -> None:
    first = Spent().look(COSTS).act(COSTS, Usage(model="m", output_tokens=400))
    then = first.look(COSTS).act(COSTS, Usage(model="m", output_tokens=1))
    assert (first.cost_micro_usd, then.cost_micro_usd, then.dearest_call) == (11_000, 16_015, 6000)
    assert then.ahead(COSTS).cost_micro_usd == 16_015 + 5000 + 6000
    assert not then.ahead(COSTS).within(limits(16_015 + 5000 + 5999))
    assert then.ahead(COSTS).within(limits(16_015 + 5000 + 6000))
    assert then.ahead(COSTS).within(limits(None))


def test_four_left_and_a_call_of_six_is_refused_before_it_is_made() -> None:
    costs = Costs(models={"m": PRICE})
    spent = Spent().act(costs, Usage(model="m", output_tokens=400))
    assert spent.cost_micro_usd == 6000
    assert spent.within(limits(10_000))
    assert not spent.ahead(costs).within(limits(10_000))


def test_before_the_first_call_a_step_is_a_screenshot_and_an_action() -> None:
    assert Spent().ahead(COSTS).cost_micro_usd == COSTS.of_steps(1) == 5000
