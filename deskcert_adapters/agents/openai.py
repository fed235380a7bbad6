"""An OpenAI model with the computer tool of the Responses API: one model turn, its actions given out one by one. It speaks to the model and to nothing else."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deskcert_adapters.agents.openai_actions import DIALOG, proposal_of
from deskcert_adapters.agents.options import known
from deskcert_adapters.agents.status import HOW_TO_END, finish
from deskcert_adapters.agents.turns import Act, Answer, Bill, Turn, summary
from deskcert_core.api import ActionType, Brief, ModelServiceError, Observation, Proposal, Usage

if TYPE_CHECKING:
    from openai.types.responses import Response, ResponseUsage

__all__ = ["OpenAI"]

CURRENT, PREVIEW = "computer", "computer_use_preview"
TRIES = 3
# a model that is asked three times within 90 s answers, or fails, before DeskCert's own patience of 300 s ends
SECONDS, RETRIES = "90", "2"
SERVICE = frozenset({"server_error", "rate_limit_exceeded", "vector_store_timeout"})
REFUSING = frozenset({"invalid_prompt", "bio_policy", "misalignment_policy_violation", "image_content_policy_violation"})
NOT_OURS = frozenset({401, 403, 404, 408, 409, 429})
UNAPPROVED = "a safety check of the model's provider was not approved"
EMPTY = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4//8/AAX+Av4N70a4AAAAAElFTkSuQmCC"
RULES = (
    "You operate a web page with the computer tool; there is no address bar and no desktop. A policy decides on each action before it happens. "
    "Where an action was refused, do not try to reach the same by another way. {allowed}" + HOW_TO_END
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One computer_call of the model's turn: its safety checks, and the number of the act that carries them to the approver."""

    id: str
    checks: tuple[Mapping[str, object], ...] = ()
    carrier: int = -1


class OpenAI:
    """Options: `model` (needed), `tool` (computer, or computer_use_preview for the models before it), `base_url`, `max_output_tokens`,
    `timeout_seconds` and `max_retries` (of one model call).

    The key is read from OPENAI_API_KEY, which the suite's `env` has to list.
    """

    deskcert_api = 1
    calls_model = True

    def __init__(self, options: Mapping[str, str]) -> None:
        """Raises ValueError for options that are unknown or wrong, ImportError without the SDK, and the SDK's own error without a key."""
        known("openai", options, "model", "tool", "base_url", "max_output_tokens", "timeout_seconds", "max_retries", needed=("model",))
        self._model, self._tool = options["model"], options.get("tool", CURRENT)
        if self._tool not in (CURRENT, PREVIEW):
            raise ValueError(f"the openai agent's tool is {CURRENT} or {PREVIEW}, not {self._tool!r}")
        self._most = int(options["max_output_tokens"]) if "max_output_tokens" in options else None
        try:
            import openai
        except ImportError as error:
            raise ImportError("the openai agent needs its SDK: pip install 'deskcert[openai]'") from error
        seconds, retries = float(options.get("timeout_seconds", SECONDS)), int(options.get("max_retries", RETRIES))
        self._client = openai.OpenAI(base_url=options.get("base_url"), timeout=seconds, max_retries=retries)

    def start(self, brief: Brief) -> None:
        self._brief = brief
        self._turn, self._calls, self._bill = Turn(), list[Call](), Bill()
        self._previous = ""
        self._picture = EMPTY

    def propose(self, observation: Observation) -> Proposal:
        """The next act of the model's turn, or of its next turn. Raises ModelServiceError, and ValueError for what the model may not say."""
        if observation.screenshot:
            self._picture = f"data:image/jpeg;base64,{b64encode(observation.screenshot).decode()}"
        for tried in range(TRIES + 1):
            if proposal := self._turn.step(observation):
                return replace(proposal, usage=self._bill.take())
            if self._unapproved():
                return self._end(Proposal(action_type=ActionType.FINISH, final_status="failure", decision_summary=UNAPPROVED))
            if tried < TRIES and (end := self._take(self._ask(self._items(observation)), dialog=observation.dialog is not None)):
                return self._end(end)
        raise ValueError(f"the model asked {TRIES} times in a row for what cannot be proposed")

    def _end(self, proposal: Proposal) -> Proposal:
        self._turn, self._calls = Turn(), []
        return replace(proposal, usage=self._bill.take())

    # -- to the model
    def _items(self, observation: Observation) -> list[object]:
        """What the model is told: the task and the page at first, then the outcome of each call of its last turn."""
        if not self._previous:
            picture = [{"type": "input_image", "image_url": self._picture, "detail": "auto"}] if observation.screenshot else []
            return [said(told(self._brief, observation), *picture)]
        answers = {call.id: [answer for answer in self._turn.answers if answer.call == call.id] for call in self._calls}
        outputs: list[object] = [self._output(call) for call in self._calls]
        lines = [line for each in answers.values() for line in outcomes(each)]
        if not self._calls:
            lines.append(f"Your end was not accepted: {observation.last_result.message if observation.last_result else ''}")
        if observation.dialog:
            lines.append(f"A {observation.dialog.kind} dialog is open: {observation.dialog.message!r}. {DIALOG}")
        return [*outputs, said("\n".join(lines))] if lines else outputs

    def _output(self, call: Call) -> object:
        """The page after the call. Its checks are acknowledged: `_unapproved` has ended the run if a person did not approve them."""
        return {
            "type": "computer_call_output", "call_id": call.id, "acknowledged_safety_checks": list(call.checks),
            "output": {"type": "computer_screenshot", "image_url": self._picture},
        }

    def _unapproved(self) -> bool:
        """Whether a call of the ended turn has checks that no approver has approved, by the outcome of the very act that carried them."""
        answers = self._turn.answers
        return any(call.checks and (call.carrier < 0 or answers[call.carrier].approval != "approved") for call in self._calls)

    def _ask(self, items: list[object]) -> Response:
        """One model call. Raises ModelServiceError where the service failed or cannot be used, else what the SDK raises."""
        import openai
        from openai.types.responses import Response

        try:
            response = self._client.post("/responses", cast_to=Response, body=self._body(items))
        except openai.APIStatusError as error:
            if error.status_code in NOT_OURS or error.status_code >= 500:
                raise ModelServiceError(f"HTTP {error.status_code}: {error.message}") from error
            raise
        except (openai.APIConnectionError, openai.APIResponseValidationError) as error:
            raise ModelServiceError(str(error)) from error
        except ValueError as error:  # the body is no JSON: it was cut
            raise ModelServiceError(f"the service sent what is no answer: {error}") from error
        if not isinstance(response, Response) or not isinstance(response.output, list):
            raise ModelServiceError("the service sent what is no response")
        return response

    def _body(self, items: list[object]) -> dict[str, object]:
        width, height = self._brief.viewport
        tool = {"type": CURRENT} if self._tool == CURRENT else {"type": PREVIEW, "display_width": width, "display_height": height, "environment": "browser"}
        return {
            "model": self._model, "tools": [tool], "input": items, "truncation": "auto", "instructions": RULES.format(allowed=allowed(self._brief)),
            **({"previous_response_id": self._previous} if self._previous else {}), **({"max_output_tokens": self._most} if self._most else {}),
        }

    # -- from the model
    def _take(self, response: Response, *, dialog: bool) -> Proposal | None:
        """Read one answer: its actions become the turn; an answer without any is the end. Raises ValueError for what is neither."""
        self._bill.add(usage_of(self._model, response.usage))
        if refused := failed(response):
            return Proposal(action_type=ActionType.FINISH, final_status="failure", answer=refused, decision_summary=summary(f"the model refused: {refused}"))
        items: list[Mapping[str, object]] = [item if isinstance(item, dict) else item.to_dict(warnings=False) for item in response.output]
        texts, refusals = words(items, "output_text", "text"), words(items, "refusal", "refusal")
        calls = [item for item in items if item.get("type") == "computer_call"]
        if strange := {str(item.get("type")) for item in items} - {"computer_call", "message", "reasoning"}:
            raise ValueError(f"the model answered with {', '.join(sorted(strange))}, which it was not offered")
        self._previous = response.id
        if refusals:
            return Proposal(action_type=ActionType.FINISH, final_status="failure", answer=refusals, decision_summary=summary(f"the model refused: {refusals}"))
        if not calls:
            return finish(texts)
        self._calls, acts = [], list[Act]()
        for item in calls:
            call, more = read(item, len(acts), lambda action: proposal_of(action, self._brief.viewport, dialog=dialog), summary(texts))
            self._calls.append(call)
            acts += more
        self._turn = Turn(acts)
        return None


def told(brief: Brief, observation: Observation) -> str:
    """The task, as the model reads it once."""
    inputs = "".join(f"\n{name}: {value}" for name, value in brief.inputs.items())
    secrets = "".join(f"\nTo enter the secret {name}, type exactly {{{{secret:{name}}}}} into its field." for name in brief.secrets)
    dialog = f"\nA {observation.dialog.kind} dialog is open: {observation.dialog.message!r}. {DIALOG}" if observation.dialog else ""
    return f"{brief.goal}{inputs}{secrets}\n\nThe browser shows {observation.url} ({observation.title}).{dialog}"


def allowed(brief: Brief) -> str:
    return f"It knows these kinds of action: {', '.join(brief.action_types)}. " if brief.action_types else ""


def said(text: str, *more: object) -> object:
    return {"role": "user", "content": [{"type": "input_text", "text": text}, *more]}


def outcomes(answers: list[Answer]) -> Iterable[str]:
    """What did not happen: the tool's output has no place for it."""
    for number, answer in enumerate(answers, 1):
        if answer.failed:
            yield f"Action {number} of {len(answers)} of call {answer.call} did not succeed. {answer.text}"


def read(item: Mapping[str, object], before: int, proposed: Callable[[Mapping[str, object]], Proposal], claim: str) -> tuple[Call, list[Act]]:
    """A computer_call and its acts; `before` acts of the turn stand before them. Raises ValueError for a call that cannot be answered."""
    id, checks, single = item.get("call_id"), item.get("pending_safety_checks"), item.get("action")
    actions = item.get("actions") or ([single] if single else [])
    if not isinstance(id, str) or not id or not isinstance(actions, list) or not isinstance(checks, list | None) or not all(map(is_check, checks or ())):
        raise ValueError(f"the model's computer_call is malformed: {dict(item)!r:.300}")
    names = tuple(f"{check.get('code') or check['id']}: {check.get('message') or 'no message'}" for check in checks or ())
    acts, carrier = list[Act](), -1
    for action in actions:
        try:
            proposal = replace(proposed(action if isinstance(action, dict) else {}), decision_summary=claim)
        except ValueError as error:
            acts.append(Act(call=id, text=f"Not executed: {error}.", failed=True))
            continue
        if carrier < 0:
            carrier, proposal = before + len(acts), replace(proposal, safety_checks=names)
        acts.append(Act(call=id, proposal=proposal))
    return Call(id=id, checks=tuple(checks or ()), carrier=carrier), acts or [Act(call=id, text="Not executed: the call holds no action.", failed=True)]


def is_check(check: object) -> bool:
    return isinstance(check, dict) and isinstance(check.get("id"), str)


def words(items: list[Mapping[str, object]], kind: str, key: str) -> str:
    """The text of all message parts of that kind."""
    contents = [item.get("content") for item in items if item.get("type") == "message"]
    parts = [part for content in contents if isinstance(content, list) for part in content if isinstance(part, dict) and part.get("type") == kind]
    return "\n".join(str(part.get(key)) for part in parts)


def failed(response: Response) -> str:
    """Empty for a whole answer, else the words of a refusal. Raises ModelServiceError for a failed service, ValueError for an answer that is not whole."""
    reason = response.incomplete_details.reason if response.incomplete_details else None
    code = response.error.code if response.error else None
    match response.status:
        case "completed":
            return ""
        case "incomplete" if reason == "content_filter":
            return "its answer was stopped by a content filter"
        case "incomplete":
            raise ValueError(f"the model's answer was cut: {reason}" + ("; give the agent more max_output_tokens" if reason == "max_output_tokens" else ""))
        case "failed" if code in REFUSING and response.error:
            return f"{code}: {response.error.message}"
        case "failed" if code in SERVICE and response.error:
            raise ModelServiceError(f"{code}: {response.error.message}")
        case status:
            raise ValueError(f"the model's answer has the status {status!r}" + (f" ({code})" if code else ""))


def usage_of(model: str, usage: ResponseUsage | None) -> Usage | None:
    """None where the service did not say it whole. Its input tokens count those of the cache; ours do not."""
    if usage is None:
        return None
    try:
        cached, written = usage.input_tokens_details.cached_tokens or 0, getattr(usage.input_tokens_details, "cache_write_tokens", None) or 0
        return Usage(
            model=model, input_tokens=usage.input_tokens - cached - written, output_tokens=usage.output_tokens, cache_read_tokens=cached,
            cache_write_tokens=written, reasoning_tokens=usage.output_tokens_details.reasoning_tokens or 0,
        )
    except (AttributeError, TypeError):
        return None
