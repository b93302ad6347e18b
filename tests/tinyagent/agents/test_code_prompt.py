from __future__ import annotations

import pytest

from tinyagent import Artifact, Tool
from tinyagent.agents.code_observation import FINISH, observation, reminder
from tinyagent.agents.code_prompt import HELPERS, describe_code_environment
from tinyagent.core import ExecutionResult
from tinyagent.execution.trust import ISOLATED_IMPORTS, LOCAL_IMPORTS

CORRECT = "[Send the whole code again, corrected.]"
PNG = Artifact("figure.png", b"", "image/png")


def stock(item: str) -> int:
    """Look up how many are left."""
    return len(item)


@pytest.mark.parametrize(
    ("result", "seen"),
    [
        (ExecutionResult(), "(no output)"),
        (ExecutionResult(output="a\n"), "a"),
        (ExecutionResult(output="  indented\n  table\n"), "  indented\n  table"),
        (ExecutionResult(value=3, value_text="3"), "3"),
        (ExecutionResult(output="a\n", value=3, value_text="3"), "a"),
        (ExecutionResult(output="a" * 201), "a" * 201),
        (ExecutionResult(output=" \n", value=3, value_text="3"), " \n3"),
        (ExecutionResult(error="Trace\nOSError: no\n"), f"Trace\nOSError: no\n{CORRECT}"),
        (ExecutionResult(output="a", error="OSError: no"), f"a\nOSError: no\n{CORRECT}"),
        (ExecutionResult(artifacts=(PNG, PNG)), "(no output)\n[files: figure.png, figure.png]"),
        (ExecutionResult(output="a\n", artifacts=(PNG,)), "a\n[files: figure.png]"),
    ],
)
def test_what_the_model_sees_of_its_code(result: ExecutionResult, seen: str) -> None:
    assert observation(result).split() == seen.split()
    assert observation(result).startswith(seen.partition("\n")[0])


def test_only_a_short_result_may_be_the_answer() -> None:
    assert reminder(ExecutionResult(value=3, value_text="3")) == FINISH
    assert reminder(ExecutionResult(output="a" * 200)) == FINISH
    for result in (
        ExecutionResult(),
        ExecutionResult(output="a" * 201),
        ExecutionResult(output="a", error="OSError: no"),
    ):
        assert reminder(result) == ""


def test_the_prompt_names_tools_helpers_imports_and_time() -> None:
    text = describe_code_environment([Tool.from_function(stock)], ["math", "json"], 2.5)
    assert "\n- stock(item: str) -> int\n    Look up how many are left.\n" in text
    assert all(f"- {line}" in text for line in HELPERS.values())
    assert "You may import json, math.\nA block may run for 2.5 s." in text


def test_the_prompt_names_the_given_files() -> None:
    text = describe_code_environment([], None, None, ["sales.csv", "costs.csv"])
    assert "no files except those in the working folder: sales.csv, costs.csv." in text
    assert "open('sales.csv')" in text
    without = describe_code_environment([], None, None)
    assert "the working folder is empty." in without
    assert "open(" not in without


def test_the_example_is_made_of_the_first_tool() -> None:
    text = describe_code_environment([Tool.from_function(stock)], ["math"], 1)
    assert 'result = stock(item="...")' in text
    assert "open(" not in text
    assert text.index("Look up how many") < text.index("result = stock") < text.index("may import")


def test_without_tools_none_are_spoken_of() -> None:
    text = describe_code_environment([], ["math"], 1)
    assert "def " not in text
    assert "These functions" not in text
    assert "final_answer" in text


@pytest.mark.parametrize(
    ("imports", "message", "unsaid"),
    [
        (LOCAL_IMPORTS, "json, math, re, statistics", "numpy"),
        (ISOLATED_IMPORTS, "most of the standard library, ", "tqdm"),
        (ISOLATED_IMPORTS | {"numpy"}, "numpy", "no_such_module"),
        (ISOLATED_IMPORTS | {"no_such_module"}, "pandas", "no_such_module"),
        (ISOLATED_IMPORTS | {"tinyagent"}, "tinyagent", "tqdm"),
        ({"*"}, "any installed module", "numpy"),
    ],
)  # fmt: skip
def test_imports_are_named_in_a_line(imports: frozenset[str], message: str, unsaid: str) -> None:
    text = describe_code_environment([], imports, 1)
    (line,) = [line for line in text.splitlines() if line.startswith("You may import")]
    assert message in line
    assert unsaid not in line
