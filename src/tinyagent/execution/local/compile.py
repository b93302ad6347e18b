"""Compiling code of trust level LOCAL."""

from __future__ import annotations

import ast
from types import CodeType

from tinyagent.execution.imports import check_imports, is_needless, refusal
from tinyagent.execution.local.names import LEVEL
from tinyagent.execution.local.rules import LocalRules


class CodeRefused(Exception):
    """The code holds what this trust level does not run; the message says where, what, the mend."""


def compile_local(
    source: str, filename: str, allow: frozenset[str], helpers: frozenset[str] = frozenset()
) -> CodeType:
    """Compile statements with their guards.

    Args:
        source: the code.
        filename: the name it is compiled under.
        allow: modules that it may import.
        helpers: functions that are there already; models like to import them all the same.

    Raises:
        CodeRefused: a construct or an import is not allowed.
        SyntaxError: it is no Python.
        ValueError: it holds null bytes.
        RecursionError: it is nested too deep.
        MemoryError: the same, for the parser.
    """
    tree = ast.parse(source, filename)
    tree.body = [node for node in tree.body if not is_needless(node, helpers)]
    rules = LocalRules()
    for line, module in check_imports(tree, allow):
        rules.refuse(line, refusal(module, allow))
    rules.visit(tree)
    if rules.refused:
        raise CodeRefused(_tell(rules.refused, source))
    return compile(tree, filename, "exec", dont_inherit=True)


def _tell(refused: list[tuple[int, str]], source: str) -> str:
    lines = source.splitlines()
    text = f"Not run: the code uses what is not allowed {LEVEL}.\n"
    for number, why in sorted(set(refused))[:10]:
        code = lines[number - 1].strip() if 0 < number <= len(lines) else ""
        text += f"  line {number}: {why}\n    {code}\n"
    return text
