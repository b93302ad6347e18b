"""Stand-ins in code: as whole literals, so that no text of a source becomes code."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import accumulate

from skillian.chat.sealed.stand_ins import NAME, StandIns


def opened_code(code: str, stand_ins: StandIns) -> str | None:
    """Code with the texts in place of the literals that are their names.

    Returns:
        None if a name is anywhere else: in a comment, in a longer text, or not in quotes.
    """
    made = _changed(code, lambda text: stand_ins.text(text) if NAME.fullmatch(text) else None)
    remaining = [name for name in NAME.findall(made) if stand_ins.text(name) is not None]
    return None if remaining else made


def closed_code(code: str, stand_ins: StandIns) -> str:
    """Code with the names in place of the literals that are texts of sources."""
    return _changed(code, stand_ins.known)


def _changed(code: str, change: Callable[[str], str | None]) -> str:
    """Code with some literals changed; code that is not valid stays as it is."""
    literals = sorted(_literals(code), key=lambda each: (-each.lineno, -each.col_offset))
    if not literals:
        return code
    encoded = code.encode()
    starts = [0, *accumulate(map(len, encoded.splitlines(keepends=True)))]
    for node in literals:
        text = change(str(node.value))
        if text is not None and node.end_lineno is not None and node.end_col_offset is not None:
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            encoded = encoded[:start] + ascii(text).encode() + encoded[end:]
    return encoded.decode()


def _literals(code: str) -> Iterator[ast.Constant]:
    """Yield the texts of code, those within f-strings excepted."""
    try:
        nodes: list[ast.AST] = [ast.parse(code)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node
        elif not isinstance(node, ast.JoinedStr):
            nodes += ast.iter_child_nodes(node)
