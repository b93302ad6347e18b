"""What it costs to start: CPU seconds and memory of new processes, beside those of bare Python.

Each figure is the median over several processes. The ratio to bare Python depends little on the
machine; the targets in seconds are for one that starts bare Python in about 0.01 s of CPU.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from run import mock_server

PROCESSES = 7
BARE = "bare Python"
MEASURE = """
import time
seconds = time.process_time()
with open("/proc/self/status") as status:
    peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
print(seconds, int(peak) / 1024)
"""
PROGRAMS = {
    BARE: "",
    "import tinyagent": "import tinyagent",
    "from tinyagent import ReactAgent": "from tinyagent import ReactAgent",
    "tinyagent --help": """
from tinyagent.cli import app
try:
    app(["--help"], prog_name="tinyagent")
except SystemExit:
    pass
""",
    "first run of a ReactAgent": """
import sys
from tinyagent import OpenAIModel, ReactAgent

def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

model = OpenAIModel("turns-1", base_url=sys.argv[1], api_key="none")
ReactAgent(model, [add]).run_sync("Add them up.")
""",
}
CPU_TARGETS = {
    "import tinyagent": 0.12,
    "tinyagent --help": 0.25,
    "first run of a ReactAgent": 0.40,
}
JOIN = """
import duckdb
duckdb.connect().execute(
    "SELECT * FROM read_csv('a.csv') a FULL JOIN read_csv('b.csv') b USING (id)"
).fetchall()
"""
MOST_JOINS = 3.5
"""How much of the CPU of the join alone `skillian compare` of two small files may take."""
MEMORY_TARGETS = {"first run of a ReactAgent": 50}


class Start(NamedTuple):
    """CPU seconds, and the peak of memory in MB."""

    seconds: float
    megabytes: float


def measured(program: str, base_url: str) -> Start:
    """The medians over new processes; the first one, which fills caches, does not count."""
    command = [sys.executable, "-c", program + MEASURE, base_url]
    starts: list[Start] = []
    for _ in range(PROCESSES + 1):
        ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path.home())
        starts.append(Start(*map(float, ran.stdout.splitlines()[-1].split())))
    seconds, megabytes = zip(*starts[1:], strict=True)
    return Start(statistics.median(seconds), statistics.median(megabytes))


def compared() -> tuple[float, float]:
    """The least CPU of whole processes: `skillian compare` of two small files, and a bare join."""
    skillian = [str(Path(sys.executable).with_name("skillian")), "compare", "a.csv", "b.csv"]
    seconds: tuple[list[float], list[float]] = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, value in (("a.csv", 3), ("b.csv", 4)):
            (Path(folder) / name).write_text(f"id,x\n1,2\n2,{value}\n")
        for _ in range(2 * PROCESSES + 1):
            for command, spent in zip(
                (skillian, [sys.executable, "-c", JOIN]), seconds, strict=True
            ):
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run(command, cwd=folder, capture_output=True, check=False)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds[0]), min(seconds[1])


def main() -> None:
    """Print the tables; fail when a target is missed."""
    with mock_server() as base_url:
        found = {name: measured(program, base_url) for name, program in PROGRAMS.items()}
    bare = found[BARE]
    print("| a new process | CPU | beyond bare Python | ratio | target | memory | target |")
    print("|---|---|---|---|---|---|---|")
    missed = False
    for name, start in found.items():
        beyond = start.seconds - bare.seconds
        most, memory = CPU_TARGETS.get(name), MEMORY_TARGETS.get(name)
        missed |= most is not None and beyond > most
        missed |= memory is not None and start.megabytes > memory
        cells = [
            name,
            f"{start.seconds:.3f} s",
            f"{beyond:.3f} s",
            f"{start.seconds / bare.seconds:.1f}",
            "" if most is None else f"<= {most:.2f} s",
            f"{start.megabytes:.0f} MB",
            "" if memory is None else f"<= {memory} MB",
        ]
        print(f"| {' | '.join(cells)} |")
    whole, join = compared()
    missed |= whole > MOST_JOINS * join
    print("\n| two files of two rows | CPU | ratio | target |\n|---|--:|--:|---|")
    print(f"| a join by DuckDB alone | {join:.2f} s | 1.0 | - |")
    print(f"| `skillian compare` | {whole:.2f} s | {whole / join:.1f} | <= {MOST_JOINS} |")
    sys.exit(missed)


if __name__ == "__main__":
    main()
