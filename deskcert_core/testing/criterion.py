"""What a criterion must be: pure, sure of its parameters, and honest about evidence that is missing."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from deskcert_core import schemas
from deskcert_core.evaluation import Evidence, Judgement, Outcome, Probe, ProbeResult
from deskcert_core.task import Json
from deskcert_core.testing.expect import conforms, expect, gives
from deskcert_core.testing.purity import impure
from deskcert_core.testing.values import PAGE
from deskcert_core.trial import probe_key

__all__ = ["check_criterion"]

HEAD: dict[str, Json] = {"version": 1, "id": "t", "goal": "g", "start_url": PAGE}
ODD: tuple[Json, ...] = (None, True, 0, 7, -1.5, 10**30, "", "x", "[", "a\nb", [], ["x"], {}, {"x": 1})


def check_criterion(criterion: Any, params: Mapping[str, Json], *, passes: Evidence, fails: Evidence) -> None:
    """A criterion's class: its schema takes `params` and nothing unknown, judging is pure, and evidence that is missing is never a pass.

    Whatever else its schema takes it can judge, and it reads no parameter that the schema does not have.
    """
    conforms(criterion, "deskcert.criteria")
    judge = criterion()
    expect(isinstance(judge.version, str) and judge.version != "", "version is a text that changes when the same evidence may be judged otherwise")
    whole = _check_schema(judge.schema, params)
    wanted = _probes(judge, params)
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
    for other in _others(whole, judge.schema, params):
        _judges_anything(judge, other, (passes, fails, nothing))


def _probes(judge: Any, params: Mapping[str, Json]) -> tuple[Probe, ...]:
    wanted = tuple(judge.probes(params))
    expect(all(isinstance(each, Probe) for each in wanted), f"probes gives Probe values, not {wanted!r}")
    expect(tuple(judge.probes(params)) == wanted, "probes gives the same twice")
    return wanted


def _judged(judge: Any, params: Mapping[str, Json], given: Evidence, wanted: Outcome, which: str) -> None:
    mine, mine_given = Reading(copy.deepcopy(dict(params))), copy.deepcopy(given)
    said = gives(judge.judge(mine, mine_given), Judgement, f"judge, for {which},")
    expect(said.outcome is wanted, f"{which} is judged {wanted}, not {said.outcome} ({said.message})")
    expect(said.message != "" and "\n" not in said.message, f"the message for {which} is one line, not {said.message!r}")
    expect(mine == params, f"judge leaves its parameters as they are, for {which}")
    expect(mine_given == given, f"judge leaves the evidence as it is, for {which}")
    again, reached = impure(lambda: judge.judge(mine, mine_given))
    expect(not reached, f"judge judges from evidence alone: it called {', '.join(reached)}, for {which}")
    expect(again == said and type(judge)().judge(mine, mine_given) == said, f"judge says the same twice, for {which}")
    unknown = set(said.records) - _records(given)
    expect(not unknown, f"the records that a judgement rests on are there: {sorted(unknown)} are not in {which}")
    strange = sorted(mine.read - _properties(judge.schema))
    expect(not strange, f"the schema has every parameter that judge reads: {', '.join(strange)} is not in it, so nobody can write it")


def _judges_anything(judge: Any, params: Mapping[str, Json], given: tuple[Evidence, ...]) -> None:
    """What `deskcert validate` lets pass must not break the judging afterwards."""
    try:
        _probes(judge, params)
        said = [judge.judge(copy.deepcopy(dict(params)), each) for each in given]
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"what the schema takes can be judged: {dict(params)} raises {type(error).__name__}: {error}") from error
    for each in said:
        gives(each, Judgement, f"judge, for {dict(params)},")


def _records(given: Evidence) -> set[int]:
    seqs = {seen.seq for part in (given.looks, given.requests, tuple(given.probes.values())) for seen in part}
    return seqs | {seq for each in given.steps for seq in each.seqs} | {seq for seq, _ in given.faults} | {given.end_seq}


def _check_schema(schema: Any, params: Mapping[str, Json]) -> schemas.Schema:
    """As `deskcert validate` composes it into the schema of a task, which is what this gives."""
    try:
        whole = schemas.task_schema({"it": json.loads(json.dumps(schema))})
    except (TypeError, ValueError) as error:
        raise AssertionError(f"schema is a JSON Schema: {error}") from error
    expect("type" not in schema.get("properties", {}), "no parameter is called type: that key names the criterion")
    fits = _task(params)
    expect(whole.holds(fits), f"the schema takes the parameters {dict(params)}: {whole.first_error(fits)}")
    expect(not whole.holds(_task({**params, "no such key": 1})), "the schema refuses unknown keys")
    return whole


def _task(params: Mapping[str, Json]) -> dict[str, Json]:
    return {**HEAD, "assertions": [{"type": "it", **params}]}


def _others(whole: schemas.Schema, schema: Any, params: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    """Each parameter left out, and each that there is with values of every kind, as far as the schema takes it."""
    for name in sorted(_properties(schema)):
        rest = {key: value for key, value in params.items() if key != name}
        for other in (rest, *({**rest, name: odd} for odd in ODD)):
            if whole.holds(_task(other)):
                yield other


def _properties(schema: Any) -> set[str]:
    """The names of all parameters, those of the schema's branches too."""
    inner = [*schema.get("properties", {}).values()] if isinstance(schema, Mapping) else []
    if isinstance(schema, Mapping):
        deeper = [value for key, value in schema.items() if key != "properties"]
        return set(schema.get("properties", {})).union(*map(_properties, [*deeper, *inner]))
    return set().union(*map(_properties, schema)) if isinstance(schema, list | tuple) else set()


class Reading(dict[str, Json]):
    """Parameters that know which of them were asked for by name."""

    def __init__(self, values: Mapping[str, Json]) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Json:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)
