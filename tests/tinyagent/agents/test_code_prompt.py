from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from tests.support.coding import seconds

from tinyagent import Artifact, Sandbox, ScriptedModel, TinyCodeAgent, Tool, get_executor
from tinyagent.agents.code_observation import FINISH, observation, reminder
from tinyagent.agents.code_prompt import HELPERS, describe_code_environment
from tinyagent.core import ExecutionResult
from tinyagent.core.errors import ConfigurationError
from tinyagent.execution import Allow

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
    text = describe_code_environment([Tool.from_function(stock)], Sandbox(limits=seconds(2.5)))
    assert "\n- stock(item: str) -> int\n    Look up how many are left.\n" in text
    assert all(f"- {line}" in text for line in HELPERS.values())
    assert "You may import most of the standard library" in text
    assert (
        "\nA block may run for 2.5 s.\nThere is no network, and the working folder is empty."
        in text
    )


def test_the_prompt_names_the_given_files(tmp_path: Path) -> None:
    for name in ("sales.csv", "costs.csv"):
        (tmp_path / name).touch()
    files = Sandbox(files=[tmp_path / "sales.csv", tmp_path / "costs.csv"])
    text = describe_code_environment([], files)
    assert "no files except those in the working folder: sales.csv, costs.csv." in text
    assert "open('sales.csv')" in text
    without = describe_code_environment([], Sandbox())
    assert "the working folder is empty." in without
    assert "open(" not in without


def test_the_example_is_made_of_the_first_tool() -> None:
    text = describe_code_environment([Tool.from_function(stock)], Sandbox())
    assert 'result = stock(item="...")' in text
    assert "open(" not in text
    assert text.index("Look up how many") < text.index("result = stock") < text.index("may import")


def test_without_tools_none_are_spoken_of() -> None:
    text = describe_code_environment([], Sandbox())
    assert "def " not in text
    assert "These functions" not in text
    assert "final_answer" in text


@pytest.mark.parametrize(
    ("sandbox", "message", "unsaid"),
    [
        (Sandbox("local"), "json, math, re, statistics", "numpy"),
        (Sandbox(), "most of the standard library, ", "tqdm"),
        (Sandbox(imports="numpy"), "numpy", "no_such_module"),
        (Sandbox(imports="no_such_module"), "pandas", "no_such_module"),
        (Sandbox(imports="tinyagent"), "tinyagent", "tqdm"),
        (Sandbox(imports="*"), "any installed module", "numpy"),
    ],
)
def test_imports_are_named_in_a_line(sandbox: Sandbox, message: str, unsaid: str) -> None:
    text = describe_code_environment([], sandbox)
    (line,) = [line for line in text.splitlines() if line.startswith("You may import")]
    assert message in line
    assert unsaid not in line


def test_the_prompt_names_hosts_packages_and_the_workspace(tmp_path: Path) -> None:
    sandbox = Sandbox(network=["a.example.org", Allow("GET", "https://b.example.org/x")])
    text = describe_code_environment([], sandbox)
    assert "Only these hosts can be reached: a.example.org, GET https://b.example.org/x." in text
    assert "no network" not in text
    text = describe_code_environment([], Sandbox(packages=["polars>=1"], workspace=tmp_path))
    assert "and the modules of these packages: polars." in text
    assert "There is no network, and your working folder is a copy of the user's folder." in text
    assert "is empty" not in text


def test_the_sandbox_of_a_given_executor_is_described_and_its_imports_are_checked() -> None:
    executor = get_executor(Sandbox("local", limits=seconds(7)))
    agent = TinyCodeAgent(ScriptedModel([]), executor=executor)
    assert "A block may run for 7 s." in agent.environment()
    assert "json, math, re" in agent.environment()
    silent = TinyCodeAgent(ScriptedModel([]), executor=partial(get_executor, Sandbox()))
    assert "may import" not in silent.environment()
    described = TinyCodeAgent(
        ScriptedModel([]), executor=partial(get_executor, Sandbox()), sandbox=Sandbox("local")
    )
    assert "json, math, re" in described.environment()
    with pytest.raises(ConfigurationError, match="executor and sandbox are both given"):
        TinyCodeAgent(ScriptedModel([]), executor=executor, sandbox=Sandbox())
