"""Which modules code may import."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from typing import NamedTuple

_CATCH = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


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
    """A text that says what is not allowed, and which allowed names are similar."""
    near = difflib.get_close_matches(module, sorted(allow), n=3, cutoff=0.75)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"import of {module!r} is not allowed here.{hint}"


def is_needless(node: ast.stmt, helpers: frozenset[str]) -> bool:
    """Whether it imports only helpers that exist already, as models like to do."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return False
    return all(alias.name in helpers and alias.asname in {None, alias.name} for alias in node.names)


def check_imports(tree: ast.AST, allow: frozenset[str]) -> list[RefusedImport]:
    """The imports anywhere in the code that are not allowed, in the order of their lines.

    An import under an `except` that catches its refusal is left to the moment it runs, as is one
    under `if TYPE_CHECKING:`.
    """
    refused = [
        RefusedImport(node.lineno, module)
        for node in _imports_of(tree)
        for module in _refused(node, allow)
    ]
    return sorted(refused)


def _imports_of(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.Try) and any(map(_catches_imports, node.handlers)):
            stack += [*node.handlers, *node.orelse, *node.finalbody]
        elif isinstance(node, ast.If) and _last_name(node.test) == "TYPE_CHECKING":
            stack += node.orelse
        else:
            stack += ast.iter_child_nodes(node)


def _catches_imports(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or _last_name(kind) in _CATCH for kind in kinds)


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


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
