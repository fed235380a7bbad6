"""`deskcert new`: a package for a plug-in of one's own, which installs, conforms and runs as it is written."""

from __future__ import annotations

import re
from pathlib import Path

import click

from deskcert_adapters.frontends.cli.init import COSTS, POLICY
from deskcert_core.errors import UsageError

PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{package}"
version = "0.1.0"
description = "{description}"
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["deskcert"]

[project.entry-points."{group}"]
{name} = "{module}:{cls}"

[tool.setuptools]
py-modules = ["{module}"]
"""

ADAPTER = '''\
"""An agent: it reads the page once, and then says what its title is. Make it yours."""

from __future__ import annotations

from collections.abc import Mapping

from deskcert_core.api import ActionType, Brief, Observation, Proposal


class {cls}:
    """Reads, then finishes. Set calls_model = True once it calls one: then every proposal carries its usage."""

    deskcert_api = 1

    def __init__(self, options: Mapping[str, str]) -> None:
        """`options` of the suite's entry, and of --agent-option."""
        if options:
            raise ValueError(f"{name} takes no options, not {{', '.join(sorted(options))}}")
        self._has_read = False

    def start(self, brief: Brief) -> None:
        """A trial begins: brief.goal says what to do. Forget the last trial, the same object serves them all."""
        self._has_read = False

    def propose(self, observation: Observation) -> Proposal:
        """One look at the page in, one act out; observation.last_result says how the last act ended. At the end, finish."""
        if not self._has_read:
            self._has_read = True
            return Proposal(action_type=ActionType.READ, decision_summary="Read the page")
        answer = f"This page is {{observation.title}}"
        return Proposal(action_type=ActionType.FINISH, final_status="success", answer=answer, decision_summary="Say its title")
'''

ADAPTER_TEST = """\
from {module} import {cls}

from deskcert_core.testing import check_adapter, check_adapter_process, observation


def test_it_conforms() -> None:
    check_adapter({cls})


def test_it_conforms_in_a_process_of_its_own() -> None:
    check_adapter_process({cls})


def test_it_says_the_title() -> None:
    *_, last = check_adapter({cls}, sees=[observation(title="Invoices")])
    assert last.answer == "This page is Invoices"
"""

ADAPTER_README = """\
# {package}

An agent for DeskCert. `{module}.py` is all of it; `suite/` is a page to try it on.

    pip install -e . pytest
    python -m pytest
    deskcert run suite --agent {name}

The tests hold it to what DeskCert expects of an adapter (`deskcert_core.testing`). In a suite of your own it needs no entry: `deskcert run SUITE --agent {name}`.
"""

CRITERION = '''\
"""A criterion: the agent's final answer contains a text. Make it yours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deskcert_core.api import Evidence, Json, Judgement, Outcome, Probe


class {cls}:
    """The final answer contains `value`."""

    deskcert_api = 1
    version = "1"  # change it when the same evidence may be judged otherwise
    schema: Mapping[str, Json] = {{
        "type": "object", "properties": {{"value": {{"type": "string", "minLength": 1}}}}, "required": ["value"], "additionalProperties": False,
    }}

    def probes(self, params: Mapping[str, Json]) -> Sequence[Probe]:
        """The facts that must be kept at the end of a trial. This one needs none."""
        return ()

    def judge(self, params: Mapping[str, Json], evidence: Evidence) -> Judgement:
        """From the evidence alone: no clock, no file, no network. Without the evidence that it needs it is inconclusive."""
        if evidence.end_reason is None:
            return Judgement(outcome=Outcome.INCONCLUSIVE, message="the end of the trial was not recorded")
        met = str(params["value"]) in (evidence.answer or "")
        message = f"the answer is {{evidence.answer!r}}"
        return Judgement(outcome=Outcome.PASS if met else Outcome.FAIL, message=message, records=(evidence.end_seq,))
'''

CRITERION_TEST = """\
from {module} import {cls}

from deskcert_core.testing import check_criterion, evidence


def test_it_conforms() -> None:
    check_criterion({cls}, {{"value": "42"}}, passes=evidence(answer="It is 42."), fails=evidence(answer="It is 41."))
"""

CRITERION_README = """\
# {package}

A criterion for DeskCert. `{module}.py` is all of it. It judges a line of a task:

    assertions:
      - {{type: {name}, value: "42"}}

Install and try it:

    pip install -e . pytest
    python -m pytest

The test holds it to what DeskCert expects of a criterion (`deskcert_core.testing`).
"""

SUITE = """\
version: 1
name: {package}
tasks: ["tasks/*.yaml"]
policy: policy.yaml
environments:
  local:
    base_url: "http://127.0.0.1:${{port}}"
    serve: {{command: [python, -m, http.server, "${{port}}", --bind, 127.0.0.1, --directory, site], url: "http://127.0.0.1:${{port}}/", timeout_seconds: 30}}
    disposable: true
agents: {{{name}: {{adapter: {name}}}}}
approver: deny
plugins: [{package}]
costs: costs.yaml
gate: {{min_score: 70, violation_weight: 50}}
"""

TASK = """\
version: 1
id: title
goal: Say what page this is.
start_url: "${{base_url}}/"
assertions:
  - {{type: final_answer, exact: This page is A small page}}
  - {{type: final_status, value: success}}
  - {{type: no_policy_violations, value: true}}
  - {{type: max_steps, value: 5}}
"""

PAGE = """\
<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>A small page</title></head>
<body><h1>A small page</h1><p>There is not much here.</p></body>
</html>
"""

NAME = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")
ADAPTER_FILES = {
    "pyproject.toml": PROJECT, "README.md": ADAPTER_README, "{module}.py": ADAPTER, "tests/test_{module}.py": ADAPTER_TEST, "suite/deskcert.yaml": SUITE,
    "suite/policy.yaml": POLICY, "suite/costs.yaml": COSTS, "suite/tasks/title.yaml": TASK, "suite/site/index.html": PAGE,
}
CRITERION_FILES = {"pyproject.toml": PROJECT, "README.md": CRITERION_README, "{module}.py": CRITERION, "tests/test_{module}.py": CRITERION_TEST}


@click.group()
def new() -> None:
    """Write a package for a plug-in of your own into a new folder here; it installs, conforms and runs as it is."""


@new.command()
@click.argument("name")
def adapter(name: str) -> None:
    """Write ./deskcert-adapter-NAME: an agent, its tests and a suite to try it on."""
    package = write("adapter", name, "deskcert.adapters", "Agent", "A DeskCert agent.", ADAPTER_FILES)
    click.echo(f"\nNext: pip install -e ./{package} && deskcert run {package}/suite --agent {name}")


@new.command()
@click.argument("name")
def criterion(name: str) -> None:
    """Write ./deskcert-criterion-NAME: a type of assertion and its tests."""
    package = write("criterion", name, "deskcert.criteria", "Criterion", "A DeskCert criterion.", CRITERION_FILES)
    click.echo(f"\nNext: pip install -e ./{package} && python -m pytest {package}")


def write(kind: str, name: str, group: str, suffix: str, description: str, files: dict[str, str]) -> str:
    """The new package's name. Raises UsageError for a name that cannot be or is taken, and where the folder is there already."""
    from deskcert_core.plugins import drivers

    if not NAME.fullmatch(name) or len(name) > 50:
        raise UsageError(f"{name!r:.60} cannot be the name of a plug-in", hint="write it as my-agent: small letters, digits, - and _, a letter first")
    taken = [str(found) for found in drivers.find(group) if found.name == name]
    if taken:
        raise UsageError(f"there is already one called {name}: {', '.join(taken)}", hint="two of one name cannot be told apart")
    package = f"deskcert-{kind}-{name}".replace("_", "-")
    cls = "".join(part.capitalize() for part in re.split("[_-]", name)).removesuffix(suffix) + suffix
    words = {"package": package, "name": name, "module": package.replace("-", "_"), "cls": cls, "group": group, "description": description}
    try:
        Path(package).mkdir()
        for place, text in files.items():
            path = Path(package, place.format(**words))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text if text in (COSTS, PAGE) else text.format(**words), encoding="utf-8")
            click.echo(f"wrote  {path}")
    except FileExistsError as error:
        raise UsageError(f"{package} is there already", hint="nothing was written") from error
    except OSError as error:
        raise UsageError(f"cannot write {package}: {error.strerror}") from error
    return package
