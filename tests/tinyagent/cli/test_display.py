"""What a person at a terminal sees of a code agent's run."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console
from tests.support.coding import block, events_of

from tinyagent import (
    Artifact,
    CodeFinished,
    CodeStarted,
    Event,
    OutputDelta,
    RunFinished,
    ScriptedModel,
    StepFinished,
    TextDelta,
    TinyCodeAgent,
)
from tinyagent.cli.display import Display
from tinyagent.core import ExecutionResult, NetworkRequest, NetworkRequestFinished

REPLIES = [
    block("print('one')\nexplore('a way')\nprint('two', end='')", "I look."),
    block("1 / 0"),
    block("6 * 7"),
    block("final_answer('It is 42.')"),
]


async def _show(*replies: str, **options: Any) -> None:
    """Show a run of a code agent with these replies."""
    display = Display(**{"stream": False, "quiet": False, "code": True, **options})
    for event in await events_of(TinyCodeAgent(ScriptedModel(list(replies)))):
        if isinstance(event, RunFinished):
            display.end(event.result)
        else:
            display.show(event)


def _shown(event: Event, *, stream: bool = False) -> None:
    Display(stream=stream, quiet=False, code=True).show(event)


async def test_the_answer_goes_to_standard_output_and_all_else_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    await _show(*REPLIES)
    shown = capsys.readouterr()
    assert shown.out == "It is 42.\n"
    lines = shown.err.splitlines()
    assert lines[:3] == ["print('one')", "explore('a way')", "print('two', end='')"]
    assert "I look." not in shown.err
    for text in ("(explore: a way)", "one", "two", "42", "final_answer('It is 42.')"):
        assert text in lines, text
    assert any(line.startswith("ZeroDivisionError") for line in lines)
    assert lines[-1].startswith("[completed] 4 steps, ")


async def test_streamed_code_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    await _show(*REPLIES, stream=True)
    shown = capsys.readouterr()
    assert shown.out == "It is 42.\n"
    assert shown.err.count("print('two', end='')") == 1
    assert "I look." in shown.err


async def test_quiet_shows_the_errors_only(capsys: pytest.CaptureFixture[str]) -> None:
    await _show(*REPLIES, quiet=True)
    assert capsys.readouterr() == ("", "")


async def test_a_run_without_an_answer_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    await _show(REPLIES[0])
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "error: the script of the ScriptedModel has no more answers" in shown.err


def test_output_is_shown_as_it_comes_and_its_line_is_ended(
    capsys: pytest.CaptureFixture[str],
) -> None:
    display = Display(stream=False, quiet=False, code=True)
    display.show(OutputDelta(1, "half "))
    assert capsys.readouterr() == ("", "half ")
    display.show(OutputDelta(1, "a line"))
    display.show(CodeFinished(1, ExecutionResult(output="half a line", value_text="7")))
    assert capsys.readouterr() == ("", "a line\n")


def test_network_requests_are_shown_as_they_happen(capsys: pytest.CaptureFixture[str]) -> None:
    display = Display(stream=False, quiet=False, code=True)
    display.show(OutputDelta(1, "half a line"))
    for request in (
        NetworkRequest("GET", "https://a.com", "/x", allowed=True, status=200, received=1234),
        NetworkRequest("PUT", "https://a.com", "/y", allowed=True, status=201, sent=1000),
        NetworkRequest("LOOKUP", "b.com", "", allowed=False, reason="b.com is not listed"),
    ):
        display.show(NetworkRequestFinished(1, request))
    display.show(CodeFinished(1, ExecutionResult(output="half a line")))
    assert capsys.readouterr().err.splitlines() == [
        "half a line",
        "⇄ GET https://a.com/x: 200, 1,234 bytes received",
        "⇄ PUT https://a.com/y: 201, 1,000 bytes sent, 0 bytes received",
        "⇄ LOOKUP b.com: b.com is not listed",
    ]


def test_files_are_named_with_their_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    figure = Artifact("figure_1.png", b"x" * 12_345, "image/png")
    _shown(CodeFinished(1, ExecutionResult(artifacts=(figure,))))
    assert capsys.readouterr().err == "created figure_1.png (12,345 bytes)\n"


@pytest.mark.parametrize(
    "event",
    [
        CodeStarted(1, "print('\x1b[2J')"),
        OutputDelta(1, "\x1b]0;title\x07"),
        CodeFinished(1, ExecutionResult(error="\x1b[31mred")),
        CodeFinished(1, ExecutionResult(artifacts=(Artifact("\x1b[2Jname", b""),))),
        CodeFinished(1, ExecutionResult(value_text="\x1b[2J")),
        TextDelta(1, "\x1b[2J"),
        NetworkRequestFinished(1, NetworkRequest("GET", "a\x1b[2J", "/", allowed=True)),
    ],
    ids=["code", "output", "error", "file", "value", "text", "request"],
)
def test_nothing_that_code_says_steers_the_terminal(
    event: Event, capsys: pytest.CaptureFixture[str]
) -> None:
    _shown(event, stream=True)
    _shown(event)
    shown = capsys.readouterr()
    assert "\ufffd" in shown.err
    assert "\x1b" not in shown.out + shown.err


def _reasoned(*, stream: bool) -> None:
    display = Display(stream=stream, quiet=False)
    for text in ("I wonder", "\x1b[2J…"):
        display.show(TextDelta(1, text, "reasoning"))
    display.show(TextDelta(1, "Yes."))
    display.show(TextDelta(1, "Now ", "reasoning"))
    display.show(StepFinished(1))


def test_streamed_reasoning_is_folded_to_its_length(capsys: pytest.CaptureFixture[str]) -> None:
    _reasoned(stream=True)
    shown = capsys.readouterr()
    assert shown.out == "Yes.\n"
    assert shown.err == "(reasoning: 13 characters)\n(reasoning: 4 characters)\n"


def test_reasoning_is_dimmed_in_the_progress_line(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, color_system="standard", width=80)
    monkeypatch.setattr("tinyagent.cli.display.notes", console)
    _reasoned(stream=True)
    assert "\x1b[2mI wonder" in screen.getvalue()
    assert "\x1b[2J" not in screen.getvalue()


def test_without_streaming_no_reasoning_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    _reasoned(stream=False)
    assert capsys.readouterr() == ("", "")
