"""Which modules code may import."""

from __future__ import annotations

import ast
import difflib
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import NamedTuple

_SHOWN = 60


class RefusedImport(NamedTuple):
    """An import that is not allowed, and its line."""

    line: int
    module: str


def allowed(module: str, allow: frozenset[str]) -> bool:
    """Whether `module` or a package that holds it is in the list; `"*"` allows all."""
    if "*" in allow:
        return True
    parts = module.split(".")
    return any(".".join(parts[:count]) in allow for count in range(1, len(parts) + 1))


def refusal(module: str, allow: frozenset[str]) -> str:
    """A text that says what is not allowed, which names are similar, and what is allowed."""
    top = module.partition(".")[0]
    near = difflib.get_close_matches(module, sorted(allow), n=3, cutoff=0.75)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return (
        f"import of {module!r} is not allowed here.{hint} Allowed are: {_listed(allow)}."
        f' (Whoever runs this code can allow it: extra_imports=["{top}"])'
    )


def _listed(allow: frozenset[str]) -> str:
    """The names; if most of the standard library is in the list, only the others."""
    public = {name for name in allow if not name.startswith("_")}
    if len(public) <= _SHOWN:
        return ", ".join(sorted(public))
    others = sorted(public - sys.stdlib_module_names)
    installed = [name for name in others if find_spec(name.partition(".")[0]) is not None]
    return ", ".join(["most of the standard library", *installed])


def is_needless(node: ast.stmt, helpers: frozenset[str]) -> bool:
    """Whether it imports only helpers that exist already, as models like to do."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return False
    return all(alias.name in helpers and alias.asname in {None, alias.name} for alias in node.names)


def check_imports(tree: ast.AST, allow: frozenset[str]) -> list[RefusedImport]:
    """The imports anywhere in the code that are not allowed, in the order of their lines."""
    refused = [
        RefusedImport(node.lineno, module)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in _refused(node, allow)
    ]
    return sorted(refused)


def _refused(node: ast.Import | ast.ImportFrom, allow: frozenset[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if not allowed(alias.name, allow))
        return
    module = "." * node.level + (node.module or "")
    if module == "__future__" or (not node.level and allowed(module, allow)):
        return
    parts = [f"{module}.{alias.name}" for alias in node.names]
    if node.level or not all(allowed(part, allow) for part in parts):
        yield module
