"""What went wrong in the code: its own lines, and names that may have been meant."""

from __future__ import annotations

import builtins
import difflib
import itertools
import linecache
import re
import traceback
from collections.abc import Iterable, Iterator
from types import ModuleType, TracebackType
from typing import NamedTuple, cast

MAX_MESSAGE = 4_000
"""Characters of one error's message that are kept."""
_MAX_FRAMES = 24
_MAX_CHAIN = 4
_REPEATS = 3
_UNNAMED = ("builtins", "__main__")
_STEP = re.compile(r"<step (\d+)>")
_DIRECTLY = "\nThe above was the direct cause of this:\n\n"
_MEANWHILE = "\nWhile the above was handled, this happened:\n\n"


class _CodeLine(NamedTuple):
    filename: str
    number: int
    function: str


def describe(error: BaseException, source: str, filename: str) -> str:
    """The error, with the lines of `source` that led to it.

    Lines of other files are left out, except those of earlier steps (`<step 3>`).

    Args:
        error: What was raised.
        source: The code.
        filename: The name it was compiled under.
    """
    parts: list[str] = []
    current: BaseException | None = error
    while current is not None and len(parts) < _MAX_CHAIN:
        earlier, link = _earlier(current)
        text = _one(current, source, filename)
        parts.append(text if earlier is None else link + text)
        current = earlier
    return "".join(reversed(parts)) if current is None else "".join(["[...]", *reversed(parts)])


def _earlier(error: BaseException) -> tuple[BaseException | None, str]:
    if error.__cause__ is not None:
        return error.__cause__, _DIRECTLY
    if error.__context__ is not None and not error.__suppress_context__:
        return error.__context__, _MEANWHILE
    return None, ""


def _one(error: BaseException, source: str, filename: str) -> str:
    if isinstance(error, SyntaxError) and error.filename == filename:
        return _syntax(error)
    frames = list(_frames(error.__traceback__, source, filename))
    if len(frames) > _MAX_FRAMES:
        half = _MAX_FRAMES // 2
        left_out = f"  [... {len(frames) - 2 * half} more lines ...]\n"
        frames = [*frames[:half], left_out, *frames[-half:]]
    head = "Traceback (most recent call last):\n" if frames else ""
    return head + "".join(frames) + _message(error)


def _frames(trace: TracebackType | None, source: str, filename: str) -> Iterator[str]:
    lines = source.splitlines()
    for line, repeated in itertools.groupby(_own(trace, filename)):
        count = sum(1 for _ in repeated)
        text = _show(line, lines, filename)
        yield from [text] * min(count, _REPEATS)
        if count > _REPEATS:
            yield f"  [... the same {count - _REPEATS} more times ...]\n"


def _own(trace: TracebackType | None, filename: str) -> Iterator[_CodeLine]:
    for frame, number in traceback.walk_tb(trace):
        code = frame.f_code
        if code.co_filename == filename or _STEP.fullmatch(code.co_filename):
            yield _CodeLine(code.co_filename, number or 0, code.co_name)


def _show(line: _CodeLine, lines: list[str], filename: str) -> str:
    where = f"line {line.number}"
    if line.function != "<module>":
        where += f", in {line.function}"
    if line.filename == filename:
        text = lines[line.number - 1] if 0 < line.number <= len(lines) else ""
    else:
        step = _STEP.fullmatch(line.filename)
        where = f"step {step[1] if step else '?'}, {where}"
        text = linecache.getline(line.filename, line.number)
    return f"  {where}\n" + (f"    {_cut(text.strip(), 300)}\n" if text.strip() else "")


def _message(error: BaseException) -> str:
    """The last lines, as Python prints them: type, message, notes; a group's parts below."""
    text = _cut(_last_lines(error), MAX_MESSAGE) + "\n"
    if isinstance(error, BaseExceptionGroup):
        parts = cast("tuple[BaseException, ...]", error.exceptions)  # pyright: ignore[reportUnknownMemberType]
        inner = "".join(_message(part) for part in parts[:10])
        text += "".join(f"  | {line}\n" for line in inner.splitlines())
    return text


def _last_lines(error: BaseException) -> str:
    """Type, message and notes.

    Not by `traceback`, but for a `SyntaxError` of other files: from Python 3.12 on, it looks for
    names that may have been meant, and for that runs what the code wrote as `name` and `__dir__`.
    """
    if isinstance(error, SyntaxError):
        return "".join(traceback.format_exception_only(error)).rstrip("\n")
    kind = type(error)
    within = kind.__module__
    prefix = "" if within in _UNNAMED else f"{within}."
    message = _text_of(error)
    notes = BaseException.__getattribute__(error, "__dict__").get("__notes__")
    lines = [_text_of(note) for note in cast("list[object]", notes)] if type(notes) is list else []
    first = f"{prefix}{kind.__qualname__}{': ' if message else ''}{message}"
    return "\n".join([first, *lines])


def _text_of(value: object) -> str:
    try:
        return str.__str__(str(value))  # of a subclass, too, nothing of the code's is left
    except BaseException:  # noqa: BLE001 - a message may be the code's own, and may even exit
        return "<exception str() failed>"


def _syntax(error: SyntaxError) -> str:
    number, column = error.lineno or 0, error.offset or 0
    text = f"  line {number}\n"
    if error.text and len(error.text) < MAX_MESSAGE:
        code = error.text.rstrip("\n")
        line = code.lstrip()
        text += f"    {line}\n"
        ends = (error.end_offset or 0) if error.end_lineno == number else len(code) + 1
        at = max(column - 1 - (len(code) - len(line)), 0)
        width = max(ends - column, 1)
        text += " " * (4 + at) + "^" * min(width, max(len(line) - at, 1)) + "\n"
    return text + f"{type(error).__name__}: {_cut(str(error.msg), MAX_MESSAGE)}\n"


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}[... {len(text) - 2 * half:,} characters ...]{text[-half:]}"


def hint(error: BaseException, variables: Iterable[str]) -> str:
    """Names similar to a missing one, as `Did you mean ...?` and a line end; or nothing.

    Args:
        error: What the code raised.
        variables: The names that were available.
    """
    if isinstance(error, NameError) and isinstance(error.name, str):
        known = [name for name in variables if not name.startswith("__")]
        return _near(error.name, [*known, *dir(builtins)])
    if isinstance(error, AttributeError) and isinstance(error.name, str):
        public = [name for name in _attributes(error.obj) if not name.startswith("_")]
        return _near(error.name, public)
    return ""


def _attributes(value: object) -> list[str]:
    """The attributes of its type or module, without calling code of the object."""
    names = vars(value) if type(value) is ModuleType else type.__dir__(type(value))
    return list(names)


def _near(name: str, known: list[str]) -> str:
    names = [item for item in known if type(item) is str]
    matches = difflib.get_close_matches(name[:100], names[:5000], n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(dict.fromkeys(matches))}?\n" if matches else ""
