"""What `import tinyagent` costs: nothing is loaded and next to no time passes."""

from __future__ import annotations

import subprocess
import sys

MAX_CPU_SECONDS = 0.15
LOADED = """
import sys
before = set(sys.modules)
import {package}
roots = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(*sorted(roots - set(sys.stdlib_module_names)))
"""
CPU = "import time{rest}; print(time.process_time())"


def _python(program: str) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_tinyagent_loads_the_standard_library_and_itself() -> None:
    assert _python(LOADED.format(package="tinyagent")).split() == ["tinyagent"]


def test_the_check_sees_what_another_import_loads() -> None:
    assert "pydantic" in _python(LOADED.format(package="pydantic")).split()


def _cpu_seconds(rest: str) -> float:
    """Of the best run: whatever else the machine does only ever adds."""
    return min(float(_python(CPU.format(rest=rest))) for _ in range(7))


def _cost() -> float:
    return _cpu_seconds(", tinyagent") - _cpu_seconds("")


def test_importing_tinyagent_costs_little() -> None:
    cost = _cost()
    for _ in range(4):  # on a core whose twin is busy, all of a try may take longer
        cost = min(cost, _cost()) if cost > MAX_CPU_SECONDS else cost
    print(f"import tinyagent: {cost:.3f} s of CPU more than bare Python")  # noqa: T201 - the figure
    assert cost <= MAX_CPU_SECONDS
