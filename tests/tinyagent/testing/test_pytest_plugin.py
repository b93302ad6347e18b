from __future__ import annotations

import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]

PROGRAM = """
from tinyagent import ReactAgent, ScriptedModel

def test_it_answers(recorded_model):
    model = recorded_model(ScriptedModel(["Red."], name="colours"))
    assert ReactAgent(model).run_sync({task!r}).output == "Red."
"""


def _run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess("-p", "no:randomly", *arguments)


def test_a_model_is_recorded_once_and_replayed(pytester: pytest.Pytester) -> None:
    test = pytester.makepyfile(PROGRAM.format(task="A colour?"))
    _run(pytester, "--record-models").assert_outcomes(passed=1)
    assert (pytester.path / "recordings" / "test_it_answers.json").is_file()
    _run(pytester).assert_outcomes(passed=1)

    test.write_text(PROGRAM.format(task="Another colour?"))
    drifted = _run(pytester)
    drifted.assert_outcomes(failed=1)
    drifted.stdout.fnmatch_lines(["*-*A colour?*", "*+*Another colour?*"])


def test_without_a_recording_the_test_fails_and_says_why(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PROGRAM.format(task="A colour?"))
    missing = _run(pytester)
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(["*test_it_answers.json*"])


def test_the_plugin_loads_no_server_until_one_is_used() -> None:
    program = (
        "import sys, tinyagent.testing.pytest_plugin as _; import tinyagent.testing as testing\n"
        "print([name for name in sys.modules if name.startswith('tinyagent.testing.')])\n"
        "print([name for name in testing.__all__ if not hasattr(testing, name)])"
    )
    command = [sys.executable, "-c", program]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert output.splitlines() == ["['tinyagent.testing.pytest_plugin']", "[]"]
