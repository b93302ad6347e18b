"""Running cases in a small internet of their own (`world.py`), in another process."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

Outcome = dict[str, Any]
_ROOT = Path(__file__).parents[4]


def selected(request: pytest.FixtureRequest, parameter: str, how: str) -> list[Any]:
    """The values of a parameter, of all tests of the fixture's module that will run so."""
    items = [item for item in request.session.items if item.path == request.path]
    specs: list[Any] = [getattr(item, "callspec", None) for item in items]
    params: list[dict[str, Any]] = [spec.params for spec in specs if spec is not None]
    chosen = [each for each in params if each.get("how") == how]
    return list(dict.fromkeys(each[parameter] for each in chosen))


def outcomes(cases: list[dict[str, Any]], folder: Path, *, as_user: bool = False) -> list[Outcome]:
    """The outcome of each case: its steps, the names that were asked for, the requests."""
    module = "tests.tinyagent.execution.network.world"
    line = [sys.executable, "-m", module, str(folder), *(["user"] if as_user else [])]
    for place in (folder, *folder.parents):  # an ordinary user may look into it
        if place == Path(tempfile.gettempdir()):
            break
        place.chmod(place.stat().st_mode | 0o055)
    done = subprocess.run(
        line, input=json.dumps(cases), capture_output=True, text=True, cwd=_ROOT, check=False
    )
    if "unshare" in done.stderr and "Operation not permitted" in done.stderr:
        pytest.skip("there are no namespaces here")
    found = [json.loads(text) for text in done.stdout.splitlines()]
    assert len(found) == len(cases), f"case {len(found)}: {done.stderr[-3000:]}"
    return found
