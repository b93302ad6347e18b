"""Whether a text is Python, without running it, and without harm from a hostile one."""

from __future__ import annotations

import ast
import html
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MAX_DEPTH = 100
"""How deep brackets may be nested."""
MAX_LINKS = 500
"""How many operators, attributes, calls or `elif` may be chained."""

_DEEP = "it is nested or chained too deep; give its parts names"
_CHARACTER = "it holds a character that no Python code may hold: a null, or half of a pair"
_TOKEN = re.compile(
    r"""(?P<skip>\#[^\n]*+
        |\"{3}(?:[^"\\]++|\\.|"(?!""))*+(?:\"{3})?|'{3}(?:[^'\\]++|\\.|'(?!''))*+(?:'{3})?
        |"(?:[^"\\\n]++|\\.)*+"?|'(?:[^'\\\n]++|\\.)*+'?|\d[\w.]*+)
    |(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<next>[,;\n])|(?P<elif>elif\b)
    |(?P<link>(?:and|await|else|if|in|is|lambda|not|or)\b|[-+*/%@&|^~<>.])|\w++""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([\\'\"abfnrtvxNuU0-7\n\r])?")
_IDLE = (ast.Pass, ast.Break, ast.Continue, ast.Return, ast.Global, ast.Nonlocal, ast.Delete)
_ACTIVE = (ast.Call, ast.Await, ast.NamedExpr, ast.JoinedStr, ast.comprehension)
# What gets into code on its way through a web page or an editor; in a string it may be meant.
_INVISIBLE = {0x200B: None, 0x200C: None, 0x200D: None, 0x2060: None, 0xFEFF: None, 0xA0: " "}
_WRAP_START = re.compile(r"\s*+(?:(?:`{3,}+|~{3,}+)[^\n]*+\n|<(?:code|python)[^<>\n]{0,200}>)")
_WRAP_END = re.compile(r"(?:`{3,}|~{3,}|</[\w:]{1,30}>|<\|?\w{1,30}\|?>|END_CODE)\Z")
_NOTEBOOK = re.compile(r"\s*+In ?\[\d{1,6}\]:")
_PROMPT = re.compile(r"[ \t]*(?:>>>|\.\.\.|In ?\[\d{1,6}\]:)[ ]?(.*)")


class Fault(NamedTuple):
    """Why code does not parse: the line's number (0 for no line in particular), its text, why."""

    line: int
    text: str
    why: str


def versions(text: str, *, indent: str = "", is_markup: bool = False) -> Iterator[str]:
    """The code of a block: as it was sent, without what models put around it, unescaped.

    Args:
        text: what stands between the block's ends.
        indent: what stands before its fence.
        is_markup: whether it stands between tags, where `<` may have been sent as `&lt;`.
    """
    first = next((line for line in text.split("\n") if line.strip()), "")
    if indent and first.startswith(indent):
        text = re.sub(f"^{indent}", "", text, flags=re.MULTILINE)
    mended = _mended(text)
    if _NOTEBOOK.match(text):  # parses: `In [1]: x = 2` annotates In[1]
        yield mended
    yield text
    if mended != text:
        yield mended
    if is_markup and (unescaped := html.unescape(mended)) != mended:
        yield unescaped


def first_that_parses(codes: Iterable[str]) -> str | Fault:
    """The first code that parses, or what is wrong with the first."""
    found = _first(codes)
    return found if isinstance(found, Fault) else found[0]


def first_that_acts(codes: Iterable[str]) -> str | Fault | None:
    """The first code that parses, None if it does nothing, or what is wrong with the first.

    Prose, output and JSON often parse too, as names and literals: they do nothing.
    """
    found = _first(codes)
    if isinstance(found, Fault):
        return found
    code, tree = found
    return code if any(_is_action(statement) for statement in tree.body) else None


def _first(codes: Iterable[str]) -> tuple[str, ast.Module] | Fault:
    fault: Fault | None = None
    for code in codes:
        tree = _parse(code)
        if isinstance(tree, ast.Module):
            return code, tree
        fault = fault or tree
    return fault or Fault(0, "", "there is none")


def _parse(code: str) -> ast.Module | Fault:
    if "\0" in code:
        return Fault(0, "", _CHARACTER)
    if _is_deep(code):
        return Fault(0, "", _DEEP)
    try:
        return ast.parse(_ESCAPE.sub(_doubled, code))
    except SyntaxError as error:
        return _fault(code, error.lineno or 1, error.msg)
    except (MemoryError, RecursionError):
        return Fault(0, "", _DEEP)
    except ValueError:  # half of a surrogate pair
        return Fault(0, "", _CHARACTER)


def _is_deep(code: str) -> bool:
    """Whether the parser, or whoever walks the tree, would go too deep.

    CPython refuses more than 100 levels of indentation by itself. What it says of the rest differs
    by version: an error, much memory (`import a.a.a…`), or once a crash.
    """
    links, elifs = [0], 0
    for token in _TOKEN.finditer(code):
        kind = token.lastgroup
        if kind == "open":
            links.append(0)
        elif kind in {"close", "link"}:
            if kind == "close" and len(links) > 1:
                links.pop()
            links[-1] += 1
        elif kind == "elif":
            elifs += 1
        elif kind == "next" and (len(links) == 1 or token[0] == ","):
            links[-1] = 0
        if len(links) > MAX_DEPTH or max(links[-1], elifs) > MAX_LINKS:
            return True
    return False


def _doubled(escape: re.Match[str]) -> str:
    r"""Python warns of "\d"; the warning is the program's, and it may have made warnings errors."""
    return escape[0] if escape[1] else "\\\\"


def _fault(code: str, line: int, why: str) -> Fault:
    lines = code.split("\n")
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return Fault(line, text[:200].encode("utf-8", "backslashreplace").decode(), why[:300])


def _is_action(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.AnnAssign):
        return statement.value is not None
    if isinstance(statement, ast.Expr):
        return any(isinstance(node, _ACTIVE) for node in ast.walk(statement))
    return not isinstance(statement, _IDLE)


def _mended(text: str) -> str:
    code = _without_prompts(_unwrapped(text).translate(_INVISIBLE))
    return textwrap.dedent(code).strip("\n")


def _unwrapped(text: str) -> str:
    """Without fences, tags and markers inside the block's own."""
    for _ in range(2):
        start = _WRAP_START.match(text)
        text = text[start.end() :] if start else text
    for _ in range(3):
        text = text.rstrip()
        end = _WRAP_END.search(text, max(0, len(text) - 40))
        text = text[: end.start()] if end else text
    return text


def _without_prompts(code: str) -> str:
    """What was typed at the prompts, if the code is a session at a Python prompt."""
    lines = code.strip().split("\n")
    if not _PROMPT.match(lines[0]) or lines[0].lstrip().startswith("..."):
        return code
    return "\n".join(typed[1] for line in lines if (typed := _PROMPT.match(line)))
