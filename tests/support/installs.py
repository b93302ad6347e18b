"""Tries every way to install, each in a fresh environment: `make test-install`.

A wheel and an sdist are built; each extra is installed alone, without any, and all together. Some
drivers demand other versions than `constraints.txt` has: they are installed alone, without it.
Three things are tried of each: imports, `--help` of both commands, and the smallest use. Extras
that only skillian uses are tried a second time with the extra `skillian`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
AGENT = """
from tinyagent import ReactAgent, ScriptedModel
assert str(ReactAgent(ScriptedModel(["Hello."]), []).run_sync("hi")) == "Hello."
"""
DRIVER = """
import subprocess, sys
from pathlib import Path
Path("sources.yaml").write_text(
    "connections: {{c: '{url}'}}\\n"
    "sources: {{s: {{connection: c, table: t, dimensions: {{k: {{column: k}}}},"
    " measures: {{v: {{column: v, aggregation: sum}}}}}}}}\\n"
)
done = subprocess.run(
    [Path(sys.executable).with_name("skillian"), "sources", "list"], capture_output=True, text=True
)
assert done.returncode == 2 and "installed" not in done.stderr, done.stderr
"""
SERVE = """
import re, signal, subprocess, sys, urllib.request
from pathlib import Path
skillian = Path(sys.executable).with_name("skillian")
subprocess.run([skillian, "demo", "--keep", "d"], check=True, stdout=subprocess.DEVNULL)
command = [skillian, "serve", "--port", "0", "--sources", "d/sources.yaml"]
with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
    url = re.search("http://\\\\S+", server.stderr.readline())[0]
    assert urllib.request.urlopen(url + "{path}").status == 200
    server.send_signal(signal.SIGINT)
    server.communicate(timeout=60)
"""
DEMO = 'import os, sys; os.execl(sys.executable[:-6] + "skillian", "skillian", "demo")'
# What each extra is for, as the smallest program that needs it.
USES = {
    "": AGENT,
    "anthropic": """
from anthropic import AsyncAnthropic
from tinyagent import AnthropicModel

AnthropicModel("claude-sonnet-5", client=AsyncAnthropic(api_key="k"))
""",
    "durable": """
from tinyagent import ReactAgent, ScriptedModel
import asyncio
from tinyagent.durable import DurableRuns

async def main():
    async with DurableRuns("sqlite:///runs.sqlite") as runs:
        assert await runs.start("clerk", "hello", run_id="r1") == "r1"
        assert [run.run_id for run in await runs.list()] == ["r1"]

asyncio.run(main())
""",
    "mcp": """
import asyncio
from mcp.server import MCPServer
from tinyagent.mcp import mcp_tools

server = MCPServer("weather")

async def main():
    async with mcp_tools(server) as tools:
        assert list(tools) == []

asyncio.run(main())
""",
    "network": """
from tinyagent.execution import ProcessExecutor, Sandbox
ProcessExecutor(Sandbox(network=["api.example.com"]))
""",
    "openai": """
import openai
from tinyagent import OpenAIModel
OpenAIModel("any", client=openai.AsyncOpenAI(api_key="none"))
""",
    "otel": "from tinyagent import Tracing; Tracing()",
    "packages": """
from tinyagent.execution import ProcessExecutor, Sandbox
ProcessExecutor(Sandbox(packages=["polars"]))
""",
    "prices": """
from tinyagent import ReactAgent, ScriptedModel, Usage
from tinyagent.core import ModelResponse
reply = ModelResponse("Hello.", usage=Usage(1, 1000, 10), model="gpt-4.1", provider="openai")
assert ReactAgent(ScriptedModel([reply]), []).run_sync("hi").cost.usd > 0
""",
    "python": """
import asyncio
from tinyagent import Sandbox, get_executor

async def main():
    async with get_executor(Sandbox(imports=["pandas"])) as executor:
        result = await executor.run("import pandas\\nint(pandas.Series([1, 2]).sum())")
        assert result.value == 3, result.error

asyncio.run(main())
""",
    "bigquery": "import google.cloud.bigquery.dbapi",
    "clickhouse": "import clickhouse_connect",
    "databricks": "import databricks.sql",
    "mysql": "import pymysql",
    "oracle": "import oracledb",
    "postgres": "import psycopg",
    "service": "import fastapi, uvicorn, mcp, sqlalchemy",
    "skillian": DEMO,
    "snowflake": "import snowflake.connector",
    "spark": "import pyspark.sql.connect.client",
    "sqlserver": "import mssql_python",
    "web": "import nicegui",
    "clickhouse,skillian": DRIVER.format(url="clickhouse://u:p@127.0.0.1:9/db"),
    "mysql,skillian": DRIVER.format(url="mysql://u:p@127.0.0.1:9/db"),
    "postgres,skillian": DRIVER.format(url="postgresql://u:p@127.0.0.1:9/db"),
    "service,skillian": SERVE.replace("{path}", "/health"),
    "service,skillian,web": SERVE.replace("{path}", "/"),
    "skillian,spark": "import skillian.connectors.spark.connect",
}

UNCONSTRAINED = frozenset({"bigquery", "databricks", "snowflake"})


class Row(NamedTuple):
    """One way to install, and what happened."""

    way: str
    imported: str
    helped: str
    used: str

    @property
    def is_good(self) -> bool:
        """Whether all three went well."""
        return all(each == "ok" for each in self[1:])


def main() -> int:
    """Try all ways, print the table; 0 if all went well."""
    with tempfile.TemporaryDirectory(prefix="tinyagent-installs-") as name:
        folder = Path(name)
        wheel, sdist = build(folder)
        missing = left_out(sdist)
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        extras = sorted(project["optional-dependencies"])
        pairs = [use for use in USES if "," in use]
        every = ",".join(extra for extra in extras if extra not in UNCONSTRAINED)
        ways = [("wheel", wheel, each) for each in ("", *extras, *pairs, every)]
        ways += [("sdist", sdist, each) for each in ("", "skillian")]
        chosen = sys.argv[1:]
        rows: list[Row] = []
        for kind, file, extra in ways:
            if chosen and extra not in chosen:
                continue
            sys.stderr.write(f"{kind} [{extra}] ...\n")
            rows.append(attempt(folder / "environment", kind, file, extra))
            sys.stderr.write(f"  {rows[-1]}\n")
    show(rows)
    held = f"lacks {missing}" if missing else "holds every file of the repository"
    sys.stdout.write(f"sdist: {held}\n")
    return int(bool(missing) or not all(row.is_good for row in rows))


def build(folder: Path) -> tuple[Path, Path]:
    """Build the wheel, and the sdist; a second wheel is made from the sdist when it is tried."""
    python = environment(folder / "builder")
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    succeed(python, "-m", "pip", "install", "-q", *needed["requires"])
    succeed(python, "-m", "hatchling", "build", "-d", str(folder / "dist"), folder=ROOT)
    (wheel,) = (folder / "dist").glob("*.whl")
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    return wheel, sdist


def left_out(sdist: Path) -> list[str]:
    """The files of the repository that are not in the sdist; none where git is not there."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        return []
    listed = run(git, "ls-files", folder=ROOT).stdout.split("\n")
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    return sorted(name for name in listed if name and name not in held)


def attempt(folder: Path, kind: str, file: Path, extra: str) -> Row:
    """Install one way, and try the three."""
    shutil.rmtree(folder, ignore_errors=True)
    python = environment(folder)
    way = f"{kind} [{extra or 'none'}]" if not extra or extra in USES else f"{kind} [all]"
    wanted = f"{file}[{extra}]" if extra else str(file)
    constraints = () if extra in UNCONSTRAINED else ("-c", str(ROOT / "constraints.txt"))
    done = run(python, "-m", "pip", "install", "-q", *constraints, wanted)
    if done.returncode:
        return Row(way, f"not installed: {last(done)}", "-", "-")
    here = folder / "here"
    here.mkdir()
    bare = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "HOME": str(here), "ANTHROPIC_API_KEY": "k"}
    parts = "tinyagent, skillian, tinyagent.cli, skillian.cli"
    imported = run(python, "-c", f"import {parts}", folder=here, env=bare)
    return Row(
        way, report(imported), helped(folder, here, bare, extra), used(python, here, bare, extra)
    )


def helped(folder: Path, here: Path, env: dict[str, str], extra: str) -> str:
    """Whether both commands answer, and skillian says what it lacks where its extra is missing."""
    for command in ("tinyagent", "skillian"):
        for option in ("--help", "--version"):
            done = run(str(folder / "bin" / command), option, folder=here, env=env)
            if done.returncode:
                return f"{command} {option}: {report(done)}"
    if "skillian" in extra:
        return "ok"
    done = run(str(folder / "bin" / "skillian"), "skills", "list", folder=here, env=env)
    wanted = r"error: skillian needs .*pip install '\.\[skillian\]'\n"
    if done.returncode == 2 and re.fullmatch(wanted, done.stderr):
        return "ok"
    return f"without its extra skillian said: {last(done)}"


def used(python: str, here: Path, env: dict[str, str], extra: str) -> str:
    """Whether the smallest use works; of all extras together each is used."""
    together = [use for name, use in USES.items() if name not in UNCONSTRAINED]
    programs = [USES[extra]] if extra in USES else together
    for program in programs:
        shutil.rmtree(here)
        here.mkdir()
        done = run(python, "-c", program, folder=here, env=env)
        if done.returncode:
            return report(done)
    return "ok"


def environment(folder: Path) -> str:
    """Make a fresh environment; its Python."""
    venv.create(folder, with_pip=True, clear=True)
    return str(folder / "bin" / "python")


def run(
    *command: str, folder: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        command,
        cwd=folder,
        env=dict(os.environ) if env is None else env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )


def succeed(*command: str, folder: Path | None = None) -> None:
    """Run a command that must succeed."""
    done = run(*command, folder=folder)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")


def report(done: subprocess.CompletedProcess[str]) -> str:
    """`ok`, or the last line of what was said."""
    return last(done) if done.returncode else "ok"


def last(done: subprocess.CompletedProcess[str]) -> str:
    """The last line on standard error."""
    return (done.stderr.strip().splitlines() or ["(nothing)"])[-1]


def show(rows: Sequence[Row]) -> None:
    """Print the table."""
    table = [("install", "import", "--help", "smallest use"), *rows]
    widths = [max(len(row[column]) for row in table) for column in range(4)]
    for row in table:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write(f"{line.rstrip()}\n")


if __name__ == "__main__":
    sys.exit(main())
