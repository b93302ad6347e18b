"""`run_python` as a model calls it: the session's last comparison, in a real sandbox."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import AsyncGenerator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from skillian.chat.agent import Agent
from skillian.data.declare.sources import SourceRegistry
from skillian.data.for_code import exact, group_frame
from skillian.data.services import DataServices
from skillian.demo.ledger import write_demo
from skillian.skills.discovery import load_registry
from skillian.skills.registry import SkillRegistry
from skillian.skills.skill import in_session
from tinyagent import Sandbox, ScriptedModel, scripted_call
from tinyagent.execution import ProcessExecutor

HUGE = 2**60 + 1
LONG = Decimal("12345678901234567890.1234567891")
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
        registry = load_registry(services)
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


async def test_the_code_has_the_last_comparison_with_exact_numbers(skills: SkillRegistry) -> None:
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


async def test_an_agent_compares_and_then_runs_code(skills: SkillRegistry) -> None:
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


async def test_a_later_comparison_replaces_it_and_variables_stay(skills: SkillRegistry) -> None:
    await call(skills, "compare_sources", **BOTH)
    await call(skills, "run_python", code="before = len(comparison)")
    await call(skills, "compare_sources", **BOTH, filters={"company": "1003"})
    result = await call(skills, "run_python", code="before, len(comparison)")
    assert result["value"] == "(6, 1)"


async def test_changes_of_the_data_frame_stay(skills: SkillRegistry) -> None:
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


async def test_without_a_session_the_call_names_the_comparison(skills: SkillRegistry) -> None:
    made = await call(skills, "compare_sources", session="", **BOTH)
    alone = await call(skills, "run_python", session="", code="comparison")
    assert "NameError" in alone["code_error"]
    named = await call(
        skills, "run_python", session="", code="len(comparison)", cache_key=made["cache_key"]
    )
    assert named["value"] == "6"


async def test_a_plot_is_available_by_its_id(skills: SkillRegistry) -> None:
    await call(skills, "compare_sources", **BOTH)
    code = (
        "import matplotlib.pyplot as plt\n"
        "plt.bar(comparison.period, comparison.amount_gap.astype(float))\n"
        "None"
    )
    result = await call(skills, "run_python", code=code)
    assert result["code_error"] is None
    (plot,) = result["artifacts"]
    artifact = skills.find_artifact(plot["id"])
    assert artifact is not None
    assert artifact.data.startswith(b"\x89PNG")
    assert (plot["media_type"], plot["bytes"]) == ("image/png", len(artifact.data))
    assert skills.find_artifact("other") is None


@pytest.mark.parametrize(
    "code", ["1/0", "def", "import socket; socket.create_connection(('127.0.0.1', 9))"]
)
async def test_errors_of_the_code_are_part_of_the_result(skills: SkillRegistry, code: str) -> None:
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


async def test_without_pandas_the_error_says_what_to_install(
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


def groups(ids: list[int | None], days: list[date | None], a: Any, b: Any, words: Any) -> Any:
    """Return groups as the rows of a file of one measure."""
    amounts = [pa.array(values, pa.decimal128(38, 10)) for values in (a, b, b, b)]
    rows = [pa.array([number] * len(ids), pa.int64()) for number in (1, 2)]
    texts = pa.array(words, pa.string())
    arrays = [pa.array(ids, pa.int64()), pa.array(days, pa.date32()), texts, *rows, *amounts, texts]
    file = pa.table(arrays, names=[str(number) for number in range(len(arrays))])
    return group_frame(("id", "day"), ("amount",), exact(file))


async def test_decimals_and_large_integers_arrive_exactly() -> None:
    frame = groups(
        [HUGE, None],
        [date(2024, 1, 2), None],
        [LONG, None],
        [Decimal("-0.10"), Decimal(HUGE)],
        ["major", "only in b"],
    )
    async with ProcessExecutor(Sandbox(imports=["pandas"])) as executor:
        executor.inject("comparison", frame)
        result = await executor.run(
            "[str(v) for v in [*comparison.id, *comparison.day, *comparison.amount_a,"
            " *comparison.amount_absolute_diff, *comparison.status, *comparison.rows_b]]"
        )
    assert result.error is None
    assert result.value == [
        *(str(HUGE), "None", "2024-01-02", "None", str(LONG), "None"),
        *("0.1000000000", f"{HUGE}.0000000000", "major_diff", "missing_in_a", "2", "2"),
    ]


async def test_no_groups_are_an_empty_frame() -> None:
    async with ProcessExecutor(Sandbox(imports=["pandas"])) as executor:
        executor.inject("comparison", groups([], [], [], [], []))
        result = await executor.run("len(comparison), list(comparison.columns)[:7]")
    assert result.error is None
    names = ["id", "day", "status", "rows_a", "rows_b", "amount_a", "amount_b"]
    assert result.value == (0, names)
