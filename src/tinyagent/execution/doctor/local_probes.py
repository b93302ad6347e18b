"""The probes of trust level LOCAL, whose code runs in a process without locks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tinyagent.execution.doctor.bench import LIMITS, Bench, Finding, Probe
from tinyagent.execution.doctor.limit_probes import time_limit
from tinyagent.execution.doctor.probes import failed_steps

NEEDED_IMPORTS = ("ctypes", "os")
"""What the probes import that is not on the list of LOCAL."""
_IMPORTS = {
    "import": "import subprocess",
    "from ... import": "from subprocess import run",
    "by function": "__import__('subprocess')",
}
_OUTPUT = replace(LIMITS, max_output_bytes=10_000)


async def output_limit(bench: Bench) -> Finding:
    """Print much more than is kept."""
    (result,) = await bench.steps("for _ in range(1000): print('x' * 1000)", limits=_OUTPUT)
    kept = len(result.output)
    return Finding(kept < 2 * _OUTPUT.max_output_bytes, f"1,001,000 bytes printed: {kept:,} kept")


async def imports(bench: Bench) -> Finding:
    """Import a module that is not on the list."""
    for name, code in _IMPORTS.items():
        (result,) = await bench.steps(code)
        if result.error is None:
            return Finding(held=False, tried=f"went through: {name}")
    return Finding(held=True, tried=f"{', '.join(_IMPORTS)}: refused")


LOCAL_PROBES: Mapping[str, Probe] = {
    "time limit": time_limit,
    "output limit": output_limit,
    "imports from a list": imports,
    "a step that fails loses only itself": failed_steps,
}
"""The probes, by the promise that each tries."""
