"""StepCollector: collects the output, files and answer of one step as they come."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from tinyagent.core.untrusted import cut_middle
from tinyagent.execution.protocol import Artifact, ExecutionResult
from tinyagent.execution.sandbox.worker.codec.wire import Frame, Kind, WireError
from tinyagent.execution.trust import ExecutionLimits

SPARE_SECONDS = 0.4
"""How long after its time limit a step has ended in any case."""
_MAX_ARTIFACTS = 256
_MAX_ARTIFACT_BYTES = 64 << 20


class StepCollector:
    """Collects the frames of one step into its result; trusts none of them.

    Args:
        limits: Of the session.
        on_output: Called with each piece of printed text.
        token: The frame that ends the step must repeat it.
    """

    def __init__(
        self,
        limits: ExecutionLimits,
        on_output: Callable[[str], None] | None,
        token: str = "",
    ) -> None:
        self._limits = limits
        self._token = token
        self._on_output = on_output
        self._started = time.monotonic()
        self._printed: list[str] = []
        self._room = limits.max_output_bytes
        self._artifacts: list[Artifact] = []
        self._artifact_room = _MAX_ARTIFACT_BYTES
        self._final: tuple[Any, Mapping[str, Any]] | None = None
        self._done: Frame | None = None
        self.tool_seconds = 0.0
        """How long tools took, which is not the code's time."""

    @property
    def latest(self) -> float:
        """The moment, of the monotonic clock, by which all that belongs to the step has ended."""
        limit = self._limits.timeout_seconds
        return self._started + limit + self.tool_seconds + SPARE_SECONDS

    @property
    def is_final(self) -> bool:
        """Whether `final_answer` was called."""
        return self._final is not None

    @property
    def is_done(self) -> bool:
        """Whether the code has ended without being stopped."""
        return self._done is not None

    @property
    def ran_out_of_memory(self) -> bool:
        """Whether the code ran out of memory: its process still holds all that it took."""
        return self._done is not None and bool(self._done.body["out_of_memory"])

    def take(self, frame: Frame) -> None:
        """Take in a frame whose values are decoded.

        Raises:
            WireError: It is the end of another step.
        """
        if frame.kind is Kind.OUTPUT:
            self._print(frame.body["text"])
        elif frame.kind is Kind.ARTIFACT:
            self._keep(Artifact(frame.body["name"], frame.blob, frame.body["media_type"]))
        elif frame.kind is Kind.FINAL and self._final is None:
            self._final = frame.body["value"], frame.body["metadata"]
        elif frame.kind is Kind.DONE:
            if frame.body["token"] != self._token:
                raise WireError("the end of another step")
            self._done = frame

    def result(self, error: str | None = None, **ending: Any) -> ExecutionResult:
        """The result of the step; `error` and `ending` say how it was stopped, if it was."""
        done = self._done.body if self._done is not None else {}
        fields: dict[str, Any] = {
            "output": self._output(done),
            "error": error or done.get("error"),
            "out_of_memory": done.get("out_of_memory", False),
            "value": None if error else done.get("value"),
            "value_text": done.get("value_text", ""),
            "artifacts": tuple(self._artifacts),
            "duration_seconds": time.monotonic() - self._started,
        }
        if self._final is not None:
            fields |= {"is_final": True, "error": None}
            fields |= {"final_value": self._final[0], "final_metadata": self._final[1]}
        return ExecutionResult(**{**fields, **ending})

    def _print(self, text: str) -> None:
        size = len(text.encode())
        if size > self._room:
            text = text.encode()[: self._room].decode(errors="ignore")
        self._room -= min(size, self._room)
        if text:
            self._printed.append(text)
            if self._on_output is not None:
                self._on_output(text)

    def _keep(self, artifact: Artifact) -> None:
        self._artifact_room -= len(artifact.data)
        if self._artifact_room >= 0 and len(self._artifacts) < _MAX_ARTIFACTS:
            self._artifacts.append(artifact)

    def _output(self, done: Mapping[str, Any]) -> str:
        """The printed text: all of it, or its beginning and end with the size of the gap."""
        text = "".join(self._printed)
        tail, skipped = done.get("tail", ""), done.get("skipped", 0)
        if tail:
            half = len(text) // 2
            missing = len(text) - half + skipped
            text = f"{text[:half]}\n[... {missing:,} bytes are left out here ...]\n{tail}"
        remarks = "".join(f"({remark})\n" for remark in done.get("remarks", ()))
        if remarks and text and not text.endswith("\n"):
            text += "\n"
        return cut_middle(text + remarks, self._limits.max_output_bytes + 2_000)
