"""Reading a code agent's reply: its reasoning, and the Python that it wants run.

A block that says it is Python counts wherever it stands, and the first one wins. A fence without a
language counts when there is no such block and its text parses and does something: what models
quote in such fences is mostly output. A reply without any block counts on the same terms.

Reading takes time linear in the text, whatever it is: only so many blocks are looked at, each is
tried in a fixed number of ways, and no pattern goes back over what it has matched.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tinyagent.agents.code_reply_blocks import (
    Block,
    after_unopened_thought,
    find_blocks,
    without_thoughts,
)
from tinyagent.agents.code_reply_json import code_anywhere, code_at
from tinyagent.agents.code_reply_syntax import Fault, first_that_acts, first_that_parses, versions
from tinyagent.core.errors import MalformedReply

MAX_CHARS = 200_000
"""A longer reply is not read."""

_WANTED = "Send one block that starts with ```python and ends with ```."
_NO_CODE = f"Your reply holds no Python code. {_WANTED} To answer, call final_answer(value) in it."
_EMPTY = (
    f"Your block of code holds no statement. {_WANTED} To answer, call final_answer(value) in it."
)
_TOO_LONG = f"Your reply is longer than {MAX_CHARS:,} characters and was not read. {_WANTED}"
_UNFINISHED_THOUGHT = f"Your reply ended before your thinking did. Think less. {_WANTED}"
_CUT_OFF = " The block has no end: if your reply was cut off, send less code in one step."
_SHELL = frozenset({"bash", "sh", "shell", "zsh", "console", "terminal", "cmd", "powershell"})

_HEADING = re.compile(
    r"[ \t*#_]*+(?:code|python|(?:action|tool)(?:[ _]input)?)\b"
    r"[ \t*_]*+:?[ \t*_]*+(?:i?python\w*+)?[ \t*_`]*+"
    r"|[ \t]*+<[\w=]{1,40}>",
    re.IGNORECASE,
)
_MARKS = "\ufeff\u200b\u2060"  # byte order mark, zero-width space, word joiner
_HEADINGS = 3  # `Action: python`, then `Action Input:`
_HEADED = re.compile(
    r"^[ \t*#_]*+(?:code|action[ _]input)[ \t*_]*+:[ \t*_]*+\n?", re.IGNORECASE | re.MULTILINE
)
_OBSERVATION = re.compile(r"^[ \t]*Observation:", re.MULTILINE)
_INSTALL = re.compile(
    r"\W*(?:python3? -m )?(?:pip3?|conda|mamba|uv|apt|apt-get)\b.*\b(?:install|add)\b"
)
_MAGIC = re.compile(r"[%!?]")
_QUOTE = re.compile(r"U\+(?:2018|2019|201C|201D)")
_NO_INSTALL = (
    "Packages cannot be installed: leave the line out and import what you need; an import that is"
    " not available says what is."
)
_NO_MAGIC = "Lines that begin with %, ! or ? are a notebook's: leave them out."
_NO_QUOTES = "Write quotes as ' or \"."


class CodeReply(NamedTuple):
    """What stands before the block, without the model's `<think>` parts, and the block's code."""

    reasoning: str
    code: str


def read_code_reply(text: str) -> CodeReply:
    """Find the first block of Python in a model's reply; its code parses.

    Raises:
        MalformedReply: there is no block, it is empty, of another language, or does not parse; the
            message says what is wrong, in which line, and what to send.
    """
    if len(text) > MAX_CHARS:
        raise MalformedReply(_TOO_LONG)
    text = text.replace("\r\n", "\n").lstrip(_MARKS)
    whole = first_that_acts([_before_observation(text).strip("\n")])
    if isinstance(whole, str):
        return CodeReply("", whole)
    return _from_blocks(text[after_unopened_thought(text) :])


def _from_blocks(text: str) -> CodeReply:
    unmarked, complaint = None, ""
    for block in find_blocks(text):
        if block.kind == "python":
            if code := _parsed(block):
                return CodeReply(_reasoning(text, block), code)
            complaint = complaint or _EMPTY
        elif block.kind == "json" and (reply := _from_json(text, block)):
            return reply
        elif block.kind == "unmarked":
            unmarked, wrong = (unmarked, "") if unmarked else _from_unmarked(text, block)
            complaint = complaint or wrong
        else:
            complaint = complaint or _of_kind(block.kind)
    if unmarked is None and complaint:
        raise MalformedReply(complaint)
    return unmarked or _without_block(text)


def _parsed(block: Block) -> str:
    """The block's code; empty if it holds no statement."""
    code = first_that_parses(block.codes)
    if isinstance(code, Fault):
        raise MalformedReply(_of_fault(code) + ("" if block.is_closed else _CUT_OFF))
    lines = (line.strip() for line in code.splitlines())
    return code if any(line and not line.startswith("#") for line in lines) else ""


def _from_unmarked(text: str, block: Block) -> tuple[CodeReply | None, str]:
    """The reply in a fence without a language, or what may be told of it."""
    if reply := _from_json(text, block):
        return reply, ""
    code = first_that_acts(block.codes)
    if isinstance(code, str):
        return CodeReply(_reasoning(text, block), code), ""
    return None, f"{_of_fault(code)} {_WANTED}" if code else ""


def _from_json(text: str, block: Block) -> CodeReply | None:
    found = code_at(text, block.body)
    return _of_json(_reasoning(text, block), *found) if found else None


def _of_json(before: str, code: str, thought: str) -> CodeReply:
    parsed = first_that_parses(versions(code))
    if isinstance(parsed, Fault):
        raise MalformedReply(_of_fault(parsed))
    if not parsed.strip():
        raise MalformedReply(_EMPTY)
    return CodeReply(before or thought.strip(), parsed)


def _without_block(text: str) -> CodeReply:
    """A reply whose code stands in bare JSON, after a heading like `Code:`, or alone.

    The text itself has been tried.
    """
    tried = _before_observation(text).strip("\n")
    text = _before_observation(without_thoughts(text))
    if found := code_anywhere(text):
        return _of_json(_stripped(text[: found[0]]), *found[1])
    heading = _HEADED.search(text)
    start, end = heading.span() if heading else (0, 0)
    code = first_that_acts(code for code in versions(text[end:].strip("\n")) if code != tried)
    if not isinstance(code, str):
        raise MalformedReply(_NO_CODE)
    return CodeReply(_stripped(text[:start]), code)


def _before_observation(text: str) -> str:
    """Without what a model makes up of its own code's output."""
    made_up = _OBSERVATION.search(text)
    return text[: made_up.start()] if made_up else text


def _reasoning(text: str, block: Block) -> str:
    return _stripped(without_thoughts(text[: block.start]))


def _stripped(reasoning: str) -> str:
    """Without white space around it, and without headings and tags that the block left behind."""
    reasoning = reasoning.strip()
    for _ in range(_HEADINGS):
        line = reasoning.rfind("\n") + 1
        if _HEADING.fullmatch(reasoning, line):
            reasoning = reasoning[:line].rstrip()
    return reasoning


def _of_fault(fault: Fault) -> str:
    where = f"it does not parse, line {fault.line}: " if fault.line else ""
    where += fault.why + (f"\n    {fault.text}\n" if fault.text else ". ")
    if _INSTALL.match(fault.text):
        mend = _NO_INSTALL
    elif _MAGIC.match(fault.text):
        mend = _NO_MAGIC
    else:
        mend = _NO_QUOTES if _QUOTE.search(fault.why) else "Send the whole block again, mended."
    return f"Your code was not run: {where}{mend}"


def _of_kind(kind: str) -> str:
    """What is said of a block that holds no Python."""
    if kind == "thought":
        return ""
    if kind == "unfinished thought":
        return _UNFINISHED_THOUGHT
    if kind == "json":
        return f"Your block is JSON. Tools are Python functions here: call them in code. {_WANTED}"
    why = "shell commands cannot be run" if kind in _SHELL else "only Python is run"
    return f"Your block is {kind}, and {why}. {_WANTED}"
