"""What a step of a model's code comes to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file or a figure that the code made. `name` is relative to the working folder."""

    name: str
    data: bytes
    media_type: str = "application/octet-stream"

    def save(self, folder: str | Path) -> Path:
        """Write it into `folder` under its own name, whatever path the name pretends.

        Raises:
            OSError: it cannot be written there.
        """
        name = re.sub(r"[^\w.-]+", "_", self.name).lstrip(".") or "artifact"
        path = Path(folder) / name
        path.write_bytes(self.data)
        return path


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """What one step of code came to.

    `output` is what it printed; `error` the traceback of its own lines, or what ended it; `value`
    the last expression's value and `value_text` its repr; `is_final` says that it called
    `final_answer`, with `final_value` and `final_metadata`; `state_lost` that the variables of
    earlier steps are gone, `undone` that they are as if this step had not been.
    """

    output: str = ""
    error: str | None = None
    timed_out: bool = False
    out_of_memory: bool = False
    is_final: bool = False
    final_value: Any = None
    final_metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    value: Any = None
    value_text: str = ""
    artifacts: tuple[Artifact, ...] = ()
    duration_seconds: float = 0.0
    state_lost: bool = False
    undone: bool = False
