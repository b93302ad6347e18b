"""What a code agent's model is shown: its environment, and the results and images of its code.

`HELPERS` and `code_tool` are the functions that the code finds in its namespace.
"""

from __future__ import annotations

import itertools
import sys
import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from tinyagent.agents.code_sealed import SEALED_HELPERS, SEALED_RULES
from tinyagent.core.errors import ToolArgumentsError
from tinyagent.core.execution import Artifact
from tinyagent.core.messages import ToolCall
from tinyagent.core.parts import Document, Image
from tinyagent.core.types import ToolResult
from tinyagent.execution.definition import Sandbox
from tinyagent.execution.trust import ISOLATED_IMPORTS, ExecutionLimits
from tinyagent.memory.steps import ActionStep, Step
from tinyagent.tools.signature import python_stub
from tinyagent.tools.tool import Tool, bind_arguments

HELPERS = {
    "final_answer": "final_answer(value, **metadata): give the answer; it ends the block at once",
    "store": "store(key, value): keep a note under a key, for when earlier steps are left out",
    "recall": "recall(key, default=None): get what is stored under the key",
    "observe": "observe(msg): note something that you have seen",
    "fail": "fail(msg): note an attempt that failed, so that you do not make it again",
    "uncertain": "uncertain(msg): say what you are not sure of",
    "explore": "explore(msg): say what you are trying out",
    "commit": "commit(msg): say what you have decided",
}
"""The helpers by name, as the prompt describes them."""

_THERE = (
    "These functions are available. Get facts from them, never from your memory. Call them by"
    " their names; do not import or define them:"
)
# The last text before the task, because small models forget what comes earlier.
_LAST = (
    "Each of your replies must contain one block that starts with ```python and ends with ```. As"
    " soon as you know the answer, send it with final_answer(...)."
)
_ONLY_FILES = "there are no files except those in the working folder: "
_NO_FILES = "the working folder is empty"
_NO_NETWORK = "There is no network, and "
_KEYS = "Keys are added to requests for you; "
_WORKSPACE = (
    "your working folder is a copy of the user's folder. Read and change files there with relative"
    " paths; the user reviews the changes before they are written back. Links and files that"
    " usually hold secrets are not in the copy. There are no other programs."
)
_PLOTS = "After a block you see the Matplotlib figures that it left open, and its PNG files."
_EXAMPLE = """
{when}, you would send

```python
{code}
```
"""
_THEN = """
and, after you see what it printed,

```python
final_answer({answer})
```
"""
_AT_ONCE = """
To a question that needs none of this, such as "How many days has a week?", you answer at once:

```python
final_answer(7)
```
"""
_FEW = 12  # standard modules that are listed by name
_MANY = 80
_MOST_OF_PYTHON = "most of the standard library"
_COMPUTING = "what computes in the standard library (csv, datetime, json, math, re, statistics ...)"
_WELL_KNOWN = frozenset(
    """
    PIL aiohttp bs4 duckdb httpx lxml matplotlib networkx numpy openpyxl pandas plotly polars
    pyarrow requests scipy seaborn sklearn statsmodels sympy yaml
    """.split()  # noqa: SIM905 - a list to read, not a column
)

_PLACEHOLDERS = {
    "integer": "3",
    "number": "2.5",
    "boolean": "True",
    "array": "[...]",
    "object": "{...}",
}

MAX_IMAGES = 4
MAX_BYTES = 1_000_000
MAX_SIDE = 2_000
"""Pixels: providers refuse larger images if a conversation holds many."""
_PNG = b"\x89PNG\r\n\x1a\n"
_HEADER, _END = b"IHDR", b"IEND"
_FRAME = 12  # bytes that frame the data of a PNG chunk
_LARGE = f"at most {MAX_BYTES:,} bytes and {MAX_SIDE:,} pixels a side are shown"

CallTool = Callable[[ToolCall], Awaitable[ToolResult]]
Attachments = tuple[Image | Document, ...]


def describe_code_environment(
    tools: Iterable[Tool],
    sandbox: Sandbox | None,
    *,
    plots: bool = False,
    sealed: bool = False,
) -> str:
    """The part of the system prompt that depends on the agent.

    Args:
        tools: Shown as functions.
        sandbox: Where the code runs; None says nothing of it.
        plots: Whether the model is shown the images that its code makes.
        sealed: Whether the code works with stand-ins.
    """
    tools, files = tuple(tools), () if sandbox is None else sandbox.file_names
    stubs = "\n".join(_describe(tool) for tool in tools)
    described = [*HELPERS.values(), *(SEALED_HELPERS.values() if sealed else ())]
    helpers = "\n".join(f"- {line}" for line in described)
    parts = [
        f"{_THERE}\n{stubs}\n" if stubs else "",
        f"{_examples(tools, files)}\n",
        f"These helpers are available. Most blocks need only the first:\n{helpers}\n",
        f"{SEALED_RULES}\n" if sealed else "",
        "" if sandbox is None else _describe_sandbox(sandbox),
        _PLOTS if plots else "",
        f"\n{_LAST}",
    ]
    return "\n".join(part for part in parts if part)


def _describe_sandbox(sandbox: Sandbox) -> str:
    """What may be imported, for how long a block may run, hosts and files."""
    wanted, limits = sandbox.wanted, sandbox.limits or ExecutionLimits()
    own = "" if wanted is None else ", ".join(wanted.names)
    added = f", and the modules of these packages: {own}" if own else ""
    listed = ", ".join(
        host if isinstance(host, str) else f"{host.method} {host.url}" for host in sandbox.network
    )
    reached = f"Only these hosts can be reached: {listed}. {_KEYS}" if listed else _NO_NETWORK
    names = ", ".join(sandbox.file_names)
    present = f"{_ONLY_FILES}{names}." if names else f"{_NO_FILES}."
    return "\n".join(
        [
            f"You may import {_list_imports(sandbox.allowed_imports())}{added}.",
            f"A block may run for {limits.timeout_seconds:g} s.",
            f"{reached}{present}" if sandbox.workspace is None else f"{reached}{_WORKSPACE}",
        ]
    )


def _examples(tools: Sequence[Tool], files: Sequence[str]) -> str:
    """Replies that use what there is: the first tool, the first file, or else Python alone."""
    first: list[tuple[str, str, str]] = []
    if tools:
        code = f"result = {_call(tools[0])}\nprint(result)"
        first.append((f"For a task that needs {tools[0].name}", code, "result"))
    if files:
        code = f"text = open({files[0]!r}).read()\nprint(text[:500])"
        first.append((f"For a task on the file {files[0]}", code, "len(text)"))
    if not first:
        task = 'For the task "Add the squares of 1 to 10"'
        first.append((task, "print(sum(n * n for n in range(1, 11)))", "385"))
    shown = [
        _EXAMPLE.format(when=when, code=code) + _THEN.format(answer=answer)
        for when, code, answer in first
    ]
    return "\n".join(part.strip("\n") + "\n" for part in (*shown, _AT_ONCE)).rstrip("\n")


def _call(tool: Tool) -> str:
    """A call of the tool with the arguments that it requires; `...` stands for a text."""
    properties = tool.json_schema.get("properties", {})
    given = (
        f"{name}={_placeholder(properties[name])}" for name in tool.json_schema.get("required", ())
    )
    return f"{tool.name}({', '.join(given)})"


def _placeholder(schema: Mapping[str, Any]) -> str:
    values = schema.get("enum")
    return repr(values[0]) if values else _PLACEHOLDERS.get(str(schema.get("type")), '"..."')


def _describe(tool: Tool) -> str:
    """The tool without `def`: small models would continue what looks like a program."""
    signature, _, doc = python_stub(tool).partition(":\n")
    return f"- {signature.removeprefix('def ')}\n{doc}".replace('"""', "")


def _list_imports(imports: frozenset[str]) -> str:
    """The modules in one line: few by name, many by the names that matter."""
    if "*" in imports:
        return "any installed module"
    others = {name for name in imports if name.partition(".")[0] not in sys.stdlib_module_names}
    standard = sorted(imports - others)
    named = (name for name in others if name in _WELL_KNOWN or name not in ISOLATED_IMPORTS)
    installed = sorted(name for name in named if find_spec(name.partition(".")[0]) is not None)
    if len(standard) > _MANY:
        standard = [_MOST_OF_PYTHON]
    elif len(standard) > _FEW:
        standard = [_COMPUTING]
    return ", ".join(standard + installed)


def shown_to_model(
    returned: Sequence[Image | Document],
    artifacts: Iterable[Artifact],
    earlier: Iterable[Step],
    *,
    plots: bool,
) -> tuple[Attachments, str]:
    """The attachments that the model is shown after a block, and a note for it on the images.

    Args:
        returned: Images and documents that tools returned to the code; they come first.
        artifacts: The files that the code made; only PNG files are shown.
        earlier: The steps that the model is sent anyway, so that no image is sent twice.
        plots: Whether the model sees images; if not, the note says so.
    """
    pictures = [artifact for artifact in artifacts if artifact.media_type == "image/png"]
    known = {part for step in earlier if isinstance(step, ActionStep) for part in step.attachments}
    chosen: dict[Image | Document, None] = dict.fromkeys(
        [part for part in returned if part not in known][:MAX_IMAGES]
    )
    if not plots:
        names = ", ".join(picture.name for picture in pictures)
        note = f"[You cannot see images ({names}). Print the numbers that you need.]"
        return tuple(chosen), note if pictures else ""
    shown: list[str] = []
    notes: list[str] = []
    for picture in pictures:
        obstacle = _obstacle(picture.data)
        if not obstacle and Image(picture.data) in known | chosen.keys():
            obstacle = "the same image was shown before"
        if not obstacle and len(chosen) >= MAX_IMAGES:
            obstacle = f"at most {MAX_IMAGES} images are shown after a block"
        if obstacle:
            notes.append(f"[{picture.name} is not shown: {obstacle}]")
        else:
            chosen[Image(picture.data)] = None
            shown.append(picture.name)
    if shown:
        notes.insert(0, f"[images shown to you: {', '.join(shown)}]")
    return tuple(chosen), "\n".join(notes)


def _obstacle(data: bytes) -> str:
    """Why the file cannot be shown; empty if it can."""
    if len(data) > MAX_BYTES:
        return f"it has {len(data):,} bytes; {_LARGE}"
    size = png_size(data)
    if size is None:
        return "it is not a complete PNG"
    width, height = size
    if max(size) > MAX_SIDE:
        return f"it has {width:,} x {height:,} pixels; {_LARGE}"
    return ""


def png_size(data: bytes) -> tuple[int, int] | None:
    """Width and height of a complete PNG, otherwise None: servers refuse incomplete ones."""
    if not data.startswith(_PNG):
        return None
    at, size = len(_PNG), None
    while at + _FRAME <= len(data):
        length = int.from_bytes(data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        checksum = data[at + 8 + length : at + _FRAME + length]
        if zlib.crc32(kind + body).to_bytes(4) != checksum:
            return None
        if size is None:
            if kind != _HEADER:
                return None
            size = int.from_bytes(body[:4]), int.from_bytes(body[4:8])
        if kind == _END:
            return size
        at += _FRAME + length
    return None


def code_tool(tool: Tool, call_tool: CallTool) -> Callable[..., Awaitable[Any]]:
    """The tool as a function for the code; its calls go through the run's middleware.

    Exceptions of the tool are raised in the code. A wrong call raises a TypeError that shows how
    the tool is called.
    """
    numbers = itertools.count(1)

    async def call(*args: Any, **kwargs: Any) -> Any:
        try:
            arguments = bind_arguments(tool, args, kwargs)
        except ToolArgumentsError as fault:
            raise _wrong_call(tool, fault) from None
        result = await call_tool(ToolCall(f"{tool.name}-{next(numbers)}", tool.name, arguments))
        if not result.is_error:  # images and documents are for the model, not for the code
            return result.content if result.parts else result.value
        if isinstance(result.error, ToolArgumentsError):
            raise _wrong_call(tool, result.error)
        raise result.error or RuntimeError(result.content.removeprefix("Error: "))

    return call


def _wrong_call(tool: Tool, fault: ToolArgumentsError) -> TypeError:
    return TypeError(
        f"{tool.name} was called with wrong arguments: {fault}\n"
        f"Call it like this:\n{python_stub(tool)}"
    )
