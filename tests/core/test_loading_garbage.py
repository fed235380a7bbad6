"""Whatever stands in the files of a suite, loading it says where it is wrong and raises nothing but InputError."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from suite_folder import FILES, SuiteFolder

from deskcert_core.errors import InputError, Problem


@pytest.fixture
def folder(tmp_path: Path) -> SuiteFolder:
    return SuiteFolder(tmp_path)


SHAPES: dict[str, bytes] = {
    "empty": b"", "words": b"# nothing\n", "list": b"[]", "text": b"x", "null": b"null", "binary": bytes(range(256)), "utf-16": "version: 1".encode("utf-16"),
    "latin-1": "name: é".encode("latin-1"), "huge": b"#" * 1_000_001, "deep": b"[" * 500_000, "deep blocks": b"- " * 400_000,
    "alias": b"a: &a [x]\nb: [*a, *a]", "tag": b"version: !!int 1", "merge": b"<<: {version: 1}", "duplicate": b"version: 1\nversion: 1",
    "two": b"version: 1\n---\nversion: 1", "number keys": b"1: 2", "open": b"{version: 1", "tab": b"\tversion: 1",
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", FILES)
def test_every_bad_shape_of_every_file_is_told(folder: SuiteFolder, name: str, shape: str) -> None:
    folder.write(name, SHAPES[shape])
    found = folder.problems()
    assert any(line.startswith(f"{name}:") for line in found), found


def test_a_folder_or_pipe_in_place_of_a_file(folder: SuiteFolder) -> None:
    for name in ("policy.yaml", "tasks/buy.yaml"):
        (folder.path / name).unlink()
    (folder.path / "policy.yaml").mkdir()
    os.mkfifo(folder.path / "tasks/buy.yaml")
    assert {"policy.yaml: is not a file", "tasks/buy.yaml: is not a file"} <= set(folder.problems())


TEXTS = st.one_of(st.text(max_size=10), st.sampled_from(["${base_url}", "${suite}", "${", "..", "/", "*", "\0", "http://[", "file:", "{{secret:x}}", "pack:x", "policy.yaml"]))
YAML = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=10,
)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    """A file of the suite with a value put in, a line dropped, bytes put in, or wholly other."""
    name = draw(st.sampled_from(sorted(FILES)))
    text = FILES[name]
    match draw(st.integers(0, 3)):
        case 0:
            lines = text.splitlines()
            at = draw(st.integers(0, len(lines) - 1))
            key = lines[at].partition(":")[0]
            lines[at] = f"{key}: {json.dumps(draw(YAML), ensure_ascii=draw(st.booleans()))}"
            return name, "\n".join(lines).encode("utf-8", "surrogatepass")
        case 1:
            lines = text.splitlines()
            del lines[draw(st.integers(0, len(lines) - 1))]
            return name, "\n".join(lines).encode()
        case 2:
            at = draw(st.integers(0, len(text)))
            return name, text.encode()[:at] + draw(st.binary(max_size=6)) + text.encode()[at + draw(st.integers(0, 6)) :]
        case _:
            return name, draw(st.binary(max_size=60))


@given(st.lists(damaged(), min_size=1, max_size=3))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_garbage_raises_nothing_but_input_errors(tmp_path: Path, damages: list[tuple[str, bytes]]) -> None:
    folder = SuiteFolder(tmp_path)
    for name, content in damages:
        folder.write(name, content)
    problems: list[Problem] = []
    try:
        folder.load()
    except InputError as error:
        problems = error.problems or [Problem(file="", message="")]
    assert all(problem.file and problem.message and "\n" not in str(problem) for problem in problems)
