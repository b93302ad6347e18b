from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyagent.agents.code_reply import (
    MAX_BLOCKS,
    MAX_CHARS,
    MAX_DEPTH,
    MAX_LINKS,
    CodeReply,
    read_code_reply,
)
from tinyagent.core import MalformedReply

REPLIES = Path(__file__).with_name("code_replies")


def _cases(name: str) -> list[Any]:
    replies = tomllib.loads((REPLIES / name).read_text(encoding="utf-8"))["reply"]
    return [pytest.param(reply, id=reply["name"]) for reply in replies]


@pytest.mark.parametrize("reply", _cases("read.toml"))
def test_a_format_is_read(reply: dict[str, str]) -> None:
    expected = (reply.get("reasoning", ""), reply["code"])
    assert read_code_reply(reply["text"])[:2] == expected


@pytest.mark.parametrize("reply", _cases("refused.toml"))
def test_a_reply_without_code_is_answered_with_what_is_expected(reply: dict[str, Any]) -> None:
    with pytest.raises(MalformedReply) as caught:
        read_code_reply(reply["text"])
    message = str(caught.value)
    assert [part for part in reply["says"] if part not in message] == []
    assert len(message) < 400


def test_there_are_enough_formats_and_no_name_twice() -> None:
    names = [case.id for case in _cases("read.toml") + _cases("refused.toml")]
    assert len(names) >= 60
    assert len(set(names)) == len(names)


def test_a_very_long_reply_is_not_read() -> None:
    block = "```python\nx = 1\n```"
    assert read_code_reply(block.ljust(MAX_CHARS)).code == "x = 1"
    with pytest.raises(MalformedReply, match="longer than 200,000 characters"):
        read_code_reply(block.ljust(MAX_CHARS + 1))


def test_a_message_quotes_little_of_a_long_line() -> None:
    with pytest.raises(MalformedReply) as caught:
        read_code_reply(f"```python\nx = = '{'a' * 10_000}'\n```")
    assert len(str(caught.value)) < 400


def test_a_message_can_be_sent_on() -> None:
    with pytest.raises(MalformedReply) as caught:
        read_code_reply("```python\nx = = 'a' # \udc00\n```")
    assert str(caught.value).encode()


# What would harm the parser


@pytest.mark.parametrize(
    "code",
    [
        "(" * (MAX_DEPTH + 1) + ")" * (MAX_DEPTH + 1),
        "x = " + "[" * 100_000,
        "x = " + "-" * 100_000 + "1",
        "x = " + "not " * 20_000 + "1",
        "x = " + "lambda: " * 20_000 + "1",
        "x = " + "1 if x else " * 10_000 + "1",
        "x = " + "a." * 90_000 + "a",
        "x = a" + "()" * 90_000,
        "x = a" + "(b, c)" * 30_000,
        "x = " + "1 + " * 40_000 + "1",
        "import " + "a." * 90_000 + "a",
        "if a:\n b\n" + "elif a:\n b\n" * 10_000,
    ],
    ids=lambda code: code[:12],
)
def test_what_is_nested_or_chained_too_deep_is_not_parsed(code: str) -> None:
    with pytest.raises(MalformedReply, match="too deep"):
        read_code_reply(f"```python\n{code}\n```")


def test_depth_that_people_write_is_parsed() -> None:
    depth, links = MAX_DEPTH // 2, MAX_LINKS // 2
    code = "\n".join(
        [
            "x = " + "[" * depth + "]" * depth,
            "x = " + "1 + " * links + "1",
            "x = [" + "-1.5, " * 5_000 + "]",
            "x = {" + "'a': {'b': [1, -1]},\n" * 5_000 + "}",
            "x = '" + "((((" * 1_000 + "'  # " + "((((" * 1_000,
            "\n".join(["x = -x.real + 1"] * 1_000),
        ]
    )
    assert read_code_reply(f"```python\n{code}\n```").code == code


def test_the_deepest_code_that_is_parsed_harms_no_small_thread() -> None:
    program = """
import threading
from tinyagent.agents.code_reply import read_code_reply
from tinyagent.core.errors import MalformedReply

BRACKETS = (("(", ")"), ("[", "]"), ("f(a=", ")"), ("{1: ", "}"), ("a[1:", "]"))
CHAINS = ("-" * 400, "not " * 400, "a." * 400, "lambda: " * 400, "1 if a else " * 200)
INDENT = "".join(" " * n + "if x:\\n" for n in range(99)) + " " * 99

def read():
    for inner in ("1", "1 1"):
        for opening, closing in BRACKETS:
            for chain in CHAINS:
                nested = opening * 99 + chain + inner + closing * 99
                for block in (nested, INDENT + nested):
                    try:
                        read_code_reply("```python\\nx = 1\\n" + block + "\\n```")
                    except MalformedReply:
                        pass

threading.stack_size(512 * 1024)
thread = threading.Thread(target=read)
thread.start()
thread.join()
print("alive")
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "alive\n"), ended.stderr[-1_000:]


def test_only_so_many_blocks_are_looked_at() -> None:
    block = "```text\na\n```\n"
    last = "```python\nx = 1\n```"
    assert read_code_reply(block * (MAX_BLOCKS - 1) + last).code == "x = 1"
    with pytest.raises(MalformedReply, match="only Python is run"):
        read_code_reply(block * MAX_BLOCKS + last)


REPEATED = [
    *("`", "```", "```\n", "~~~\n", "```python\n", "```python", "```json\n", "```python ``` "),
    *("```python\n\n```\n", "<code>", "<code>\n", "</code>\n", "<code></code>", "<code lang="),
    *(
        "<think>\n",
        "</think>\n",
        "<tool_call>",
        '<tool_call>["',
        "<|python_tag|>",
        "{",
        '{"a":',
        "\n{",
    ),
    *("Code:\n", "Observation:\n", ">>> x\n", "- ```\n", " ", " \n", '"', '"""', "'", "\\", "\\\n"),
    *("&lt;", "(", "0;", "a,", "é", "\u200b", "\r", "\x0c", '```python\n"""\n```\n', "x = 1\n"),
]


@pytest.mark.parametrize("unit", REPEATED)
@pytest.mark.parametrize("frame", ["{}", "```python\n{}", "<code>\n{}\n</code>", "```\n{}\n```"])
def test_a_hostile_text_takes_linear_time(unit: str, frame: str) -> None:
    """What is quadratic meets the timeout."""
    _read(frame.format(unit * (100_000 // len(unit))))


def test_fences_of_every_length_take_linear_time() -> None:
    falling = "\n".join("`" * length for length in range(400, 2, -1))
    _read(falling + "\n```json" * 14_000)


# Any text, any code


def _read(text: str) -> CodeReply | None:
    try:
        return read_code_reply(text)
    except MalformedReply:
        return None


FRAGMENTS = st.sampled_from(
    [
        *REPEATED,
        *("\n", "python", "py ", "x = 1", "print(x)", "if x:\n    y", "</code>", "</python>"),
        *(
            "<python>",
            '"code": "x = 1"',
            "}",
            ")",
            "]",
            "<end_code>",
            "Thought: ",
            "[PYTHON]",
            "1. ",
        ),
        *(
            "In [1]: x",
            "!pip install x",
            "%time",
            "“",
            "\ufeff",
            "\x00",
            "\ud800",
            "\t",
            "   ",
            "#",
        ),
    ]
)
TEXTS = st.one_of(
    st.text(),
    st.lists(st.one_of(FRAGMENTS, st.text(max_size=5)), max_size=30).map("".join),
)


@settings(max_examples=4 * settings().max_examples, deadline=None)
@given(TEXTS)
def test_any_text_gives_code_that_parses_or_a_message(text: str) -> None:
    reply = _read(text)
    if reply is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(reply.code)


NAMES = st.sampled_from(["x", "total", "größe"])
LITERALS = st.one_of(
    st.integers().map(repr),
    st.text().map(repr),
    st.sampled_from(
        [
            "'</think>'",
            "'<think>'",
            '"&lt;b&gt;"',
            "'👩\u200d🚀'",
            "'a\u00a0b'",
            "'“'",
            r"'\d'",
            "f'{1}'",
        ]
    ),
)
STATEMENTS = st.one_of(
    st.builds("{} = {}".format, NAMES, LITERALS),
    st.builds("print({}, end={})".format, LITERALS, NAMES),
    st.builds("if {0}:\n\t{0} = {1}\nelse:\n    pass".format, NAMES, LITERALS),
    st.builds("def f({0}):\n    '''{0}\n  of\n\n    it'''\n    return {1}".format, NAMES, LITERALS),
    st.builds("# {}".format, NAMES),
    st.just(""),
)
CODES = (
    st.builds(
        lambda first, rest: "\n".join([first, *rest]),
        st.builds("{} = {}".format, NAMES, LITERALS),
        st.lists(STATEMENTS, max_size=6),
    )
    .map(lambda code: code.rstrip("\n"))
    .filter(lambda code: not any(mark in code for mark in ("```", "~~~", "</code", "</py", "\r")))
)
FRAMES: dict[str, Callable[[str], str]] = {
    **{
        f"{fence}{language}": f"{fence}{language}\n{{}}\n{fence}".replace("{}", "%s").__mod__
        for fence in ("```", "~~~", "`````")
        for language in ("", "python", "py", "Python3", "ipython")
    },
    "no end": "```python\n%s".__mod__,
    "attributes": "```python {.numberLines}\n%s\n```".__mod__,
    "indented": lambda code: "  ```python\n  " + code.replace("\n", "\n  ") + "\n  ```",
}


@pytest.mark.parametrize("frame", FRAMES)
@settings(max_examples=40, deadline=None)
@given(CODES)
def test_any_code_comes_back_exactly_from_any_frame(frame: str, code: str) -> None:
    text = FRAMES[frame](code)
    assert read_code_reply(text)[:2] == ("", code)
    assert read_code_reply(f"<think>\nHm.\n</think>\nI do it.\n{text}")[:2] == ("I do it.", code)


@settings(max_examples=100, deadline=None)
@given(CODES)
def test_any_code_without_a_frame_comes_back_exactly(code: str) -> None:
    assert read_code_reply(code)[:2] == ("", code)


@pytest.mark.parametrize("draft", ["Hm.", "Perhaps\n```python\nf()\n```\n?", "Or\n```python\nf("])
def test_a_draft_whose_opening_tag_was_in_the_prompt_does_not_run(draft: str) -> None:
    reply = read_code_reply(f"{draft}\n</think>\nSo:\n```python\ng()\n```")
    assert reply[:2] == ("So:", "g()")


def test_a_closing_tag_in_code_is_part_of_the_code() -> None:
    assert read_code_reply("```python\nprint('</think>')\n```").code == "print('</think>')"
