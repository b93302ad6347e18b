"""Other frameworks beside the floor, each in its own environment, made where there is none yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from pairs import Pair, Row, ratio_row

HERE = Path(__file__).parent
ENVIRONMENTS = HERE.parent / ".cache" / "peers"
SECONDS = 240.0
UNTOLD = ("OPENAI_", "LANGSMITH_", "LANGCHAIN_", "AGNO_", "LOGFIRE_", "OTEL_")
TARGETS = {"tinyagent": 0.25}


def peer_rows(base_url: str) -> Iterator[Row]:
    """One row a file in `peers/`, tinyagent first; what cannot be measured says why."""
    names = sorted(path.stem for path in (HERE / "peers").glob("*.py"))
    for name in sorted(names, key=lambda name: name != "tinyagent"):
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        target = TARGETS.get(name)
        try:
            pair = _measure(python_of(name, _pins(name)), name, base_url)
        except (subprocess.SubprocessError, OSError, ValueError, LookupError) as error:
            why = f"not measured: {_reason(error)}"
            yield Row(_title(name), "-", "-", why, is_met=target is None)
        else:
            yield ratio_row(_title(name), pair, target)


def _title(name: str) -> str:
    """The versions that are asked for, but the client's, which is the same for all."""
    pins = [pin for pin in _pins(name).splitlines() if not pin.startswith("openai==")]
    return ", ".join(pin.replace("==", " ") for pin in pins) or name


def _pins(name: str) -> str:
    file = HERE / "peers" / f"{name}.txt"
    return file.read_text() if file.exists() else ""


def python_of(name: str, pins: str) -> str:
    """The interpreter of a peer's environment, which is made again when its pins have changed."""
    if not pins:
        return sys.executable
    folder = ENVIRONMENTS / name
    python, made_of = folder / "bin" / "python", folder / "made_of.txt"
    if made_of.exists() and made_of.read_text() == pins:
        return str(python)
    print(f"installing {name} (once) ...", file=sys.stderr, flush=True)
    _output([sys.executable, "-m", "venv", "--clear", str(folder)])
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _output([*install, *pins.split()])
    made_of.write_text(pins)
    return str(python)


def _measure(python: str, name: str, base_url: str) -> Pair:
    # The last line: a framework may print.
    last = _output([python, str(HERE / "peer_runner.py"), name, base_url]).splitlines()[-1]
    figures = json.loads(last)
    return Pair(figures["ours_ms"], figures["floor_ms"], tuple(figures["ratios"]))


def _output(command: list[str]) -> str:
    """What a command prints; it sees no server, key or tracing that the user has set."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(UNTOLD)}
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=SECONDS, env=environment
    )
    return done.stdout


def _reason(error: Exception) -> str:
    """The last line that was said."""
    if isinstance(error, subprocess.TimeoutExpired):
        return f"no end after {SECONDS:.0f} s"
    said = error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
    lines = said.strip().splitlines() or [type(error).__name__]
    return lines[-1][:200].replace("|", "/")
