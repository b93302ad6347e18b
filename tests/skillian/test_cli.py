from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from skillian.demo.ledger import write_demo
from tinyagent.testing import MockServer, Reply

COMMAND = Path(sys.executable).parent / "skillian"


def skillian(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SKILLIAN_", "OPENAI_"))}
    return subprocess.run(
        [COMMAND, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**clean, **environment},
        check=False,
        timeout=50,
    )


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo(tmp_path_factory.mktemp("demo"))


def test_the_demo_shows_question_call_table_and_answer(tmp_path: Path) -> None:
    done = skillian("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = done.stdout
    assert "Compare amounts between fi_reporting and bpc_reporting for company 1001" in shown
    assert "offline planner, no language model" in shown
    assert '→ compare_sources {"source_a": "fi_reporting", "source_b": "bpc_reporting"' in shown
    assert re.search(r"2024004 +major +192258\.87 +384517\.74 +192258\.87", shown)
    assert "exactly twice the" in shown
    assert list(tmp_path.iterdir()) == []


def test_the_demo_can_be_kept_and_gone_on_with(tmp_path: Path) -> None:
    assert skillian("demo", "--keep", "kept", cwd=tmp_path).returncode == 0
    done = skillian("sources", "list", "--sources", "kept/sources.yaml", cwd=tmp_path)
    assert done.returncode == 0
    assert "bpc_reporting" in done.stdout


def test_compare_says_by_its_exit_code_what_it_found(demo: Path, tmp_path: Path) -> None:
    compare = ("compare", "fi_reporting", "bpc_reporting", "--measure", "amount")
    at = {"SKILLIAN_SOURCES": str(demo)}
    assert skillian(*compare, cwd=tmp_path, **at).returncode == 1
    equal = skillian(*compare, "--where", "company=1002", cwd=tmp_path, **at)
    assert (equal.returncode, "No differences beyond the limits." in equal.stdout) == (0, True)
    minor = ("--where", "company=1001", "--where", "period=2024006")
    assert skillian(*compare, *minor, cwd=tmp_path, **at).returncode == 1
    assert skillian(*compare, *minor, "--fail-on", "major", cwd=tmp_path, **at).returncode == 0


def test_comparing_nothing_is_no_agreement(demo: Path, tmp_path: Path) -> None:
    done = skillian(
        *("compare", "fi_reporting", "bpc_reporting", "--measure", "amount"),
        *("--where", "company=typo", "--sources", str(demo)),
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert "No differences" not in done.stdout
    assert "nothing to compare" in done.stdout


def test_several_values_of_one_dimension_mean_any_of_them(demo: Path, tmp_path: Path) -> None:
    done = skillian(
        *("compare", "fi_reporting", "bpc_reporting", "--measure", "amount", "--by", "company"),
        *("--where", "company=1001", "--where", "company=1003", "--format", "json"),
        *("--sources", str(demo)),
        cwd=tmp_path,
    )
    assert json.loads(done.stdout)["summary"]["groups"] == 2


def test_the_demo_replaces_no_file_of_the_users(tmp_path: Path) -> None:
    mine = tmp_path / "sources.yaml"
    mine.write_text("connections: {}\n")
    done = skillian("demo", "--keep", ".", cwd=tmp_path)
    assert done.returncode == 2
    assert "sources.yaml" in done.stderr
    assert mine.read_text() == "connections: {}\n"
    blocked = skillian("demo", "--keep", "sources.yaml/x", cwd=tmp_path)
    assert blocked.returncode == 2
    assert "Traceback" not in blocked.stderr


def test_values_steer_neither_the_table_nor_the_terminal(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.execute("CREATE TABLE ta (k VARCHAR, v INTEGER)")
        connection.execute("CREATE TABLE tb (k VARCHAR, v INTEGER)")
        evil = ["\x1b]0;pwned\x07\x1b[31mX", "\\[/x]", "[red]a"]
        connection.executemany("INSERT INTO ta VALUES (?, 1)", [[value] for value in evil])
    source = (
        "connection: c, dimensions: {k: {column: k}}, measures: {v: {column: v, aggregation: sum}}"
    )
    (tmp_path / "sources.yaml").write_text(
        "connections: {c: 'duckdb:///t.duckdb'}\n"
        f"sources:\n  ta: {{table: ta, {source}}}\n  tb: {{table: tb, {source}}}\n"
        "comparison: {default_align_on: [k]}\n"
    )
    done = skillian("compare", "ta", "tb", "--measure", "v", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "\x1b" not in done.stdout
    assert "[red]a" in done.stdout
    assert "\\[/x]" in done.stdout


def test_compare_gives_json_with_amounts_as_text(demo: Path, tmp_path: Path) -> None:
    done = skillian(
        *("compare", "fi_reporting", "bpc_reporting", "--measure", "amount"),
        *("--by", "company", "--format", "json", "--sources", str(demo)),
        cwd=tmp_path,
    )
    data = json.loads(done.stdout)
    assert data["summary"]["groups"] == 3
    assert data["summary"]["measures"]["amount"]["total_a"] == "6586678.06"


def test_a_table_is_never_cut_at_the_edge_of_a_narrow_terminal(demo: Path, tmp_path: Path) -> None:
    done = skillian(
        *("compare", "fi_reporting", "bpc_reporting", "--measure", "amount"),
        *("--sources", str(demo)),
        cwd=tmp_path,
        COLUMNS="30",
    )
    assert "…" not in done.stdout
    assert "384517.74" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("compare", "fi_report", "bpc_reporting", "--measure", "amount"), "fi_reporting"),
        (("compare", "fi_reporting", "bpc_reporting", "--measure", "amounts"), "amount"),
        (("compare", "fi_reporting", "bpc_reporting", "--measure", "amount", "--where", "x"), "x"),
        (("compare", "fi_reporting"), "Missing argument"),
        (("ask", "hello", "--sources", "nowhere.yaml"), "nowhere.yaml"),
    ],
)
def test_a_mistake_is_answered_in_a_sentence(
    arguments: tuple[str, ...], said: str, demo: Path, tmp_path: Path
) -> None:
    done = skillian(*arguments, cwd=tmp_path, SKILLIAN_SOURCES=str(demo))
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_all_faults_of_a_sources_file_are_told_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "sources.yaml").write_text(
        "connections:\n"
        "  main: duckdb:///a.duckdb\n"
        "sources:\n"
        "  ledger:\n"
        "    connection: mian\n"
        "    table: t\n"
        "    dimensions:\n"
        "      company: {colum: c}\n"
        "    measures:\n"
        "      amount: {column: a, aggregation: summ}\n"
    )
    done = skillian("sources", "list", cwd=tmp_path)
    assert done.returncode == 2
    told = done.stderr.replace("\n", " ")
    for line, word in ((5, "mian"), (8, "colum"), (10, "summ")):
        assert re.search(rf"sources\.yaml:{line}:(?:(?!sources\.yaml).)*{word}", told), told
    assert "Traceback" not in told


def test_a_model_without_its_key_is_told_which_variable_to_set(demo: Path, tmp_path: Path) -> None:
    done = skillian(
        "ask", "hello", "--sources", str(demo), cwd=tmp_path, SKILLIAN_MODEL="openai:gpt-4.1"
    )
    assert done.returncode == 2
    assert "OPENAI_API_KEY" in done.stderr


async def test_ctrl_c_stops_a_question_in_the_middle(demo: Path, tmp_path: Path) -> None:
    asked = asyncio.Event()

    def note(_: dict[str, Any]) -> Reply:
        asked.set()
        return Reply(b"", ending="hang")

    pipe = asyncio.subprocess.PIPE
    async with MockServer(note) as server, asyncio.timeout(30):
        environment = {"SKILLIAN_MODEL": "openai:any", "OPENAI_BASE_URL": server.base_url}
        process = await asyncio.create_subprocess_exec(
            *(COMMAND, "ask", "hello", "--sources", demo),
            cwd=tmp_path,
            env={**os.environ, **environment},
            stdout=pipe,
            stderr=pipe,
        )
        await asked.wait()
        process.send_signal(signal.SIGINT)
        _, told = await process.communicate()
    assert process.returncode == 130
    assert b"Interrupted" in told
    assert b"Traceback" not in told
