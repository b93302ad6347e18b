"""What the host promises whatever a session sends, beside what 10,000 hostile items cost it.

Frames, heads of requests, names, paths for lists of hosts, and file trees, sent by real sessions:
`tests/tinyagent/execution/hostile.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.tinyagent.execution.hostile import KINDS, Figures, measured, origin

SHARES = {"frames": 0.2, "heads": 0.2, "names": 0.2, "paths": 0.2, "trees": 0.2}
MAX_PAUSE = 0.05
MAX_OVERRUN = 0.5
MAX_TIMES = 4
_MIB = 1 << 20


def main() -> None:
    """Measure each kind, and print the figures beside their targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"{'':8}{'items':>7}{'pause':>10}{'overrun':>10}{'memory':>10}{'sent':>10}{'left':>6}")
    with origin() as port:
        for number, kind in enumerate(KINDS):
            count = int(options.items * SHARES[kind])
            print_row(asyncio.run(measured(kind, count, options.seed + number, port)))
    print(
        f"targets: pause {MAX_PAUSE:g} s of CPU, overrun {MAX_OVERRUN:g} s, "
        f"memory {MAX_TIMES} x sent,"
    )
    print("nothing left of descriptors a second after the last step")


def print_row(figures: Figures) -> None:
    """Print the figures of one kind, and how its steps ended."""
    print(
        f"{figures.kind:8}{figures.items:>7,}{figures.pause * 1000:>7.1f} ms"
        f"{figures.overrun:>+8.2f} s{figures.growth / _MIB:>6.1f} MiB"
        f"{figures.received / _MIB:>6.1f} MiB{figures.descriptors:>6}"
    )
    for error, count in Counter(error.splitlines()[0][:90] for error in figures.errors).most_common(
        3
    ):
        print(f"        {count} x {error}")


if __name__ == "__main__":
    main()
