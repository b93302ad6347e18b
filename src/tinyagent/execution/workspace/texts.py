"""Changes as text: line by line, bounded, and with nothing in it that can deceive a reader."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from tinyagent.core.execution import Change
from tinyagent.execution.workspace.names import visible

MAX_TEXT_BYTES = 200_000
"""Of a file that is compared line by line."""
_MAX_LINES = 3_000
_MAX_LINE = 1_000
_MAX_DIFF = 100_000
_MARKS = {"added": "A", "changed": "M", "deleted": "D", "renamed": "R"}


def text_diff(path: str, old: bytes, new: bytes, kind: str) -> str:
    """A unified diff of two texts; "" if one of them is binary or too long."""
    before, after = _lines(old), _lines(new)
    if before is None or after is None:
        return ""
    name = visible(path)
    names = (
        ("/dev/null" if kind == "added" else f"a/{name}"),
        ("/dev/null" if kind == "deleted" else f"b/{name}"),
    )
    lines = difflib.unified_diff(before, after, *names, lineterm="")
    text = "\n".join(map(_shown_line, lines))
    if len(text) > _MAX_DIFF:
        text = f"{text[:_MAX_DIFF]}\n[... {len(text) - _MAX_DIFF:,} characters are left out ...]"
    return text


def describe_changes(changes: Iterable[Change]) -> str:
    """The changes as a person reads them: a line for each, and the diffs of texts below it."""
    return "\n".join(part for change in changes for part in _parts(change))


def _parts(change: Change) -> list[str]:
    place = visible(change.path)
    if change.old_path:
        place = f"{visible(change.old_path)} -> {place}"
    notes = [change.withheld and f"not committed: {change.withheld}"]
    notes.append("the folder has changed here meanwhile" if change.conflict else "")
    if change.digest and not change.diff and change.kind in {"added", "changed"}:
        notes.append(f"{change.size:,} bytes, SHA-256 {change.digest[:16]}")
    note = "; ".join(filter(None, notes))
    line = f"{_MARKS[change.kind]} {place}" + (f" ({note})" if note else "")
    return [line, change.diff] if change.diff else [line]


def _lines(content: bytes) -> list[str] | None:
    """The lines of a text; None if it cannot be shown as one."""
    if len(content) > MAX_TEXT_BYTES or b"\0" in content or content.count(b"\n") > _MAX_LINES:
        return None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    lines = text.split("\n")
    if lines and not lines[-1]:
        return lines[:-1]
    return [*lines[:-1], f"{lines[-1]}\n\\ No newline at end of file"] if lines else []


def _shown_line(line: str) -> str:
    body, mark, end = line.partition("\n\\ ")
    text = visible(body.replace("\t", "    "))
    if len(text) > _MAX_LINE:
        text = f"{text[:_MAX_LINE]} [... {len(text) - _MAX_LINE:,} characters ...]"
    return text + mark + end
