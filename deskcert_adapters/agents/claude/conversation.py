"""One trial with the model: it is asked, its turn is given out act by act, every call is answered, and how it stops decides how the trial ends."""

from __future__ import annotations

from dataclasses import replace

from deskcert_adapters.agents.claude.members import Hand, tool
from deskcert_adapters.agents.claude.service import Call, Message, Options, Reply, Service
from deskcert_adapters.agents.claude.words import opening, results, rules
from deskcert_adapters.agents.status import finish
from deskcert_adapters.agents.turns import Act, Bill, Turn, summary, told
from deskcert_core.api import ActionType, Brief, Observation, Proposal

__all__ = ["Conversation"]

MOST_PAUSES = 5
MOST_IDLE = 3


class Conversation:
    """The messages of one trial, the turn that is being done, and what the calls cost."""

    def __init__(self, service: Service, options: Options, brief: Brief) -> None:
        self._service, self._options, self._brief = service, options, brief
        self._tool, self._rules = tool(options, brief.viewport), rules(options)
        self._hand = Hand(options.toolset, brief.viewport, brief.action_types)
        self._messages: list[Message] = []
        self._calls: list[Call] = []
        self._turn, self._bill, self._idle = Turn(), Bill(), 0

    def propose(self, observation: Observation) -> Proposal:
        """The next act of the turn; after its last one the model is told and asked again. Raises as `Service.ask`, and RuntimeError for a model that gets nowhere."""
        proposal = self._turn.step(observation)
        while proposal is None:
            self._tell(observation)
            proposal = self._ask(observation)
        return replace(proposal, usage=self._bill.take())

    def _tell(self, observation: Observation) -> None:
        """Answer what the model asked for last."""
        if not self._messages:
            content = opening(self._brief, observation)
        elif self._calls:
            if any(answer.failed for answer in self._turn.answers):
                self._hand.pointer = None
            content = results(self._calls, self._turn.answers)
        else:  # it had ended, and the policy did not let it
            why = told(observation.last_result) if observation.last_result else ""
            content = [{"type": "text", "text": f"You have not ended yet. {why}".strip()}]
        self._messages.append(Message(role="user", content=content))
        self._calls, self._turn = [], Turn()

    def _ask(self, observation: Observation) -> Proposal | None:
        """The first act of a new turn, or the end; None if the turn needs no act."""
        reply = self._reply()
        calls = reply.calls
        match reply.stop_reason:
            case "tool_use" | "pause_turn" if calls:
                return self._begin(reply, calls, observation)
            case "end_turn" | "stop_sequence" if not calls:
                self._keep(reply)
                return finish(reply.text)
            case "max_tokens":
                return cut_off(f"The model's answer was cut off at {self._options.max_tokens} tokens (option max_tokens); nothing of that turn was done.")
            case "model_context_window_exceeded":
                return cut_off("The conversation no longer fits into the model's context window; nothing of that turn was done.")
            case "refusal":
                why = ": ".join(str(part) for key in ("category", "explanation") if (part := (reply.stop_details or {}).get(key)))
                return cut_off(f"The model refused to go on{f' ({why})' if why else ''}. {reply.text}".strip())
            case reason:
                raise RuntimeError(f"the model service ended a turn of {len(calls)} tool calls with the stop reason {reason!r}, which is not known here")

    def _reply(self) -> Reply:
        """One answer; a pause of the service is continued as often as `MOST_PAUSES`."""
        for _ in range(MOST_PAUSES + 1):
            reply = self._service.ask(self._tool, self._rules, self._messages)
            self._bill.add(reply.used)
            if reply.stop_reason != "pause_turn" or reply.calls:
                return reply
            self._keep(reply)
        raise RuntimeError(f"the model service paused more than {MOST_PAUSES} times in a row")

    def _begin(self, reply: Reply, calls: list[Call], observation: Observation) -> Proposal | None:
        self._keep(reply)
        self._calls, claim, acts, dialog = calls, summary(reply.text), list[Act](), observation.dialog
        for call in calls:
            acts += self._hand.acts(call, dialog)
            dialog = None if acts[-1].proposal else dialog  # once answered it is gone; a new one stops the turn
        self._turn = Turn(replace(act, proposal=replace(act.proposal, decision_summary=claim)) if act.proposal else act for act in acts)
        proposal = self._turn.step(observation)
        self._idle = 0 if proposal else self._idle + 1
        if self._idle > MOST_IDLE:
            raise RuntimeError(f"the model asked {self._idle} times in a row for nothing that can be done: {last_word(self._turn)}")
        return proposal

    def _keep(self, reply: Reply) -> None:
        if reply.content:
            self._messages.append(Message(role="assistant", content=reply.content))


def cut_off(answer: str) -> Proposal:
    return Proposal(action_type=ActionType.FINISH, final_status="failure", answer=answer, decision_summary=summary(answer))


def last_word(turn: Turn) -> str:
    return next((answer.text for answer in turn.answers if answer.failed), "looks alone")
