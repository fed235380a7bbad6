"""The llm agent with LangChain's own classes: one valid proposal a step, what is none told, counted and limited, each call billed once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core")
pytestmark = pytest.mark.sdk

import models_under_test as models  # noqa: E402
from fake_responses_api import responses_api  # noqa: E402

from deskcert_adapters.agents.llm import LLM, json_in  # noqa: E402
from deskcert_core.api import Dialog, LastResult, ModelServiceError, Target, Usage  # noqa: E402
from deskcert_core.testing import brief, check_adapter, check_adapter_process, check_model_fault, observation  # noqa: E402

BILLED = Usage(model="model-x", input_tokens=65, output_tokens=10, cache_read_tokens=30, cache_write_tokens=5, reasoning_tokens=4)
CLICK = {"action_type": "click", "target": {"role": "button", "name": "Save"}, "decision_summary": "save it"}
END = {"action_type": "finish", "final_status": "success", "answer": "$1"}
KINDS = ["text", "structured"]


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    for kept in (models.ASKED, models.FORCED, models.answers):
        kept.clear()
    yield
    assert models.answers == []


def agent(kind: str, *answers: Any, **options: str) -> LLM:
    models.answers[:] = answers
    made = LLM({"model": f"models_under_test:{kind}", **options})
    made.start(brief(action_types=("click", "finish", "read"), inputs={"invoice": "1048"}, secrets=("pin",)))
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_one_valid_proposal_a_step(kind: str) -> None:
    made = agent(kind, CLICK, END)
    first = made.propose(observation("Total: $1"))
    assert (first.action_type, first.target, first.decision_summary, first.usage) == ("click", Target(role="button", name="Save"), "save it", BILLED)
    second = made.propose(observation(last_result=LastResult(status="not_executed", decision="approval_required", message="approval denied")))
    assert (second.action_type, second.final_status, second.answer, second.usage) == ("finish", "success", "$1", BILLED)
    one, two = (asked[-1].text for asked in models.ASKED)
    for part in ("Task: Read the page.", "invoice: 1048", "{{secret:pin}}", "Action types: click, finish, read", "Step 1 of 20.", "Total: $1"):
        assert part in one
    assert "- click button 'Save': not_executed, approval_required (approval denied)" in two
    assert len(models.ASKED[1]) == 2  # no pile of old pages


def test_the_schema_goes_to_the_model_by_its_tools_or_in_words() -> None:
    agent("structured", END).propose(observation())
    ((tools, _),) = models.FORCED
    assert tools[0]["properties"]["action_type"]["enum"] == ["click", "finish", "read"]
    assert not {"usage", "safety_checks"} & set(tools[0]["properties"])
    assert "by this schema" not in models.ASKED[0][0].text
    agent("text", END).propose(observation())
    assert '"enum": ["click", "finish", "read"]' in models.ASKED[1][0].text
    agent("structured", '{"action_type": "read"}', method="text").propose(observation())
    assert len(models.FORCED) == 1


INVALID = [
    {"action_type": "click"}, {"action_type": "teleport"}, {"action_type": "read", "colour": "red"}, {"action_type": "finish", "final_status": "splendid"},
    {"action_type": "read", "usage": {"model": "free"}}, {"action_type": "read", "safety_checks": ["none"]}, "I would click on Save.",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", INVALID)
def test_an_invalid_proposal_is_printed_told_and_each_try_billed(kind: str, wrong: Any, capsys: pytest.CaptureFixture[str]) -> None:
    given = agent(kind, wrong, CLICK).propose(observation())
    assert given.action_type == "click"
    assert given.usage == Usage(model="model-x", input_tokens=130, output_tokens=20, cache_read_tokens=60, cache_write_tokens=10, reasoning_tokens=8)
    assert capsys.readouterr().err.startswith("invalid proposal 1 of 3: ")
    assert models.ASKED[1][-1].text.startswith("That is no valid proposal: ")
    assert models.ASKED[1][-2].type == "ai"


@pytest.mark.parametrize("kind", KINDS)
def test_three_invalid_ones_in_a_step_are_the_agents_fault_and_the_next_step_counts_anew(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {"action_type": "click"}
    made = agent(kind, wrong, wrong, CLICK, wrong, wrong, wrong)
    made.propose(observation())
    with pytest.raises(ValueError, match="3 answers in one step"):
        made.propose(observation())
    assert len(models.ASKED) == 6
    assert "invalid proposal 3 of 3" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "read"), [
    ('{"action_type": "read"}', {"action_type": "read"}), ('```json\n{"action_type": "read"}\n```', {"action_type": "read"}),
    ('Sure: {"action_type": "read"}', None), ('{"action_type": "read"} {"action_type": "click"}', None), ('{"action_type": "read", "action_type": "click"}', None),
    ("", None), ('{"action_type": ', None),
])
def test_text_is_parsed_strictly(text: str, read: object) -> None:
    assert json_in(text) == (text if read is None else read)


def test_pages_are_cut_and_dialogs_told() -> None:
    agent("text", END).propose(observation("x" * 7000, dialog=Dialog(kind="confirm", message="Sure?")))
    asked = models.ASKED[0][-1].text
    assert "[1000 more characters]" in asked
    assert asked.count("x" * 6000) == 1
    assert "confirm dialog is open: 'Sure?'" in asked


def test_pictures_where_wanted() -> None:
    agent("structured", END, screenshots="true").propose(observation(screenshot=b"jpeg"))
    assert models.ASKED[0][-1].content[1] == {"type": "image", "base64": "anBlZw==", "mime_type": "image/jpeg"}
    agent("structured", END).propose(observation(screenshot=b"jpeg"))
    assert isinstance(models.ASKED[1][-1].content, str)


def test_missing_usage_and_the_name_in_the_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert agent("text", END, price_as="mine").propose(observation()).usage == dataclasses.replace(BILLED, model="mine")
    monkeypatch.setattr(models, "USED", None)
    assert agent("text", END).propose(observation()).usage is None


class Answered(Exception):
    def __init__(self, code: int) -> None:
        super().__init__("no")
        self.status_code = code


@pytest.mark.parametrize("kind", KINDS)
def test_faults_of_the_service_and_of_the_agent(kind: str) -> None:
    for code in (429, 500, 529, 401):
        with pytest.raises(ModelServiceError, match=str(code)):
            agent(kind, Answered(code)).propose(observation())
    for error in (Answered(400), KeyError("mine")):
        with pytest.raises(type(error)):
            agent(kind, error).propose(observation())


def test_a_real_vendor_class_by_its_name_against_a_fake_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """LangChain's own OpenAI class: its options, its structured output, and the faults that it passes on."""
    pytest.importorskip("langchain_openai")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key")
    for answer in (503, None):
        with responses_api(answer) as api:
            made = LLM({"class": "langchain_openai:ChatOpenAI", "kwargs": f'{{"model": "m", "base_url": "{api.url}", "max_retries": 0, "use_responses_api": true}}'})
            made.start(brief())
            with pytest.raises(ModelServiceError):
                made.propose(observation())


@pytest.mark.parametrize(("options", "why"), [
    ({}, "model or class, one of them"), ({"model": "a:b", "class": "c:d"}, "one of them"), ({"model": "models_under_test"}, "module:attribute"),
    ({"model": "models_under_test:not_a_model"}, "no chat model"), ({"model": "models_under_test:structured", "kwargs": "[1]"}, "JSON object"),
    ({"model": "models_under_test:structured", "kwargs": "{"}, "JSON object"), ({"model": "a:b", "colour": "red"}, "no option colour"),
    ({"model": "a:b", "screenshots": "perhaps"}, "true or false"),
])
def test_wrong_options_are_refused(options: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        LLM(options)


def test_a_model_that_is_made_already_and_one_that_takes_words() -> None:
    assert LLM({"model": "models_under_test:ready"})._model is models.ready
    assert LLM({"class": "models_under_test:structured", "kwargs": '{"speed": 3}'})._model.metadata["speed"] == 3


def test_it_conforms() -> None:
    models.answers[:] = [CLICK, END] * 2
    given = check_adapter(LLM, options={"model": "models_under_test:structured"})
    assert [each.action_type for each in given] == ["click", "finish"]


def test_it_conforms_in_its_own_process() -> None:
    path = str(Path(__file__).parent)
    check_adapter_process(LLM, options={"model": "models_under_test:finishing", "path": path})
    check_model_fault(LLM, options={"model": "models_under_test:out_of_service", "path": path})
