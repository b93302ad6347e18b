"""Follows each tutorial in an empty environment, and says how long it takes: `make newcomer`.

As docs/install.md says, a fresh clone is installed with pip into a fresh environment, with the
extras that the tutorial names and the newest dependencies. The commands of the tutorial then run in
an empty folder (tests/e2e/test_tutorials.py).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from installs import ROOT, environment, succeed

NEEDED = re.compile(r"You need the extras? (.*?) \(\[install\]")


def main() -> int:
    """Follow the tutorials that are named, or all; 0 if all work."""
    pages = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
    chosen = [page for page in pages if page.stem in (sys.argv[1:] or page.stem)]
    lines = ["| tutorial | extras | installation | tutorial | result |", "|---|---|--:|--:|---|"]
    failed = False
    for page in chosen:
        named = NEEDED.search(page.read_text(encoding="utf-8"))
        extras = re.findall(r"`(\w+)`", named[1]) if named else []
        sys.stderr.write(f"{page.stem} ...\n")
        with tempfile.TemporaryDirectory(prefix="tinyagent-newcomer-") as name:
            folder = Path(name)
            started = time.monotonic()
            python = _install(folder, extras)
            installed = time.monotonic()
            result = _follow(page, python)
            ended = time.monotonic()
        failed |= result != "ok"
        times = f"{installed - started:.0f} s | {ended - installed:.0f} s"
        lines.append(f"| {page.stem} | {', '.join(extras)} | {times} | {result} |")
    sys.stdout.write("\n".join(lines) + "\n")
    return int(failed)


def _install(folder: Path, extras: list[str]) -> str:
    """The Python of an environment with what is installed from a fresh clone."""
    clone = folder / "tinyagent"
    succeed("git", "clone", "-q", str(ROOT), str(clone))
    python: str = environment(folder / "environment")
    what = f".[{','.join(extras)}]" if extras else "."
    succeed(python, "-m", "pip", "install", "-q", what, folder=clone)
    return python


def _follow(page: Path, python: str) -> str:
    test = "tests/e2e/test_tutorials.py::test_a_tutorial_works_to_its_end"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", f"{test}[{page.stem}]"],
        cwd=ROOT,
        env=os.environ | {"TUTORIALS_BIN": str(Path(python).parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.stderr.write(done.stdout)
    return "failed" if done.returncode else "ok"


if __name__ == "__main__":
    sys.exit(main())
