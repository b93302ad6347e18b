"""`run_python` as a model calls it: the session's last comparison, in a real sandbox."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from skillian.chat.agent import Agent
from skillian.chat.opening import load_skills
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.demo.ledger import write_demo
from skillian.skills.registry import SkillRegistry
from skillian.skills.skill import in_session
from tinyagent import ScriptedModel, scripted_call

BOTH: dict[str, Any] = {
    "source_a": "fi_reporting",
    "source_b": "bpc_reporting",
    "measures": ["amount"],
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_demo(tmp_path_factory.mktemp("demo"))
    text = path.read_text(encoding="utf-8")
    hidden = text.replace("    table: fi_ledger\n", "    table: fi_ledger\n    values: hidden\n")
    path.with_name("hidden.yaml").write_text(hidden, encoding="utf-8")
    return path


async def _opened(path: Path) -> AsyncGenerator[SkillRegistry, None]:
    async with DataServices(SourceRegistry.load(path)) as services:
        registry = load_skills(services)
        yield registry
        await registry.aclose()


@pytest.fixture
async def skills(sources: Path) -> AsyncGenerator[SkillRegistry, None]:
    async for each in _opened(sources):
        yield each


@pytest.fixture
async def hidden(sources: Path) -> AsyncGenerator[SkillRegistry, None]:
    async for each in _opened(sources.with_name("hidden.yaml")):
        yield each


async def call(skills: SkillRegistry, tool: str, session: str = "s", **given: Any) -> Any:
    with in_session(session):
        result = await skills.get_tool(tool).aexecute(**given)
    return json.loads(json.dumps(result, allow_nan=False))


async def test_the_last_comparison_is_there_with_exact_numbers(skills: SkillRegistry) -> None:
    made = await call(skills, "compare_sources", **BOTH)
    code = (
        "net = sum(g for g in comparison.amount_gap)\n"
        "print(net, summary['groups'], summary['groups_that_differ'])\n"
        "comparison[['company', 'period', 'amount_a']].head(1)"
    )
    result = await call(skills, "run_python", code=code)
    first = made["top_differences"][0]
    assert result["code_error"] is None
    assert result["tables"][0]["rows"] == [[*first["key"].values(), first["a"]]]
    by_status = made["summary"]["by_status"]
    differ = made["summary"]["groups"] - by_status["match"]
    net, groups, differing = result["output"].split()
    assert (groups, differing) == (str(made["summary"]["groups"]), str(differ))
    # All but what is off by a cent, which is a match.
    assert net == "-140305.78"
    assert result["comparison"] == made["cache_key"]


async def test_a_turn_of_an_agent_goes_from_comparison_to_code(skills: SkillRegistry) -> None:
    model = ScriptedModel(
        [
            scripted_call("compare_sources", **BOTH),
            scripted_call("run_python", code="kept = len(comparison)"),
            scripted_call("run_python", code="kept"),
            "Done.",
        ]
    )
    response, _ = await Agent(model, skills).process("How many groups differ?")
    assert response.finished
    assert json.loads(response.tool_calls_made[-1].result)["value"] == "6"


async def test_a_later_comparison_takes_its_place_and_variables_stay(skills: SkillRegistry) -> None:
    await call(skills, "compare_sources", **BOTH)
    await call(skills, "run_python", code="before = len(comparison)")
    await call(skills, "compare_sources", **BOTH, filters={"company": "1003"})
    result = await call(skills, "run_python", code="before, len(comparison)")
    assert result["value"] == "(6, 1)"


async def test_what_the_code_makes_of_the_comparison_stays_too(skills: SkillRegistry) -> None:
    await call(skills, "compare_sources", **BOTH)
    await call(skills, "run_python", code="comparison = comparison.head(2)")
    assert (await call(skills, "run_python", code="len(comparison)"))["value"] == "2"


async def test_sessions_do_not_see_each_other(skills: SkillRegistry) -> None:
    made = await call(skills, "compare_sources", session="one", **BOTH)
    await call(skills, "run_python", session="one", code="secret = 1")
    for name in ("comparison", "secret"):
        result = await call(skills, "run_python", session="two", code=name)
        assert "NameError" in result["code_error"]
    named = await call(
        skills, "run_python", session="two", code="len(comparison)", cache_key=made["cache_key"]
    )
    assert named["value"] == "6"


async def test_outside_of_sessions_the_comparison_is_named(skills: SkillRegistry) -> None:
    made = await call(skills, "compare_sources", session="", **BOTH)
    alone = await call(skills, "run_python", session="", code="comparison")
    assert "NameError" in alone["code_error"]
    named = await call(
        skills, "run_python", session="", code="len(comparison)", cache_key=made["cache_key"]
    )
    assert named["value"] == "6"


async def test_a_plot_comes_back_by_its_id(skills: SkillRegistry) -> None:
    await call(skills, "compare_sources", **BOTH)
    code = (
        "import matplotlib.pyplot as plt\n"
        "plt.bar(comparison.period, comparison.amount_gap.astype(float))\n"
        "None"
    )
    result = await call(skills, "run_python", code=code)
    assert result["code_error"] is None
    (plot,) = result["artifacts"]
    found = skills.find_artifact(plot["id"])
    assert found is not None
    assert found.data.startswith(b"\x89PNG")
    assert (plot["media_type"], plot["bytes"]) == ("image/png", len(found.data))
    assert skills.find_artifact("other") is None


@pytest.mark.parametrize(
    "code", ["1/0", "def", "import socket; socket.create_connection(('127.0.0.1', 9))"]
)
async def test_what_the_code_does_wrong_is_its_result(skills: SkillRegistry, code: str) -> None:
    result = await call(skills, "run_python", code=code)
    assert result["code_error"]
    assert "error" not in result


async def test_the_code_reads_no_file_of_the_host(skills: SkillRegistry, sources: Path) -> None:
    result = await call(skills, "run_python", code=f"open({str(sources)!r}).read()")
    assert result["code_error"]
    assert "connections" not in json.dumps(result)


async def test_an_unknown_comparison_and_wrong_arguments(skills: SkillRegistry) -> None:
    unknown = await call(skills, "run_python", code="1", cache_key="gone")
    assert (unknown["error"], unknown["type"]) == (True, "validation_error")
    for given in ({}, {"code": ""}, {"code": "1", "timeout": 9}, {"code": "x" * 20_001}):
        assert (await call(skills, "run_python", **given))["type"] == "validation_error"


async def test_hidden_values_do_not_reach_the_code(hidden: SkillRegistry) -> None:
    await call(hidden, "compare_sources", **BOTH)
    result = await call(hidden, "run_python", code="comparison")
    assert (result["error"], result["type"]) == (True, "runtime_error")
    assert "hidden" in result["message"]


async def test_without_pandas_it_says_what_to_install(
    skills: SkillRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "skillian.bundled.run_python.find_spec",
        lambda name: None if name == "pandas" else find(name),
    )
    result = await call(skills, "run_python", code="1")
    assert result["error"] is True
    assert "pip install '.[python]'" in result["message"]
