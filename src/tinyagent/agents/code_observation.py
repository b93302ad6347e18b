"""What a code agent's model is shown after a block of its code, and after a repeated one."""

from __future__ import annotations

from collections.abc import Sequence

from tinyagent.core.execution import Artifact, ExecutionResult
from tinyagent.core.messages import ToolCall
from tinyagent.core.types import ToolResult
from tinyagent.core.untrusted import cut_middle

_CORRECT = "[Send the whole code again, corrected.]"  # or small models only comment on errors
_RETURNED = "Before the error, these calls returned:"
FINISH = "[If this is the answer, call final_answer(...) with it.]"
"""Shown after a short result: small models go on when they have the answer."""
_REPEATED = "You sent a block again that had the same result before; it is not shown again."
_OTHERWISE = (
    "If you know the answer, send final_answer(...) with it. If not, send other code: call one"
    " function, print what it returned, and look at it before you go on."
)

_MAX_CALLS = 8
_MAX_CHARS = 400
"""Of each call and each result under an error."""
_SHORT = 200
"""An output of at most so many characters may be the answer."""


def observation(
    result: ExecutionResult, note: str = "", *, returned: str = "", hint: str = ""
) -> str:
    """What the model is shown of its code: the output, or the last value; the error; the files.

    Args:
        result: Of the block.
        note: Which images the model is shown.
        returned: What the calls of a block that failed returned.
        hint: What to do instead of what failed.
    """
    parts = [result.output.rstrip("\n")]
    if result.error is not None:
        parts += [result.error.rstrip(), returned, hint and f"[{hint}]", _CORRECT]
    elif not result.output.strip():
        parts.append(result.value_text or "(no output)")
    parts += [_files(result.artifacts), note, result.note]
    return "\n".join(part for part in parts if part)


def reminder(result: ExecutionResult) -> str:
    """What is added for the model to a result that may be the answer; empty if it may not."""
    is_short = 0 < len(result.output.strip() or result.value_text) <= _SHORT
    return FINISH if is_short and result.error is None else ""


def describe_calls(calls: Sequence[tuple[ToolCall, ToolResult]], output: str) -> str:
    """The calls of a block and what they returned, so that an error does not lose it.

    Calls that failed and results that were printed are left out; the last ones are shown.
    """
    printed = frozenset(output.splitlines())
    lines = [
        f"- {_cut(_written(call))} -> {_cut(result.content)}"
        for call, result in calls
        if not result.is_error and result.content not in printed
    ]
    return "\n".join([_RETURNED, *lines[-_MAX_CALLS:]]) if lines else ""


def repeated(hint: str = "", note: str = "") -> str:
    """What the model is shown in place of a repeated block and its result.

    Args:
        hint: What to do instead of what failed.
        note: A warning of the limits.
    """
    words = " ".join(part for part in (_REPEATED, hint, _OTHERWISE) if part)
    return f"[{words}]\n{note}".rstrip()


def _written(call: ToolCall) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in call.arguments.items())
    return f"{call.name}({arguments})"


def _cut(text: str) -> str:
    return cut_middle(text, _MAX_CHARS)


def _files(artifacts: Sequence[Artifact]) -> str:
    return f"[files: {', '.join(item.name for item in artifacts)}]" if artifacts else ""
