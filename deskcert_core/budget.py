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


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """Micro-dollars per million tokens."""

    input: int
    output: int
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Prices in micro-dollars: of one screenshot shown to the agent, of one proposed action, and per million tokens of each model."""

    per_screenshot: int = 0
    per_action: int = 0
    models: dict[str, ModelPrice] = field(default_factory=dict)

    def of_usage(self, usage: Usage) -> int | None:
        """Micro-dollars of one model call, rounded up; None for a model without a price."""
        price = self.models.get(usage.model)
        if price is None:
            return None
        total = (
            usage.input_tokens * price.input + usage.output_tokens * price.output
            + usage.cache_read_tokens * price.cache_read + usage.cache_write_tokens * price.cache_write
        )
        return -(-total // MILLION)


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
    """What a trial has used so far. Each method gives a new one."""

    cost_micro_usd: int = 0

    def look(self, costs: Costs) -> Spent:
        return replace(self, cost_micro_usd=self.cost_micro_usd + costs.per_screenshot)

    def act(self, costs: Costs, usage: Usage | None) -> Spent:
        """One proposal. A model without a price costs nothing here; `loading` and the session refuse it under a limit."""
        tokens = (costs.of_usage(usage) or 0) if usage else 0
        return replace(self, cost_micro_usd=self.cost_micro_usd + costs.per_action + tokens)

    def within(self, limits: Limits) -> bool:
        return limits.max_cost_micro_usd is None or self.cost_micro_usd <= limits.max_cost_micro_usd
