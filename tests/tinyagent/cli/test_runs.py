"""`tinyagent worker` and `tinyagent runs` as a user has them: processes, a file, no key."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest
from tests.support.waits import until
from typer.testing import CliRunner, Result

from tinyagent.cli import app
from tinyagent.cli.worker import load_agents
from tinyagent.core.errors import ConfigurationError
from tinyagent.durable import RunRecord
from tinyagent.durable.states import Question
from tinyagent.durable.store import RunStore

COMMAND = Path(sys.executable).with_name("tinyagent")
SHOP = """
from tinyagent import ReactAgent, ScriptedModel, scripted_call, tool

@tool(requires_approval=True)
def refund(order: int) -> str:
    "Give the money of an order back."
    with open("refunds", "a") as file:
        file.write(f"{order}\\n")
    return f"order {order} is refunded"

def answer(request):
    last = request.messages[-1]
    if last.role == "tool":
        return f"Done: {last.content}"
    return scripted_call("refund", order=7) if "refund" in last.content else "Hello!"

clerk = ReactAgent(ScriptedModel(answer), [refund])
agents = {"clerk": clerk}
broken = {"clerk": 1}
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    monkeypatch.chdir(tmp_path)


@contextmanager
def worker(*options: str) -> Generator[subprocess.Popen[str]]:
    command = [str(COMMAND), "worker", "shop:agents", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def runs(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["runs", *arguments])


def shown(run_id: str) -> Any:
    return json.loads(runs("show", run_id, "--json").stdout)


@pytest.mark.timeout(180)
def test_a_run_waits_for_approval_and_continues_in_another_worker() -> None:
    started = runs("start", "clerk", "refund order 7", "--id", "r1")
    assert (started.exit_code, started.stdout) == (0, "r1\n")
    with worker() as first:
        until(lambda: shown("r1")["state"] == "waiting")
        first.send_signal(signal.SIGTERM)
        _, errors = first.communicate(timeout=60)
        assert first.returncode == 0
        assert "Taking runs of clerk from default; Ctrl-C stops." in errors
        assert "Traceback" not in errors
    output = runs("show", "r1")
    assert 'approval: refund {"order": 7}' in output.stderr
    assert "tinyagent runs approve r1" in output.stderr
    assert runs("approve", "r1").stderr == "run r1 is queued\n"
    with worker():
        until(lambda: shown("r1")["state"] == "completed")
    assert shown("r1")["output"] == "Done: order 7 is refunded"
    assert Path("refunds").read_text() == "7\n"
    listed = runs("list", "--state", "completed")
    assert "r1" in listed.stdout
    assert "refund order 7" in listed.stdout
    assert runs("list", "--state", "waiting", "--json").stdout == "[]\n"


@pytest.mark.timeout(180)
def test_start_and_wait_prints_the_answer() -> None:
    with worker("--per-worker", "2", "--rate", "50/m", "--queue", "fast"):
        output = runs("start", "clerk", "hello", "--queue", "fast", "--wait")
    assert (output.exit_code, output.stdout) == (0, "Hello!\n")


@pytest.mark.timeout(120)
def test_a_run_is_cancelled_and_resumed() -> None:
    runs("start", "clerk", "hello", "--id", "r1")
    assert runs("cancel", "r1").stderr == "run r1 is cancelled\n"
    assert runs("resume", "r1").stderr == "run r1 is queued\n"


def test_a_list_fits_80_columns_and_names_runs_so_that_the_commands_find_them() -> None:
    task = "a task in many words, of which a terminal can only show the first few"
    chosen = "report of 2026-11, 2nd try"
    ids = [runs("start", "clerk-of-the-shop", task).stdout.strip() for _ in range(2)]
    ids.append(runs("start", "clerk-of-the-shop", task, "--id", chosen).stdout.strip())
    lines = runs("list").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert all("queued" in line for line in lines[1:])
    rows = [line.partition("  ")[0].rstrip() for line in lines[1:]]
    short = sorted(rows, key=lambda row: [run_id.startswith(row) for run_id in ids], reverse=True)
    assert [shown(row)["run_id"] for row in short] == ids
    assert len(short[0]) == 8
    assert runs("cancel", short[0]).stderr == f"run {ids[0]} is cancelled\n"


def test_a_beginning_of_several_ids_is_refused_and_names_them() -> None:
    for run_id in ("night-1", "night-10", "night-2"):
        runs("start", "clerk", "hello", "--id", run_id)
    for command in ("show", "cancel", "approve", "resume"):
        output = runs(command, "night")
        assert output.exit_code == 2
        assert "3 runs begin with 'night'" in output.stderr
        assert "night-10" in output.stderr
    assert shown("night-1")["run_id"] == "night-1"
    assert shown("night-10")["run_id"] == "night-10"
    assert runs("show", "Night-2").exit_code == 2
    assert runs("show", "night%").exit_code == 2


def test_a_run_with_a_call_in_doubt_shows_its_ways_quoted_for_a_shell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs("start", "clerk", "hello", "--id", "my run?")
    now = datetime.now(UTC)
    doubt = Question("2 refund", "in_doubt", "refund", {"order": 7}, now)
    record = RunRecord("my run?", "clerk", "", "needs_decision", now, now, questions=(doubt,))
    monkeypatch.setattr(RunStore, "get", AsyncMock(return_value=record))
    output = runs("resume", "my")
    assert output.exit_code == 2
    assert "error: run 'my run?' waits for an answer" in output.stderr
    commands = [line.split("#")[0] for line in output.stderr.splitlines() if "tinyagent" in line]
    start = ["tinyagent", "runs", "resume", "my run?"]
    assert [shlex.split(command) for command in commands] == [
        [*start, way, "--call", "2 refund"] for way in ("--retry", "--skip", "--abort")
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["list"], "the file 'tinyagent-runs.sqlite' does not exist"),
        (["show", "r9", "--database", "mysql://here/x"], "must be a URL of SQLite or PostgreSQL"),
        (["resume", "r9", "--retry", "--skip"], "exclude each other"),
    ],
    ids=["no file", "another database", "two decisions"],
)
def test_an_error_is_one_line(arguments: list[str], message: str) -> None:
    output = runs(*arguments)
    assert output.exit_code == 2
    assert message in " ".join(output.stderr.replace("│", "").split())
    assert not Path("tinyagent-runs.sqlite").exists()


def test_unknown_names_are_reported() -> None:
    runs("start", "clerk", "hello", "--id", "r1")
    for arguments in (["show", "r9"], ["cancel", "r9"], ["approve", "r9"], ["resume", "r9"]):
        output = runs(*arguments)
        assert (output.exit_code, output.stderr) == (2, "error: there is no run 'r9'\n")
    output = runs("approve", "r1")
    assert output.exit_code == 2
    assert output.stderr.startswith("error: run 'r1'")
    assert (
        "--state 'odd' is unknown; the states are: queued, running"
        in runs("list", "--state", "odd").stderr
    )


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("shop:nothing", "cannot be loaded"),
        ("nowhere:agents", "cannot be loaded"),
        ("shop:broken", "has no agent at 'clerk'"),
        ("shop:SHOP_EMPTY", "cannot be loaded"),
    ],
)
def test_an_object_that_is_not_an_agent_is_reported(reference: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        load_agents(reference)


def test_a_single_agent_has_its_variables_name() -> None:
    assert list(load_agents("shop:clerk")) == ["clerk"]
