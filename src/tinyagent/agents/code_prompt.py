"""What a code agent's model is told: its environment, and what came of its code."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec

from tinyagent.agents.code_helpers import HELPERS
from tinyagent.core.execution import Artifact, ExecutionResult
from tinyagent.tools.signature import python_stub
from tinyagent.tools.tool import Tool

_THERE = (
    "These functions are there too. Take from them what they can tell, never from your memory. Call"
    " them by their names; do not import or define them:"
)
# The last that a model reads before the task: small ones forget what stands further up.
_LAST = (
    "Each of your replies must hold one block that starts with ```python and ends with ```. As soon"
    " as you know the answer, send it by final_answer(...)."
)
_MEND = "[Send the code again, mended.]"  # else small models only take note of their errors
_PLOTS = "After a block you are shown the Matplotlib figures that it left open, and its PNG files."
_FEW = 80  # modules of the standard library that are named one by one
_MOST_OF_PYTHON = "the standard library, but for networks, processes and ctypes"


def describe_code_environment(
    tools: Iterable[Tool],
    imports: Iterable[str] | None,
    seconds: float | None,
    files: Iterable[str] = (),
    *,
    plots: bool = False,
) -> str:
    """The part of the system prompt that depends on the agent.

    Args:
        tools: shown as functions.
        imports: what may be imported; None says nothing of it.
        seconds: that a block may run; None says nothing of it.
        files: the names of those in the working folder.
        plots: whether the model is shown the images that its code makes.
    """
    stubs = "\n".join(_shown(tool) for tool in tools)
    helpers = "\n".join(f"- {line}" for line in HELPERS.values())
    held = ", ".join(files)
    parts = [
        f"These helpers are there. Most blocks need none of them but the first:\n{helpers}\n",
        "" if imports is None else f"You may import: {_named(frozenset(imports))}.",
        "" if seconds is None else f"A block may run for {seconds:g} s.",
        f"There is no network, and no file but those of the working folder{held and ': ' + held}.",
        _PLOTS if plots else "",
        f"\n{_THERE}\n{stubs}\n" if stubs else "",
        _LAST,
    ]
    return "\n".join(part for part in parts if part)


def observation(result: ExecutionResult, note: str = "") -> str:
    """What the model reads of its code: the output, or the last value; the error; the files.

    `note` says what it is shown of the images among them.
    """
    parts = [result.output.rstrip("\n")]
    if result.error is not None:
        parts.append(f"{result.error.rstrip()}\n{_MEND}")
    elif not result.output.strip():
        parts.append(result.value_text or "(no output)")
    parts += [_files(result.artifacts), note]
    return "\n".join(part for part in parts if part)


def _shown(tool: Tool) -> str:
    """The tool without a `def`: small models would write on what looks like a program."""
    signature, _, doc = python_stub(tool).partition(":\n")
    return f"- {signature.removeprefix('def ')}\n{doc}".replace('"""', "")


def _named(imports: frozenset[str]) -> str:
    """The modules in a line: of a list that has most of the standard library, only the others."""
    if "*" in imports:
        return "any installed module"
    own = {name for name in imports if name.partition(".")[0] not in sys.stdlib_module_names}
    there = sorted(name for name in own if find_spec(name.partition(".")[0]) is not None)
    if len(imports) - len(own) < _FEW:
        return ", ".join(sorted(imports - own) + there)
    return ", ".join([_MOST_OF_PYTHON, *there])


def _files(artifacts: Sequence[Artifact]) -> str:
    return f"[files: {', '.join(item.name for item in artifacts)}]" if artifacts else ""
