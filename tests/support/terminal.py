"""Records what a command shows in a terminal, as an SVG picture without files from elsewhere."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

COLUMNS, ROWS = 100, 60
CONTROL = re.compile(r"\x1b\[(?P<parameters>[?\d;]*)(?P<command>[A-Za-z])|(?P<end>\r?\n)|\r")
FONT = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
PICTURE = f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{width}} {{height}}" role="img">
<style>
.{{unique_id}}-matrix {{{{ font-family: {FONT}; font-size: {{char_height}}px;
  line-height: {{line_height}}px; }}}}
{{styles}}
</style>
<defs>
<clipPath id="{{unique_id}}-all">
<rect width="{{terminal_width}}" height="{{terminal_height}}"/>
</clipPath>
{{lines}}
</defs>
<rect width="{{width}}" height="{{height}}" rx="8" fill="#ffffff" stroke="#c8ccd2"/>
<g transform="translate({{terminal_x}}, {{terminal_y}})" clip-path="url(#{{unique_id}}-all)">
{{backgrounds}}
<g class="{{unique_id}}-matrix">
{{matrix}}
</g>
</g>
</svg>
"""


def record(command: str, folder: Path, file: Path, environment: Mapping[str, str]) -> None:
    """Run a command of the shell in a terminal of its own, and draw it with all that it shows.

    Args:
        command: What is run, and shown after a `$`.
        folder: Where it is run.
        file: The picture.
        environment: All variables of the environment, except those of the terminal.
    """
    written = _run(command, folder, environment)
    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, highlight=False
    )
    console.print(Text(f"$ {command}", style="bold"))
    for line in shown(written):
        console.print(Text.from_ansi(line))
    drawn = console.export_svg(
        theme=DEFAULT_TERMINAL_THEME, code_format=PICTURE, unique_id=file.stem
    )
    file.write_text(drawn, encoding="utf-8")


def _run(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    terminal = {"TERM": "xterm-256color", "LANG": "C.UTF-8"}
    with subprocess.Popen(
        ["sh", "-c", command],
        cwd=folder,
        env={**environment, **terminal},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ):
        os.close(theirs)
        written = everything(ours)
    return written.decode()


def everything(ours: int) -> bytes:
    """What is written to a terminal until its other end is closed; then this one is, too."""
    written = bytearray()
    while part := _read(ours):
        written += part
    os.close(ours)
    return bytes(written)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # on Linux, that the other end is closed
        return b""


def shown(written: str) -> list[str]:
    """The lines that stay on the screen; colours stay in them, lines that were erased do not."""
    lines, row, end = [""], 0, 0
    for control in CONTROL.finditer(written):
        lines[row] += written[end : control.start()]
        end = control.end()
        parameters, command = control["parameters"], control["command"]
        if command == "m":
            lines[row] += control[0]
        elif command == "K":
            lines[row] = ""
        elif command == "A":
            row = max(row - int(parameters or 1), 0)
        elif control["end"]:
            row += 1
            lines += [""] * (row - len(lines) + 1)
    lines[row] += written[end:]
    while lines and not lines[-1].strip():
        lines.pop()
    return lines
