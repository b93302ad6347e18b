"""Reading a code agent's reply: its reasoning, and the Python code to run.

The first fence that says it is Python counts, wherever it is. If there is none, a fence without a
language counts if its text parses and does something: what models quote in such fences is mostly
output. A reply that is nothing but Python counts on the same terms.

Reading takes time linear in the text: fences are found in one pass, a block is tried with a fixed
number of ends, and no pattern goes back over what it has matched.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from tinyagent.core.errors import MalformedReply
from tinyagent.core.parts import Reasoning, Text
from tinyagent.core.types import ModelResponse, RawToolCall
from tinyagent.core.untrusted import without_thoughts

MAX_CHARS = 200_000
"""A longer reply is not read."""
MAX_BLOCKS = 200
"""How many blocks of a reply are looked at."""
MAX_DEPTH = 100
"""How deep brackets may be nested."""
MAX_LINKS = 500
"""How many operators, attributes, calls or `elif` may be chained."""

_WANTED = "Send one block that starts with ```python and ends with ```."
_ANSWER = "To answer, call final_answer(value) in it."
_NO_CODE = f"Your reply contains no Python code. {_WANTED} {_ANSWER}"
_EMPTY = f"Your block of code contains no statement. {_WANTED} {_ANSWER}"
_TOO_LONG = f"Your reply is longer than {MAX_CHARS:,} characters and was not read. {_WANTED}"
_ON_FENCE = "Your block has code on the line of its fence; start the code on the next line."
_NO_END = " The block has no end: if your reply was cut off, send less code in one step."
_CUT_OFF = (
    "Your reply was cut off at its maximum length, so nothing of it was run. Send less in one step:"
    " think briefly, do one part, keep the result in a variable, and go on in the next block."
)
_NO_COMMANDS = (
    "Shell and notebook commands are not available and packages cannot be installed: leave the line"
    " out and import what you need."
)
_TOO_DEEP = "it is nested or chained too deeply; give its parts names"
_BAD_CHARACTER = "it contains a character that code cannot contain: a null, or half of a pair"

_FENCE = re.compile(r"^[ \t]*+(?P<fence>`{3,}+|~{3,}+)(?P<info>[^\n`]*+)$", re.MULTILINE)
_PYTHON = re.compile(r"[ \t]*+\{?\.?(?:i?python|py)[\d.]*\b(?s:(?P<rest>.*))", re.IGNORECASE)
_ATTRIBUTES = re.compile(r"[ \t]*+(?:[{:}].*|[\w-]++=[\"'{].*|[\w./-]++[ \t]*+)?")
_LONGEST_FENCE = 8  # to count each length would take quadratic time
_ENDS_TRIED = 6
_COMMAND = re.compile(
    r"[%!]|(?:python3? -m )?(?:pip3?|conda|mamba|uv|apt|apt-get)\b.*\b(?:install|add)\b"
)
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


class CodeReply(NamedTuple):
    """The text before the block, the block's code, and its tree."""

    reasoning: str
    code: str
    tree: ast.Module


class _Block(NamedTuple):
    """A fenced part of the text.

    `language` is empty if the fence names none; `rest` is what follows it if it is Python.
    """

    start: int
    body: int
    end: int
    fence: str
    language: str
    rest: str | None
    is_closed: bool


class _Fault(NamedTuple):
    """Why code does not parse: the line (0 if none in particular), its text, the reason."""

    line: int
    text: str
    reason: str


def read_code_reply(text: str, *, is_cut_off: bool = False) -> CodeReply:
    """Find the first block of Python in a model's reply; its code parses.

    Args:
        text: The reply.
        is_cut_off: Whether it ended at its maximum length; then only a block that has an end is
            complete.

    Raises:
        MalformedReply: There is no block, it is empty, cut off, in another language, or does not
            parse; the message says what is wrong, in which line, and what to send.
    """
    try:
        reply, has_end = _read(text)
    except MalformedReply as fault:
        raise MalformedReply(_CUT_OFF) if is_cut_off else fault from None
    if is_cut_off and not has_end:
        raise MalformedReply(_CUT_OFF)
    return reply


def _read(text: str) -> tuple[CodeReply, bool]:
    """The reply, and whether a fence ends its code."""
    if len(text) > MAX_CHARS:
        raise MalformedReply(_TOO_LONG)
    text = without_thoughts(text.replace("\r\n", "\n")).strip("\n")
    if tree := _action(text):
        return CodeReply("", text, tree), False
    text = _after_unopened_thought(text)
    unmarked, complaint = None, ""
    for block in islice(_blocks(text), MAX_BLOCKS):
        if block.rest is not None:
            code, tree, has_end = _code_of(text, block)
            if tree.body:
                return CodeReply(text[: block.start].strip(), code, tree), has_end
            complaint = complaint or _EMPTY
        elif block.language:
            complaint = complaint or (
                f"Your block is {block.language}, and only Python is run: call tools as Python"
                f" functions. {_WANTED}"
            )
        elif unmarked is None and block.is_closed:
            code = _dedented(text[block.body : block.end])
            if tree := _action(code):
                unmarked = CodeReply(text[: block.start].strip(), code, tree)
    if unmarked is None:
        raise MalformedReply(complaint or _NO_CODE)
    return unmarked, True


def read_last_words(text: str) -> Any:
    """The answer in a reply after which no code is run.

    It is the text, or what the text's code passes to `final_answer` if that is written out.

    Raises:
        MalformedReply: There is no such answer.
    """
    try:
        tree = read_code_reply(text).tree
    except MalformedReply:
        words = without_thoughts(text).strip()
        if not words or "```" in words:
            raise
        return words
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Name) and call.func.id == "final_answer" and call.args:
            try:
                values = [ast.literal_eval(value) for value in call.args]
            except (ValueError, TypeError, RecursionError, MemoryError):
                continue
            return values[0] if len(values) == 1 else values
    raise MalformedReply("The reply is code, and no more code is run.")


def _after_unopened_thought(text: str) -> str:
    """The text after a `</think>` whose `<think>` the server had put at the end of the prompt."""
    draft, tag, answer = text.partition("</think>")
    if not tag or "<think>" in draft:
        return text
    is_open = sum(1 for _ in _FENCE.finditer(draft)) % 2 == 1
    following = _FENCE.search(answer)
    is_in_block = is_open and (following is None or not following["info"].strip())
    return text if is_in_block else answer


def _blocks(text: str) -> Iterator[_Block]:
    """The blocks in their order; a fence that says it is Python ends any other that is open."""
    opener: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        is_python = _PYTHON.fullmatch(fence["info"]) is not None
        if opener is None:
            opener = fence
        elif is_python:
            yield _block(text, opener, fence.start(), is_closed=False)
            opener = fence
        elif not fence["info"].strip() and fence["fence"].startswith(opener["fence"]):
            yield _block(text, opener, fence.start(), is_closed=True)
            opener = None
    if opener is not None:
        yield _block(text, opener, len(text), is_closed=False)


def _block(text: str, opener: re.Match[str], end: int, *, is_closed: bool) -> _Block:
    body = min(opener.end() + 1, len(text))
    python = _PYTHON.fullmatch(opener["info"])
    rest = None if python is None else python["rest"]
    words = opener["info"].split()
    language = words[0][:20].lower() if words else ""
    fence = opener["fence"]
    return _Block(opener.start(), body, max(end, body), fence, language, rest, is_closed)


def _code_of(text: str, block: _Block) -> tuple[str, ast.Module, bool]:
    """The code of a Python block, its tree, and whether a fence ends it.

    A later end counts if the code holds the first one in a string.
    """
    if not _ATTRIBUTES.fullmatch(block.rest or ""):
        raise MalformedReply(f"{_ON_FENCE} {_WANTED}")
    fence = block.fence
    closer = re.compile(
        rf"^[ \t]*+{fence[0]}{{{min(len(fence), _LONGEST_FENCE)},}}+[ \t]*+$", re.MULTILINE
    )
    ends = [end.start() for end in islice(closer.finditer(text, block.body), _ENDS_TRIED)]
    fault: _Fault | None = None
    for end in [*ends, block.end]:
        code = _dedented(text[block.body : end])
        tree = _parse(code)
        if isinstance(tree, ast.Module):
            return code, tree, end in ends or block.is_closed
        fault = fault or tree
    raise MalformedReply(_explain(fault or _Fault(0, "", "")) + ("" if ends else _NO_END))


def _dedented(code: str) -> str:
    return textwrap.dedent(code).strip("\n")


def _parse(code: str) -> ast.Module | _Fault:
    if "\0" in code:
        return _Fault(0, "", _BAD_CHARACTER)
    if _is_too_deep(code):
        return _Fault(0, "", _TOO_DEEP)
    try:
        return ast.parse(_ESCAPE.sub(_doubled, code))
    except SyntaxError as error:
        lines, line = code.split("\n"), error.lineno or 1
        faulty = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        quoted = faulty[:200].encode("utf-8", "backslashreplace").decode()
        return _Fault(line, quoted, error.msg[:300])
    except (MemoryError, RecursionError):
        return _Fault(0, "", _TOO_DEEP)
    except ValueError:  # half of a surrogate pair
        return _Fault(0, "", _BAD_CHARACTER)


def _is_too_deep(code: str) -> bool:
    """Whether the parser, or a walk over the tree, would go too deep.

    CPython itself refuses more than 100 levels of indentation. How it fails on the rest depends on
    the version: an error, much memory (`import a.a.a…`), or once a crash.
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
    r"""Double the backslash of an escape like "\d", which would make Python emit a warning."""
    return escape[0] if escape[1] else "\\\\"


def _action(code: str) -> ast.Module | None:
    """The tree of code that does something: prose, output and JSON often parse as literals."""
    tree = _parse(code)
    acts = isinstance(tree, ast.Module) and any(map(_is_action, tree.body))
    return tree if acts and isinstance(tree, ast.Module) else None


def _is_action(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.AnnAssign):
        return statement.value is not None
    if isinstance(statement, ast.Expr):
        return any(isinstance(node, _ACTIVE) for node in ast.walk(statement))
    return not isinstance(statement, _IDLE)


def _explain(fault: _Fault) -> str:
    where = f"it does not parse, line {fault.line}: " if fault.line else ""
    where += fault.reason + (f"\n    {fault.text}\n" if fault.text else ". ")
    advice = (
        _NO_COMMANDS if _COMMAND.match(fault.text) else "Send the whole block again, corrected."
    )
    return f"Your code was not run: {where}{advice}"


def spoken_parts(response: ModelResponse, text: str) -> tuple[Reasoning | Text, ...]:
    """The reasoning and the text of an answer; none if there is only plain text.

    Args:
        response: The answer.
        text: Replaces the text of the answer, unless there is reasoning between its texts: such
            reasoning is only valid in its place.
    """
    parts = tuple(part for part in response.parts if not isinstance(part, RawToolCall))
    texts = [part for part in parts if isinstance(part, Text)]
    if len(texts) == len(parts) and all(part.opaque is None for part in texts):
        return ()
    is_same = "".join(part.text for part in texts).strip() == text.strip()
    first_text = next((at for at, part in enumerate(parts) if isinstance(part, Text)), len(parts))
    if is_same or any(isinstance(part, Reasoning) for part in parts[first_text:]):
        return parts
    thoughts = [part for part in parts if isinstance(part, Reasoning)]
    return (*thoughts, Text(text, texts[0].opaque if len(texts) == 1 else None))
