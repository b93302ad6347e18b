"""Runs one way to compare the two ledgers, in the environment of this interpreter.

Arguments: a file in `comparison_peers/` (`by_NAME.py`), one of its `CASES`, the process number of
the PostgreSQL server, the ledgers' folder, the database's URL. Prints as JSON the CPU seconds of
this process and of the server, this process's peak memory, and the differences. Loading libraries,
connecting and reading the result are not included.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK")
_PARENT, _TIMES = 1, slice(11, 15)  # of the fields behind the name; user and system, own and ended


def main(peer: str, case: str, postmaster: str, *inputs: str) -> None:
    """Measure one go."""
    sys.path.insert(0, str(Path(__file__).parent / "comparison_peers"))
    go: Any = importlib.import_module(f"by_{peer}").CASES[case](*inputs)
    gc.collect()
    server, client = server_seconds(postmaster), time.process_time()
    read_out = go()
    client = time.process_time() - client
    server = server_seconds(postmaster) - server
    peak = _peak_mb()
    figures = {"client": client, "server": server, "peak": peak, "found": read_out()}
    print(json.dumps(figures))


def server_seconds(postmaster: str) -> float:
    """Of all its processes so far: it collects those that have ended."""
    ticks = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):  # it has ended meanwhile
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if postmaster in {folder.name, fields[_PARENT]}:
                    ticks += sum(int(each) for each in fields[_TIMES])
    return ticks / _TICKS


def _peak_mb() -> float:
    """Of this program alone: what `getrusage` tells may be of the process that started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    [peak] = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return int(peak) / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
