"""Functions and classes of the code by their source, which is how a snapshot keeps them."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType
from typing import Any, cast

from ..codec.refusal import CannotKeepError

_MAIN = "__main__"
_FILES = ("<step ", "<restored ")
_OF_CLASSES = frozenset({"property", "staticmethod", "classmethod", "dataclass", "unique"})
_IN_BODIES = frozenset({"field", "auto"})
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign


def is_definition(value: Any) -> bool:
    """Whether it is a function or class that the code has defined."""
    return isinstance(value, FunctionType | type) and value.__module__ == _MAIN


def source_of(name: str, value: Any) -> str:
    """The source that defines a function or class at the top of a step.

    Raises:
        CannotKeepError: Running it again would not make the same.
    """
    kind = "class" if isinstance(value, type) else "function"
    own = "" if isinstance(value, type) else value.__code__.co_filename
    places = [place for place in _places(name, own) if _is_of(value, *place)]
    if not places:
        reason = "it is not defined under this name at the top of a step"
        raise CannotKeepError(kind, f"{reason}; define it there")
    if isinstance(value, type):
        if len(places) > 1:
            raise CannotKeepError(kind, "several steps define it; give each its own name")
        _check_class(value, places[0][0])
    else:
        _check_function(value, places[0][0])
    node, filename = places[0]
    entry: Any = linecache.cache[filename]
    lines: list[str] = entry[2]
    decorators = getattr(node, "decorator_list", ())
    first = min([node.lineno, *(each.lineno for each in decorators)])
    if node.col_offset:
        raise CannotKeepError(
            kind, "it shares a line with other code; define it on lines of its own"
        )
    return "".join(lines[first - 1 : node.end_lineno]).rstrip("\n") + "\n"


def restore(name: str, text: str, variables: dict[str, Any]) -> Any:
    """Run a definition, and return what it defines."""
    filename = f"<restored {name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    tree = ast.parse(text, filename)
    if len(tree.body) != 1 or not isinstance(tree.body[0], _Definition):
        raise ValueError(f"{name} is not one definition")
    exec(compile(tree, filename, "exec", dont_inherit=True), variables)  # noqa: S102 - as any code
    return variables[name]


@contextmanager
def only_restored() -> Generator[None]:
    """Look for sources only in what is restored meanwhile, which is forgotten afterwards."""
    steps = {path: entry for path, entry in linecache.cache.items() if path.startswith(_FILES)}
    for path in steps:
        del linecache.cache[path]
    try:
        yield
    finally:
        for path in [path for path in linecache.cache if path.startswith(_FILES)]:
            del linecache.cache[path]
        linecache.cache.update(steps)


def _places(name: str, filename: str) -> Iterator[tuple[_Definition, str]]:
    """The definitions of this name at the top of steps, and their files."""
    for path, entry in list(linecache.cache.items()):
        if not path.startswith(_FILES) or (filename and path != filename) or len(entry) != 4:  # noqa: PLR2004 - what is not read yet has one item
            continue
        for node in ast.parse("".join(entry[2])).body:
            if isinstance(node, ast.Assign):
                target = node.targets[0]
                own = target.id if isinstance(target, ast.Name) and len(node.targets) == 1 else ""
            else:
                own = getattr(node, "name", "")
            if own == name and isinstance(node, _Definition):
                yield node, path


def _is_of(value: Any, node: _Definition, filename: str) -> bool:
    """Whether the definition made this value."""
    if isinstance(value, FunctionType):
        first = value.__code__.co_firstlineno
        if isinstance(node, ast.Assign):
            return isinstance(node.value, ast.Lambda) and node.value.lineno == first
        return not isinstance(node, ast.ClassDef) and first == node.lineno
    if not isinstance(node, ast.ClassDef):
        return False
    members: list[Any] = list(cast("dict[str, Any]", vars(value)).values())
    methods = [each for each in members if isinstance(each, FunctionType)]
    files = {each.__code__.co_filename for each in methods}
    return not any(path.startswith(_FILES) for path in files) or filename in files


def _check_function(value: FunctionType, node: Any) -> None:
    if value.__closure__ or value.__code__.co_freevars:
        raise CannotKeepError(
            "function", "it uses variables of a function around it; use arguments"
        )
    if getattr(node, "decorator_list", ()):
        raise CannotKeepError("function", "it is decorated; keep it without the decorator")
    if vars(value):
        raise CannotKeepError("function", "it has attributes; keep them in a variable")
    own: Any = node.value if isinstance(node, ast.Assign) else node
    arguments: ast.arguments = own.args
    for default in [*arguments.defaults, *arguments.kw_defaults]:
        if default is not None and not _is_constant(default):
            raise CannotKeepError("function", "its defaults are computed; use constants")


def _check_class(value: type, node: Any) -> None:
    reason = "its body runs code; define only methods, fields and constants in it"
    if any(_name(each) not in _OF_CLASSES for each in node.decorator_list) or node.keywords:
        raise CannotKeepError("class", "it is decorated, or has a metaclass")
    is_enum = any(base.__module__ == "enum" for base in value.__mro__)
    for part in node.body:
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            bad = [each for each in part.decorator_list if not _is_accessor(each)]
            defaults = [each for each in (*part.args.defaults, *part.args.kw_defaults) if each]
            if bad or not all(map(_is_constant, defaults)):
                raise CannotKeepError("class", reason)
            _check_method(value, part)
        elif isinstance(part, ast.AnnAssign | ast.Assign):
            _check_attribute(value, part, reason, is_enum=is_enum)
        elif not isinstance(part, ast.Pass) and not _is_text(part):
            raise CannotKeepError("class", reason)


def _check_method(value: type, part: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    method = vars(value).get(part.name)
    function = getattr(method, "fget", None) or getattr(method, "__func__", method)
    if not isinstance(function, FunctionType) or function.__name__ != part.name:
        raise CannotKeepError("class", f"its method {part.name} was replaced")
    if set(function.__code__.co_freevars) - {"__class__"}:
        raise CannotKeepError("class", f"its method {part.name} uses variables around it")


def _check_attribute(
    value: type, part: ast.AnnAssign | ast.Assign, reason: str, *, is_enum: bool
) -> None:
    if part.value is None:
        return
    targets = part.targets if isinstance(part, ast.Assign) else [part.target]
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        raise CannotKeepError("class", reason)
    if isinstance(part.value, ast.Call) and _name(part.value) in _IN_BODIES:
        return
    if not _is_constant(part.value):
        raise CannotKeepError("class", reason)
    if not is_enum and vars(value).get(targets[0].id) != ast.literal_eval(part.value):
        fields: Mapping[str, Any] = getattr(value, "__dataclass_fields__", {})
        if targets[0].id not in fields and not hasattr(value, "_fields"):
            raise CannotKeepError("class", f"its attribute {targets[0].id} was changed")


def _is_constant(node: ast.expr) -> bool:
    """Whether it is a literal that nothing can change."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    if isinstance(node, ast.Tuple):
        return all(map(_is_constant, node.elts))
    return isinstance(node, ast.Constant)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_accessor(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in _OF_CLASSES


def _name(node: ast.expr) -> str:
    """The last part of the name of a decorator or of what is called."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def is_of_library(value: Any) -> bool:
    """Whether it is a module, or a function or class of one."""
    if type(value) is type(sys):
        return True
    name = getattr(value, "__qualname__", None)
    module = getattr(value, "__module__", None) or "builtins"
    if not isinstance(name, str) or module == _MAIN or not callable(value):
        return False
    return getattr(sys.modules.get(module), name, None) is value
