"""A criterion: the agent's final answer contains a word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deskcert_core.api import Evidence, Json, Judgement, Outcome, Probe


class SaysHello:
    """The final answer contains `word`, in upper or lower case; without it, hello."""

    deskcert_api = 1
    version = "1"
    schema: Mapping[str, Json] = {
        "type": "object", "properties": {"word": {"type": "string", "minLength": 1}}, "additionalProperties": False,
    }

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        """Nothing else needs to be kept at the end of a trial."""
        return ()

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        if evidence.end_reason is None:
            return Judgement(outcome=Outcome.INCONCLUSIVE, message="the end of the trial was not recorded")
        word, answer = str(params.get("word", "hello")), evidence.answer or ""
        said = word.lower() in answer.lower()
        message = f"the answer {answer!r} {'says' if said else 'does not say'} {word!r}"
        return Judgement(outcome=Outcome.PASS if said else Outcome.FAIL, message=message, records=(evidence.end_seq,))
