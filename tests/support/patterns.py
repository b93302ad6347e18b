"""Finds regular expressions of `src` whose work grows faster than the text they read.

A pattern is read as an automaton. Where a word can lead through it in two ways that both continue
(two repeats that overlap, a repeat within a repeat, or a repeat that a search begins at each letter
again), the word is repeated and given to the real engine. What is reported is a text that has cost
it more than linear time. Patterns that are built at run time are to be listed.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.automata import Automaton, TooComplexError, Word  # noqa: E402

_OURS = "our own forms, read against what a test sends"
EXEMPT: dict[tuple[str, str], str] = {
    (
        "src/skillian/chat/check/grounded.py",
        r"f'(?<!\\w){re.escape(value)}(?!\\w)'",
    ): "an escaped text",
    ("src/skillian/connectors/files/lines.py",
     r"f'{cell}(?:{re.escape(delimiter)}{cell})*+\\s*+'"):
        "every repeat is possessive",
    ("src/skillian/connectors/mysql/session.py", "_PIECES"): "the first refused piece ends it",
    ("src/skillian/offline/language/clauses.py",
     "''.join((f'(?:(?:{w[1]}) ){w[2]}' for w in words if w))"): "our own forms, of few words each",
    ("src/skillian/offline/language/clauses.py", "_FORMS"):
        "our own forms, read at one place of one question",
    ("src/skillian/offline/language/clauses.py", "form"):
        "our own forms, read against the clauses of one question",
    ("src/skillian/settings.py", r"f'[ \\t]*(export[ \\t]+)?{variable}[ \\t]*='"):
        "lines of the operator's file",
    ("src/tinyagent/execution/network/secrets.py",
     "b'|'.join((part % re.escape(form) for part, form in zip(parts, longest_first, strict=True)))"
     ): "escaped texts",
    ("src/tinyagent/execution/sandbox/worker/codec/rebuild.py", "data[0]"):
        "the code's own pattern, in its session",
    ("src/tinyagent/agents/code_reply.py",
     "f'^[ \\\\t]*+{fence[0]}{{{min(len(fence), _LONGEST_FENCE)},}}+[ \\\\t]*+$'"):
        "every repeat is possessive, and begins at a line",
    ("src/tinyagent/execution/workspace/names.py", "fnmatch.translate(part)"):
        "its groups are atomic",
    ("src/tinyagent/execution/workspace/names.py",
     "'|'.join(map(fnmatch.translate, parts)) or '(?!)'"): "their groups are atomic",
    ("src/tinyagent/models/provider.py", "pattern"): "our own forms of the names of models",
    ("src/tinyagent/testing/strict/chat/request.py", "form"): _OURS,
    ("src/tinyagent/testing/strict/openai.py", "rules.pattern"): _OURS,
    ("src/tinyagent/testing/strict/rules.py", "form"): _OURS,
    ("src/tinyagent/testing/strict/server.py", "endpoint.path"): _OURS,
}  # fmt: skip
"""Patterns that are not to be examined, by file and name or expression, with the reason."""

_Methods = frozenset[str]
_CALLS = frozenset({
    "compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer",
})  # fmt: skip
_ANCHORED = frozenset({"match", "fullmatch"})
_MOST_TEXT = 1 << 15
_CLEAR_SECONDS = 0.004
_STEP_BY_STEP = 32  # one letter more may double the work
_TRIES, _ROUNDS = 3, 5  # a busy machine makes one round slow, and not each of them
_TIMES = 4
_MORE_THAN_LINEAR = 8


def growth(pattern: re.Pattern[Any], methods: Iterable[str] = ()) -> str:
    """A text that costs the engine more than linear time, in words; "" if none is found."""
    is_search = not methods or not _ANCHORED.issuperset(methods)
    try:
        automaton = Automaton(pattern, is_search=is_search)
        for word in automaton.ambiguous_words():
            for end in ("", *automaton.letters):
                if _grows(pattern, word, end, is_search=is_search):
                    return f"{word.before!r} + n * {word.repeated!r} + {end!r}"
    except TooComplexError as fault:
        return f"not examined: {fault}"
    return ""


def _grows(pattern: re.Pattern[Any], word: Word, end: str, *, is_search: bool) -> bool:
    """Whether a text of several times the length takes more than as many times the work."""
    most = _MOST_TEXT // len(word.repeated)
    count = 8
    while _cost(pattern, word, end, count, is_search=is_search) < _CLEAR_SECONDS:
        count += 1 if count < _STEP_BY_STEP else count // 2
        if count > most:
            return False
    for _ in range(_ROUNDS):
        few, many = (
            min(_cost(pattern, word, end, each, is_search=is_search) for _ in range(_TRIES))
            for each in (max(1, count // _TIMES), count)
        )
        if many <= _MORE_THAN_LINEAR * few:
            return False
    return True


def _cost(pattern: re.Pattern[Any], word: Word, end: str, count: int, *, is_search: bool) -> float:
    text: Any = word.before + word.repeated * count + end
    if isinstance(pattern.pattern, bytes):
        text = text.encode("latin-1")
    started = time.thread_time()
    if is_search:
        deque(cast("Any", pattern).finditer(text), maxlen=0)
    else:
        pattern.fullmatch(text)
        pattern.match(text)
    return time.thread_time() - started


class Use(NamedTuple):
    """A pattern of the source.

    Args:
        path: of the file.
        line: there.
        text: the name that it is given, or the expression.
        pattern: compiled; None if it is built at run time.
        methods: how it is used; empty if that is not known.
    """

    path: str
    line: int
    text: str
    pattern: re.Pattern[Any] | None
    methods: frozenset[str]


def uses(source: Path) -> Iterator[Use]:
    """All patterns of the modules below a folder, which are imported for it."""
    files = sorted(source.rglob("*.py"))
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}
    everywhere = _methods(trees.values())
    seen: set[re.Pattern[Any]] = set()
    for path, tree in trees.items():
        if any(map(_is_call, ast.walk(tree))):
            parts = path.relative_to(source).with_suffix("").parts
            names = vars(importlib.import_module(".".join(parts).removesuffix(".__init__")))
            methods = {**everywhere, **_methods([tree])}
            for statement in tree.body:
                for use in _of_statement(path, statement, names, methods):
                    seen.update([use.pattern] if use.pattern else [])
                    yield use
            for name, value in names.items():  # what a function has made at import
                for pattern in set(_patterns(value)) - seen:
                    seen.add(pattern)
                    yield Use(_shown(path), 0, name, pattern, methods.get(name, frozenset()))


def _of_statement(
    path: Path, statement: ast.stmt, names: Mapping[str, Any], methods: Mapping[str, _Methods]
) -> Iterator[Use]:
    target = _target(statement)
    for call in filter(_is_call, ast.walk(statement)):
        assert isinstance(call, ast.Call)
        assert isinstance(call.func, ast.Attribute)
        is_kept = call.func.attr == "compile"
        place = _shown(path), call.lineno, is_kept * target or ast.unparse(call.args[0])
        pattern = _evaluated(call, names)
        if pattern is not None:
            how = methods.get(target, frozenset()) if is_kept else frozenset({call.func.attr})
            yield Use(*place, pattern, how)
        elif is_kept and target and (made := list(_patterns(names[target]))):
            yield from (Use(*place, each, frozenset()) for each in made)
        else:
            yield Use(*place, None, frozenset())


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def _target(statement: ast.stmt) -> str:
    """The name that a statement gives a value to."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return ""


def _evaluated(call: ast.Call, names: Mapping[str, Any]) -> re.Pattern[Any] | None:
    """The pattern, if it needs nothing but the names of its module."""
    flags = [word.value for word in call.keywords if word.arg == "flags"]
    flags += call.args[1:2] if ast.unparse(call.func) == "re.compile" else []
    try:
        text, *more = (eval(ast.unparse(each), dict(names)) for each in [call.args[0], *flags])  # noqa: S307 - of our own source
        return re.compile(text, *more)
    except (NameError, AttributeError):
        return None


def _patterns(value: Any) -> Iterator[re.Pattern[Any]]:
    """The patterns in a value of a module."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, Mapping):
        yield from _patterns([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple | set | frozenset):
        for each in cast("Iterable[Any]", value):
            yield from _patterns(each)


def _is_call(node: ast.AST) -> bool:
    """Whether it is a call such as `re.compile(...)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=name)):
            return name in _CALLS
        case _:
            return False


def _methods(trees: Iterable[ast.AST]) -> dict[str, _Methods]:
    """The methods that are used of each name; none if it is also used in other ways."""
    used: dict[str, set[str]] = defaultdict(set)
    nodes = [node for tree in trees for node in ast.walk(tree)]
    whole = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=method):
                used[name].add(method)
            case ast.Name(id=name, ctx=ast.Load()) if id(node) not in whole:
                used[name].add("")
            case _:
                pass
    return {name: frozenset(() if "" in each else each) for name, each in used.items()}


def main() -> int:
    """Print what is wrong; returns how the process ends."""
    faults: list[str] = []
    stale = dict(EXEMPT)
    for use in uses(ROOT / "src"):
        if stale.pop((use.path, use.text), "") or (use.path, use.text) in EXEMPT:
            continue
        place = f"{use.path}:{use.line}: {use.text}"
        if use.pattern is None:
            faults.append(
                f"{place}\n  is built at run time: list it with the reason why it is linear"
            )
        elif text := growth(use.pattern, use.methods):
            faults.append(f"{place}\n  takes more than linear time on {text}")
    faults += [f"{path}: {text}\n  is exempt and not there" for path, text in stale]
    sys.stdout.write("".join(f"{fault}\n" for fault in faults))
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
