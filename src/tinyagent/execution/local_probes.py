"""The probes of trust level LOCAL, whose code runs in the host's own process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tinyagent.execution.bench import LIMITS, Bench, Finding, Probe
from tinyagent.execution.limit_probes import time_limit

_IMPORTS = {
    "import os": "import os",
    "from os": "from os import path",
    "by function": "__builtins__['__import__']('os')",
    "by attribute": "json.codecs.open(FILE)",
    "by getattr": "getattr(json, 'codecs')",
    "open": "open(FILE)",
}
_OUTPUT = replace(LIMITS, max_output_bytes=10_000)


async def local_time_limit(bench: Bench) -> Finding:
    """Loop for ever in Python; what loops in C is not promised to end."""
    return await time_limit(bench, {"a loop": "while True: pass"})


async def output_limit(bench: Bench) -> Finding:
    """Print much more than is kept."""
    (result,) = await bench.steps("for _ in range(1000): print('x' * 1000)", limits=_OUTPUT)
    kept = len(result.output)
    return Finding(kept < 2 * _OUTPUT.max_output_bytes, f"1,001,000 bytes printed: {kept:,} kept")


async def imports(bench: Bench) -> Finding:
    """Come to modules that are not on the list."""
    for name, code in _IMPORTS.items():
        (result,) = await bench.steps(f"import json\n{code}")
        if result.error is None:
            return Finding(held=False, tried=f"went through: {name}")
    return Finding(held=True, tried=f"{', '.join(_IMPORTS)}: refused")


LOCAL_PROBES: Mapping[str, Probe] = {
    "time limit": local_time_limit,
    "output limit": output_limit,
    "imports from a list": imports,
}
"""The probes, by the promise that each tries; what else LOCAL says of itself is no promise."""
