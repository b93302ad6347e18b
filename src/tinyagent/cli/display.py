"""How a run is shown at a terminal, and how the person there is asked for approval."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import typer
from rich.status import Status
from rich.text import Text

from tinyagent.cli.shell import notes, print_doubt, printable
from tinyagent.core.cost import has_prices
from tinyagent.core.events import (
    CodeFinished,
    CodeStarted,
    Event,
    ModelRequested,
    NetworkRequestFinished,
    OutputDelta,
    ReplyRejected,
    SignalGiven,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from tinyagent.core.execution import ExecutionResult, NetworkRequest
from tinyagent.core.messages import ToolCall
from tinyagent.core.results import RunResult
from tinyagent.core.threads import run_in_thread
from tinyagent.middleware.approval import Decision

_SHOWN = 300
_TAIL = 70

_CodeEvent = CodeStarted | OutputDelta | NetworkRequestFinished | CodeFinished | SignalGiven


class Display:
    """Shows a run: the answer on standard output, everything else on standard error.

    Args:
        stream: Show the model's text as it is written.
        quiet: Show errors only.
        code: The run is a code agent's, so the model's text is not the answer.
    """

    def __init__(self, *, stream: bool, quiet: bool, code: bool = False) -> None:
        self._code = code
        self._stream = stream
        self._quiet = quiet
        self._line = ""
        self._has_open_line = False
        """Whether the code has printed a part of a line."""
        self._streamed = ""
        self._status: Status | None = None
        self._thoughts = 0
        self._tail = ""

    def show(self, event: Event) -> None:
        """Show one event."""
        if self._quiet:
            return
        if isinstance(event, TextDelta) and event.kind == "reasoning":
            self._show_reasoning(event.text)
            return
        self._settle()
        if isinstance(event, _CodeEvent):
            self._show_code(event)
            return
        match event:
            case ModelRequested(step=step):
                self._streamed = ""
                self._status = notes.status(f"step {step}: waiting for the model")
                self._status.start()
            case TextDelta(kind="text", text=text) if self._stream:
                (self._write_note if self._code else self._write)(printable(text))
            case TextDelta(kind="restart"):
                self._break_line()
                notes.print("(the connection broke; the answer starts again)", style="yellow")
            case ToolStarted(call=call):
                self._break_line()
                notes.print(_shorten(f"→ {_as_code(call)}"), style="cyan")
            case ToolFinished(result=result):
                style = "red" if result.is_error else "dim"
                notes.print(f"← {_shorten(result.content)}", style=style)
            case ReplyRejected(reason=reason):
                self._break_line()
                notes.print(f"! {_shorten(reason)}", style="yellow")
            case _:
                pass

    def end(self, result: RunResult[Any]) -> None:
        """Print the answer, the error and a summary of the run."""
        self._settle()
        self._break_line()
        answer = printable(str(result))
        # A server may not stream, and some models stream an answer in its JSON form.
        if not self._quiet and answer and answer.strip() != self._streamed.strip():
            typer.echo(answer)
        if result.error is not None:
            notes.print(printable(f"error: {result.error}"), style="red")
        if not self._quiet:
            used = result.usage
            steps = "1 step" if result.steps_taken == 1 else f"{result.steps_taken} steps"
            answer_given = result.final_answer
            if answer_given is not None and answer_given.source == "step_limit":
                steps += ", answered in words at the step limit"
            notes.print(
                f"[{result.state}] {steps}, {result.duration_seconds:.1f} s,"
                f" {used.input_tokens} tokens in, {used.output_tokens} out{_cost(result)}",
                style="dim",
            )

    def _show_code(self, event: _CodeEvent) -> None:
        self._break_line()
        match event:
            case CodeStarted(code=code):
                if not self._stream:  # otherwise it was shown as it was written
                    notes.print(printable(code), style="cyan")
            case CodeFinished(result=result):
                self._end_code(result)
            case SignalGiven(signal=signal):
                notes.print(f"({signal.type}: {_shorten(signal.message)})", style="dim")
            case OutputDelta(text=text):
                self._write_note(printable(text))
                self._has_open_line = not text.endswith("\n")
            case NetworkRequestFinished(request=request):
                self._end_line_of_code()
                show_request(request)

    def _end_line_of_code(self) -> None:
        if self._has_open_line:
            self._write_note("\n")
        self._has_open_line = False

    def _write_note(self, text: str) -> None:
        """Write text that is not the answer to standard error."""
        sys.stderr.write(text)
        sys.stderr.flush()

    def _end_code(self, result: ExecutionResult) -> None:
        self._end_line_of_code()
        if result.error is not None:
            notes.print(printable(result.error.rstrip()), style="red")
        elif not result.output and result.value_text:
            notes.print(_shorten(result.value_text), style="dim")
        for artifact in result.artifacts:
            size = f"{len(artifact.data):,} bytes"
            notes.print(printable(f"created {artifact.name} ({size})"), style="green")

    def _settle(self) -> None:
        """Remove the progress line; after reasoning, print its length."""
        if self._status is not None:
            self._status.stop()
            self._status = None
        if self._thoughts:
            notes.print(f"(reasoning: {self._thoughts:,} characters)", style="dim")
            self._thoughts, self._tail = 0, ""

    def _show_reasoning(self, text: str) -> None:
        """Show the end of the reasoning in the progress line while it is streamed."""
        if not (self._stream and text):
            return
        if self._status is None:
            self._break_line()
            self._status = notes.status("")
            self._status.start()
        self._thoughts += len(text)
        self._tail = (self._tail + " ".join(printable(text).split("\n")))[-_TAIL:]
        self._status.update(Text(self._tail, style="dim", no_wrap=True, overflow="ellipsis"))

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
        self._line = text or self._line
        self._streamed += text

    def _break_line(self) -> None:
        if self._line and not self._line.endswith("\n"):
            self._write("\n")
        self._line = ""


def _cost(result: RunResult[Any]) -> str:
    """The cost of the run, if it is known or should be."""
    cost = result.cost
    if cost.known or not cost.unknown:
        return f", {cost}"
    return ", cost unknown" if has_prices() else ""


def _shorten(text: str) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def show_request(request: NetworkRequest) -> None:
    """Show a network request of code on standard error, as one line."""
    what = f"{request.method} {request.target}{request.path}"
    if request.reason:
        notes.print(_shorten(f"⇄ {what}: {request.reason}"), style="yellow")
        return
    notes.print(_shorten(f"⇄ {what}: {request.status}, {_bytes(request)}"), style="dim")


def _bytes(request: NetworkRequest) -> str:
    sent = f"{request.sent:,} bytes sent, " if request.sent else ""
    return f"{sent}{request.received:,} bytes received"


def _as_code(call: ToolCall) -> str:
    return f"{call.name}({json.dumps(dict(call.arguments))})"


_asking = asyncio.Lock()


async def ask_person(call: ToolCall) -> Decision:
    """Ask at the terminal whether a tool may be called; without a terminal, refuse."""
    if not sys.stdin.isatty():
        return Decision(approved=False, reason="there is no terminal to ask for approval")
    # Concurrent calls ask at the same time, but a person answers the question on the screen.
    async with _asking:
        return await _ask_now(call)


async def _ask_now(call: ToolCall) -> Decision:
    for each in (call, *call.beside):
        notes.print(printable(f"? {_as_code(each)}"), style="bold yellow")
        if each.doubt:
            print_doubt(each.doubt, [origin.describe() for origin in each.origins])
    what = f"all {1 + len(call.beside)} calls" if call.beside else "it"
    notes.print(f"  Allow {what}? Enter y, n, or a reason to refuse: ", end="")
    answer = str(await run_in_thread(sys.stdin.readline)).strip()
    if answer.lower() in {"y", "yes"}:
        return Decision(approved=True, beside=True)
    return Decision(approved=False, reason="" if answer.lower() in {"", "n", "no"} else answer)
