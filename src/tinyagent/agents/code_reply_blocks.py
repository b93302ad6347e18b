"""Where the blocks of a model's reply begin and end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

from tinyagent.agents.code_reply_syntax import versions

MAX_BLOCKS = 200
"""How many blocks of a reply are looked at."""


class Block(NamedTuple):
    """A part of the text between fences or tags, or the model's thinking.

    `kind` is python, unmarked (a fence without a language), json, thought, unfinished thought, or
    the name of another language. `start` is where it begins with its fence, `body` where its text
    does, `after` where the search goes on; `codes` are the readings of its text, the likeliest
    first.
    """

    start: int
    body: int
    after: int
    kind: str
    codes: Iterable[str] = ()
    is_closed: bool = True


_FLAGS = re.IGNORECASE | re.MULTILINE
_MARK = re.compile(
    r"^[ \t]*<(?P<think>think(?:ing)?)>"
    r"|(?P<fence>`{3,}|~{3,})"
    r"|(?<!`)<(?P<tag>code|python|py|ipython|tool_code|execute(?:_i?python|_code)?"
    r"|parameter(?==code>| name=\"code\"))(?P<attributes>[\s=][^<>\n]{0,200})?>"
    r"|(?<!`)<(?P<call>tool_call|tool_use|function_call)>"
    r"|(?P<llama><\|python_tag\|>|\[PYTHON\])",
    _FLAGS,
)
_THOUGHT = re.compile(r"^[ \t]*<think(?:ing)?>", _FLAGS)
_END_OF_THOUGHT = r"(?<![\"'`(|])</think(?:ing)?>(?![\"'`)|])"
_THOUGHT_END = re.compile(_END_OF_THOUGHT, _FLAGS)
_WHOLE_THOUGHT = re.compile(
    rf"^[ \t]*<think(?:ing)?>.*?(?:{_END_OF_THOUGHT}|\Z)", _FLAGS | re.DOTALL
)
_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}+|~{3,}+)[ \t]*(\w?)", re.MULTILINE)
_PYTHON = (
    r"(?:i?python|py|pycon|pyodide|jupyter|(?:i?python[-_])?repl|tool_code|execute_i?python)[\d.]*+"
)
_IS_PYTHON = re.compile(_PYTHON, re.IGNORECASE)
_LANGUAGE = re.compile(
    rf"[ \t]*+\{{?\.?(?:(?P<python>{_PYTHON}(?![\w+-]))|(?P<other>\w++))?", re.IGNORECASE
)
# What may follow the language: a title, a file's name, Pandoc's attributes.
_NAMED = (
    r"(?:title|file|file_?name|name|id|class|start|hl_lines|linenums)="
    r"(?:\"[^\"\n]*+\"|'[^'\n]*+'|[^\s=\"']++)"
)
_ATTRIBUTES = re.compile(
    rf"[ \t]*+(?:[:,}}].*+|\{{.*\}}|[\w./-]++|[^{{}}()\n]*+\}}"
    rf"|{_NAMED}(?:[ \t]++{_NAMED})*+)?[ \t]*+",
    re.IGNORECASE,
)
_LINE_START = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?")
_ONE_LINE = re.compile(r"([^\n`~]*+)(?:`{3,}+|~{3,}+)")
_ONE_LINE_TAG = re.compile(r"([^\n]{0,500}?)</code>", re.IGNORECASE)
_TAG_LANGUAGE = re.compile(r"\b(?:lang|language)=[\"']?(\w+)", re.IGNORECASE)
_TAG_GAP = re.compile(r"[ \t]*+\n|")
_LLAMA_END = re.compile(r"<\|eo[mt]_id\|>|\[/PYTHON\]", re.IGNORECASE)
# What ends a block when its own end does not: another block's end, or a made-up observation.
_LOOSE_END = re.compile(
    r"^[ \t]*(?:`{3}|~{3}|</|<\||<end_code>|END_CODE|Observation:)|`{3,}+[ \t]*$", re.MULTILINE
)
_JSON = {"json", "jsonc", "json5", "tool_call"}
# A fence closes one that is no longer; to count every length apart would take quadratic time.
_LONGEST_FENCE = 8
_CLOSERS_TRIED = 6


def find_blocks(text: str) -> Iterator[Block]:
    """The first `MAX_BLOCKS` blocks in order; those within the model's thinking are left out."""
    position, count, open_before = 0, 0, False
    while count < MAX_BLOCKS and (mark := _MARK.search(text, position)):
        block = _block_at(text, mark)
        position = block.after if block else mark.end()
        if block is None:
            continue
        count += 1
        is_open = block.kind == "unmarked" and not block.is_closed
        # Each open one reaches to the end of the text: to read them all would take quadratic time.
        if not (is_open and open_before):
            yield block
        open_before = open_before or is_open


def after_unopened_thought(text: str) -> int:
    """Where the reply begins, when the server had already sent the opening `<think>`."""
    end = _THOUGHT_END.search(text)
    if end is None or _THOUGHT.search(text, 0, end.start()):
        return 0
    fences_before = sum(1 for _ in _FENCE_LINE.finditer(text, 0, end.start()))
    following = _FENCE_LINE.search(text, end.end())
    is_in_block = fences_before % 2 == 1 and following is not None and not following[1]
    return 0 if is_in_block else end.end()


def without_thoughts(text: str) -> str:
    """The text without the model's `<think>` parts."""
    return _WHOLE_THOUGHT.sub("", text)


def _block_at(text: str, mark: re.Match[str]) -> Block | None:
    start, body = mark.span()
    if mark["fence"]:
        return _fenced(text, mark)
    if mark["tag"]:
        return _tagged(text, mark)
    if mark["llama"]:
        return _python(text, start, _after_gap(text, body), _LLAMA_END)
    if mark["call"]:
        return Block(start, body, body, "json")
    end = _THOUGHT_END.search(text, body)
    if end is None:
        return Block(start, body, len(text), "unfinished thought")
    return Block(start, body, end.end(), "thought")


def _fenced(text: str, mark: re.Match[str]) -> Block | None:
    start, info = mark.span()
    near = max(0, start - 80)
    line = max(text.rfind("\n", near, start) + 1, near)
    is_at_line_start = _LINE_START.fullmatch(text, line, start) is not None
    language = _LANGUAGE.match(text, info)
    if language is None or not (is_at_line_start or language["python"]):
        return None
    begin = line if is_at_line_start else start
    if one_line := _ONE_LINE.match(text, language.end() if language["python"] else info):
        kind = "python" if language["python"] else "unmarked"
        return Block(begin, info, one_line.end(), kind, versions(one_line[1].strip()))
    fence = mark["fence"]
    closer = rf"^[ \t]*{fence[0]}{{{min(len(fence), _LONGEST_FENCE)},}}+"
    newline = text.find("\n", language.end())
    body = newline + 1 if newline >= 0 else len(text)
    if not language["python"]:
        kind = (language["other"] or "unmarked")[:20].lower()
        return _other(text, begin, body, kind, re.compile(closer, re.MULTILINE))
    info_text = text[language.end() : body].rstrip("\n")
    lead = "" if _ATTRIBUTES.fullmatch(info_text) else f"{info_text.strip()}\n"
    indent = re.sub(r"\S", " ", text[line:start]) if is_at_line_start else ""
    end = re.compile(rf"{closer}(?=[ \t]*(?:<|$))", re.MULTILINE)
    return _python(text, begin, body, end, lambda code: versions(lead + code, indent=indent))


def _other(text: str, start: int, body: int, kind: str, closer: re.Pattern[str]) -> Block:
    """A fence without a language, or of another one: it also ends where the next one opens."""
    end = closer.search(text, body)
    kind = "json" if kind in _JSON else kind
    if end is None:
        return Block(start, body, body, kind, versions(text[body:]), is_closed=False)
    following = _LANGUAGE.match(text, end.end())
    is_opening = following and (following["python"] or following["other"])
    after = end.start() if is_opening else end.end()
    return Block(start, body, after, kind, versions(text[body : end.start()].removesuffix("\n")))


def _tagged(text: str, mark: re.Match[str]) -> Block:
    start, body = mark.span()
    name = mark["tag"].lower()
    language = _TAG_LANGUAGE.search(mark["attributes"] or "")
    if language and not _IS_PYTHON.fullmatch(language[1]):
        return Block(start, body, body, language[1][:20].lower())
    if name == "code" and not language and (inline := _ONE_LINE_TAG.match(text, body)):
        codes = versions(inline[1], is_markup=True)
        return Block(start, body, inline.end(), "unmarked", codes)
    end = re.compile(rf"</{name}[ \t]*>", re.IGNORECASE)
    return _python(text, start, _after_gap(text, body), end, partial(versions, is_markup=True))


def _after_gap(text: str, position: int) -> int:
    gap = _TAG_GAP.match(text, position)
    return gap.end() if gap else position


def _python(
    text: str,
    start: int,
    body: int,
    closer: re.Pattern[str],
    read: Callable[[str], Iterator[str]] = versions,
) -> Block:
    """A block of Python; a later end counts when the code holds the first one in a string."""
    ends = [end.span() for end in islice(closer.finditer(text, body), _CLOSERS_TRIED)]
    first, after = ends[0] if ends else (len(text), len(text))
    loose = [end.start() for end in islice(_LOOSE_END.finditer(text, body, first), 2)]
    tried = [first, *loose, *(end for end, _ in ends[1:])] if ends else [*loose, first]
    codes = (code for end in tried for code in read(text[body:end].removesuffix("\n")))
    return Block(start, body, after, "python", codes, is_closed=bool(ends))
