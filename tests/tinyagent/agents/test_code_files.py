"""Files that the code reads, and what it makes of them; executors that the caller gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.coding import (
    block,
    coder,
    each_level,
    each_process_level,
    observed,
    seconds,
)

from tinyagent import (
    ConfigurationError,
    Sandbox,
    SandboxUnavailable,
    ScriptedModel,
    TinyCodeAgent,
    TrustLevel,
    get_executor,
)
from tinyagent.core import ExecutionResult
from tinyagent.execution import ProcessExecutor
from tinyagent.execution.protocol import OnOutput, OnRequest

SALES = "month,amount\n2026-01,120\n2026-02,80\n2026-03,190\n"
SUM_UP = """
    import csv
    with open('sales.csv', newline='') as file:
        rows = list(csv.DictReader(file))
    print(len(rows))
    with open('sum.txt', 'w') as file:
        file.write(str(sum(int(row['amount']) for row in rows)))
"""
PLOT = """
    import matplotlib.pyplot as plt
    plt.plot([1, 2, 3], [120, 80, 190])
    plt.title('Sales')
"""


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    path = tmp_path / "sales.csv"
    path.write_text(SALES)
    return path


@each_process_level
async def test_files_are_read_and_what_is_written_comes_back(
    level: TrustLevel, sales: Path, tmp_path: Path
) -> None:
    model = coder(SUM_UP, "final_answer(int(open('sum.txt').read()))")
    agent = TinyCodeAgent(model, output_type=int, sandbox=Sandbox(level=level, files=[sales]))
    result = await agent.run("go")
    assert result.output == 390
    assert observed(model) == "3\n[files: sum.txt]"
    assert [(artifact.name, artifact.data) for artifact in result.artifacts] == [
        ("sum.txt", b"390")
    ]
    assert result.artifacts[0].save(tmp_path).read_text() == "390"


@each_process_level
@pytest.mark.timeout(120)
async def test_a_plot_is_returned(level: TrustLevel, tmp_path: Path) -> None:
    agent = TinyCodeAgent(coder(PLOT, "final_answer('drawn')"), sandbox=Sandbox(level=level))
    result = await agent.run("go")
    assert result.output == "drawn"
    (figure,) = result.artifacts
    assert figure.media_type == "image/png"
    assert figure.name.endswith(".png")
    assert figure.save(tmp_path).read_bytes().startswith(b"\x89PNG\r\n")


async def test_a_plot_of_the_last_block_is_returned_too() -> None:
    result = await TinyCodeAgent(coder(f"{PLOT}\n    final_answer('drawn')")).run("go")
    assert [artifact.media_type for artifact in result.artifacts] == ["image/png"]


async def test_each_run_has_its_own_folder(sales: Path) -> None:
    model = coder(
        "open('sales.csv', 'a').write('x')\nfinal_answer(1)",
        "import os\nfinal_answer([sorted(os.listdir()), open('sales.csv').read()])",
    )
    agent = TinyCodeAgent(model, output_type=list[Any], sandbox=Sandbox(files=[sales]))
    await TinyCodeAgent(model, sandbox=Sandbox(files=[sales])).run("one")
    assert (await agent.run("two")).output == [["sales.csv"], SALES]


async def test_a_data_frame_is_an_answer(sales: Path) -> None:
    model = coder(
        "import pandas\namounts = pandas.read_csv('sales.csv').amount",
        "final_answer(amounts.agg(['sum', 'max']).to_dict())",
    )
    result = await TinyCodeAgent(
        model, output_type=dict[str, int], sandbox=Sandbox(files=[sales])
    ).run("go")
    assert result.output == {"sum": 390, "max": 190}


@each_level
async def test_what_c_imports_for_itself_is_not_an_import_of_the_code(level: TrustLevel) -> None:
    model = coder(
        "from datetime import datetime\nday = datetime.strptime('2024-02-29', '%Y-%m-%d')",
        "import time\nfinal_answer([day.month, time.strptime('12:30', '%H:%M').tm_hour])",
    )
    agent = TinyCodeAgent(model, output_type=list, sandbox=Sandbox(level=level))
    assert (await agent.run("go")).output == [2, 12]


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no file .*missing\.csv"):
        TinyCodeAgent(coder("1"), sandbox=Sandbox(files=[tmp_path / "missing.csv"]))


def test_an_unknown_trust_level_is_reported() -> None:
    with pytest.raises(ConfigurationError, match="safe"):
        TinyCodeAgent(coder("1"), sandbox=Sandbox(level="safe"))


@each_level
async def test_an_executor_that_is_given_serves_one_run_after_the_other(level: TrustLevel) -> None:
    executor = get_executor(Sandbox(level, limits=seconds(20)))
    model = coder("x = 1", "final_answer(x)", "final_answer(x)", "final_answer('second')")
    async with executor:
        agent = TinyCodeAgent(model, executor=executor)
        assert (await agent.run("one")).output == "1"
        assert (await agent.run("two")).output == "second"
        assert "name 'x' is not defined" in observed(model)
        assert (await executor.run("1 + 1")).value == 2  # not closed by the agent


@each_level
async def test_a_function_makes_an_executor_for_each_run(level: TrustLevel) -> None:
    made: list[Any] = []

    def make() -> Any:
        made.append(get_executor(Sandbox(level, limits=seconds(20))))
        return made[-1]

    model = ScriptedModel(lambda _: block("final_answer('ok')"))
    agent = TinyCodeAgent(model, executor=make)
    assert not made
    for _ in range(2):
        assert (await agent.run("go")).output == "ok"
    assert len(made) == 2


class Engine(ProcessExecutor):
    """One that this machine does not have."""

    async def run(
        self, code: str, *, on_output: OnOutput = None, on_request: OnRequest = None
    ) -> ExecutionResult:
        del code, on_output, on_request
        raise SandboxUnavailable("nothing here can run code at sandboxed: install bubblewrap")


async def test_a_sandbox_that_is_not_there_ends_the_run_and_is_reported() -> None:
    agent = TinyCodeAgent(coder("1"), executor=Engine)
    result = await agent.run("go", return_result=True)
    assert result.state == "error"
    with pytest.raises(SandboxUnavailable, match="install bubblewrap"):
        await TinyCodeAgent(coder("1"), executor=Engine).run("go")
