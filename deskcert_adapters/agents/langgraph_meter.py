"""Counts what each call of a LangChain model used, wherever in the graph it is made. Imported only where LangChain is installed."""

from __future__ import annotations

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import LLMResult

from deskcert_adapters.agents.llm_usage import usage_of
from deskcert_adapters.agents.turns import Bill

__all__ = ["Meter"]


class Meter(BaseCallbackHandler):
    """Puts each call on the bill once; a call that a re-run node makes again is made, and billed, again. `price_as` names the model, else the service does."""

    raise_error = True
    run_inline = True

    def __init__(self, bill: Bill, price_as: str) -> None:
        self._bill, self._price_as = bill, price_as

    def on_llm_end(self, response: LLMResult, **_: object) -> None:
        """The answers to one prompt share one usage; a batch of prompts is as many calls."""
        for answers in response.generations:
            message = getattr(answers[0], "message", None) if answers else None
            self._bill.add(usage_of(message, self._price_as) if message else None)
