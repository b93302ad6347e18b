"""What `import tinyagent`, an agent and `tinyagent --help` load.

How long that takes is measured by `benchmarks/start.py`: modules are counted here, as their number
depends on no machine.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADED = """
import sys
before = set(sys.modules)
{program}
print(*sorted(set(sys.modules) - before))
"""
HELP = """
import sys
from tinyagent.cli import app
try:
    app(["--help"], prog_name="tinyagent")
except SystemExit:
    print()
"""
# Loaded by an agent with its first tool or request, or by code agents only.
LATER = {"aiohttp", "pydantic", "griffe", "stamina", "ctypes", "hashlib", "difflib"}


def _loaded(program: str) -> set[str]:
    command = [sys.executable, "-c", LOADED.format(program=program)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(ran.stdout.splitlines()[-1].split())


def _roots(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names)


def test_importing_tinyagent_loads_nothing_of_it_yet() -> None:
    loaded = _loaded("import tinyagent")
    names = {name for name in loaded if name.startswith("tinyagent")}
    assert names == {"tinyagent", "tinyagent.core", "tinyagent.core.lazy"}
    assert _roots(loaded) == {"tinyagent"}
    assert not loaded & {"asyncio", "dataclasses", "inspect", "json", "logging", "re"} - _loaded(
        "import typing"
    )


@pytest.mark.parametrize("name", ["ReactAgent", "Tool", "OpenAIModel", "ScriptedModel"])
def test_a_name_loads_the_standard_library_and_tinyagent(name: str) -> None:
    loaded = _loaded(f"from tinyagent import {name}")
    assert _roots(loaded) == {"tinyagent"}
    assert not loaded & LATER


def test_an_agent_without_tools_loads_no_more_before_its_first_request() -> None:
    loaded = _loaded(
        "from tinyagent import ReactAgent, ScriptedModel\n"
        "ReactAgent(ScriptedModel(['3'])).run_sync('go')"
    )
    assert not loaded & LATER


def test_help_loads_what_prints_it() -> None:
    loaded = _loaded(HELP)
    assert "typer" in loaded
    assert "asyncio" not in loaded
    assert not loaded & LATER - {"difflib"}
    rooms = {name.split(".")[1] for name in loaded if name.startswith("tinyagent.")}
    assert rooms <= {"cli", "core", "execution", "options"}
    assert not loaded & {
        "tinyagent.core.types",
        "tinyagent.core.events",
        "tinyagent.execution.sandbox.executor",
    }


def test_the_check_sees_what_another_import_loads() -> None:
    assert "pydantic" in _roots(_loaded("import pydantic"))
