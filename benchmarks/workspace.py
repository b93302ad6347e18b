"""What a workspace costs: the start of a session with its first step, compared with none.

Wall-clock times, alternating in one run; each figure is a median. The overlay costs the same
whatever the folder holds, apart from listing it; the copy reads it all.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from tinyagent import Sandbox
from tinyagent.execution import ProcessExecutor, Workspace
from tinyagent.execution.workspace.workspace import OpenWorkspace

ROUNDS = 9
SIZES = (10, 2_000, 20_000)
CONTENT = b"x = 1\n" * 1_300  # 8 kB


def make(folder: Path, files: int) -> Path:
    """A folder with so many files, 50 in each of its folders."""
    for number in range(files):
        path = folder / str(number // 50) / f"{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(CONTENT)
    return folder


async def start(folder: Path | None, *, layers: bool = True) -> float:
    """Milliseconds until the first step has ended."""
    began = time.perf_counter()
    async with ProcessExecutor(Sandbox(workspace=folder)) as executor:
        own = executor._workspace  # noqa: SLF001 - the kind of view is not an option
        if own is not None:
            own.uses_layers = layers
        result = await executor.run("1")
        if result.error is not None or (own is not None and own.uses_layers != layers):
            raise RuntimeError(result.error or "this machine has no overlays for this user")
    return (time.perf_counter() - began) * 1000


def listing(folder: Path) -> float:
    """Milliseconds to list the folder."""
    began = time.perf_counter()
    opened: OpenWorkspace = Workspace(folder).open()
    opened.close()
    return (time.perf_counter() - began) * 1000


async def measure(folder: Path) -> tuple[float, float, float, float]:
    """Medians: no workspace, an overlay, a copy, the list alone."""
    rounds: list[tuple[float, float, float, float]] = []
    await start(None)
    await start(folder)
    for _ in range(ROUNDS):
        copy = await start(folder, layers=False) if len(rounds) < ROUNDS // 3 else rounds[0][2]
        rounds.append((await start(None), await start(folder), copy, listing(folder)))
    none, overlay, copy, lists = (statistics.median(each) for each in zip(*rounds, strict=True))
    return none, overlay, copy, lists


def main() -> None:
    """Print the table."""
    print("| files of 8 kB | no workspace | overlay | of which listing | copy |")
    print("|---|---|---|---|---|")
    for files in SIZES:
        with tempfile.TemporaryDirectory() as place:
            none, overlay, copy, lists = asyncio.run(measure(make(Path(place, "f"), files)))
        print(
            f"| {files:,} | {none:.1f} ms | {overlay:.1f} ms | {lists:.1f} ms | {copy:.1f} ms |",
            flush=True,
        )


if __name__ == "__main__":
    main()
