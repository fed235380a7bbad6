"""What a trial may use and what it has used. Checked before each act, never after. Money is whole micro-dollars."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

__all__ = ["Costs", "Limits", "ModelPrice", "Spent", "Usage"]

MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the model calls behind one proposal used, in tokens, each billed call once. Cached tokens are not part of `input_tokens`;
    reasoning tokens are part of `output_tokens`, and image tokens of `input_tokens`: providers bill them so."""

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    @classmethod
    def of_prompt(
        cls, *, model: str, prompt_tokens: int, prompt_includes_cache: bool, output_tokens: int, cache_read_tokens: int = 0, cache_write_tokens: int = 0,
        reasoning_tokens: int = 0,
    ) -> Usage:
        """The usage from a provider's own counts. Whether its prompt count includes the cached tokens must be said: some do, some do not.

        Raises ValueError for counts that cannot be: negative ones, more cached than prompt tokens where they are included, more reasoning than output.
        """
        cached = cache_read_tokens + cache_write_tokens if prompt_includes_cache else 0
        rest = prompt_tokens - cached
        if min(rest, output_tokens - reasoning_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens) < 0:
            raise ValueError(f"the usage of {model!r} cannot be: {prompt_tokens} prompt tokens, {cached} of them cached; {reasoning_tokens} of {output_tokens} reasoning")
        return cls(
            model=model, input_tokens=rest, output_tokens=output_tokens, cache_read_tokens=cache_read_tokens, cache_write_tokens=cache_write_tokens,
            reasoning_tokens=reasoning_tokens,
        )

    def __add__(self, other: Usage) -> Usage:
        """Two calls of one model behind one proposal, such as a failed one and its repetition: each is billed. Raises ValueError for two models."""
        if self.model != other.model:
            raise ValueError(f"one proposal has one model: {self.model!r} and {other.model!r} cannot be added")
        return Usage(
            model=self.model, input_tokens=self.input_tokens + other.input_tokens, output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens, cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """Micro-dollars per million tokens. A kind without a price is not free: its cost cannot be told (0 says that it is free)."""

    input: int
    output: int
    cache_read: int | None = None
    cache_write: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Prices in micro-dollars: of one screenshot shown to the agent, of one proposed action, and per million tokens of each model."""

    per_screenshot: int = 0
    per_action: int = 0
    models: dict[str, ModelPrice] = field(default_factory=dict)

    def of_usage(self, usage: Usage) -> int | None:
        """Micro-dollars of one model call, rounded up; None where `unpriced` says that it has no price."""
        if self.unpriced(usage):
            return None
        price = self.models[usage.model]
        total = (
            usage.input_tokens * price.input + usage.output_tokens * price.output
            + usage.cache_read_tokens * (price.cache_read or 0) + usage.cache_write_tokens * (price.cache_write or 0)
        )
        return -(-total // MILLION)

    def unpriced(self, usage: Usage) -> str:
        """Why the cost of a call cannot be told; empty if it can."""
        price = self.models.get(usage.model)
        if price is None:
            return f"model {usage.model!r} has no price in the suite's costs"
        for kind, tokens, of_kind in (("cache_read", usage.cache_read_tokens, price.cache_read), ("cache_write", usage.cache_write_tokens, price.cache_write)):
            if tokens and of_kind is None:
                return f"model {usage.model!r} has no {kind} price in the suite's costs, and used {tokens} such tokens"
        return ""

    def of_steps(self, steps: int) -> int:
        """Micro-dollars of so many steps, each with a screenshot, without any model call."""
        return steps * (self.per_screenshot + self.per_action)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a trial may use; the stricter of policy and task. Money in micro-dollars, None where nothing limits it."""

    max_steps: int
    max_runtime_seconds: float
    max_cost_micro_usd: int | None
    max_repeats: int
    max_dialogs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a trial has used so far. Each method gives a new one. `dearest_call` is the most that one proposal's model calls have cost."""

    cost_micro_usd: int = 0
    dearest_call: int = 0

    def look(self, costs: Costs) -> Spent:
        return replace(self, cost_micro_usd=self.cost_micro_usd + costs.per_screenshot)

    def act(self, costs: Costs, usage: Usage | None) -> Spent:
        """One proposal. A model without a price costs nothing here; `loading` and the session refuse it under a limit."""
        tokens = (costs.of_usage(usage) or 0) if usage else 0
        return replace(self, cost_micro_usd=self.cost_micro_usd + costs.per_action + tokens, dearest_call=max(self.dearest_call, tokens))

    def ahead(self, costs: Costs) -> Spent:
        """What the next step would make of it: a screenshot, an action, and a call as dear as the dearest so far (0 before the first: nothing is known of it)."""
        return replace(self, cost_micro_usd=self.cost_micro_usd + costs.of_steps(1) + self.dearest_call)

    def within(self, limits: Limits) -> bool:
        return limits.max_cost_micro_usd is None or self.cost_micro_usd <= limits.max_cost_micro_usd
