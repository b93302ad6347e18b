"""The page has one look: buttons are made in one place, and colours are named in one file."""

from __future__ import annotations

import re
from pathlib import Path

WEB = Path(__file__).parents[2] / "src" / "skillian" / "web"
BUTTONS, TOKENS = WEB / "shell" / "buttons.py", WEB / "shell" / "tokens.css"
COLOUR = re.compile(r"#[0-9a-f]{3,8}\b(?![^{]*\{)|\brgba?\(", re.IGNORECASE)
BEFORE_STYLES = re.compile(r"#page-loading|\.keys::backdrop|\.plot ")
"""What is drawn before the tokens are there, or on a fixed ground."""


def test_buttons_are_made_in_one_place() -> None:
    made = [path for path in WEB.rglob("*.py") if "ui.button(" in path.read_text(encoding="utf-8")]
    assert made == []
    assert "class Button(ui.button)" in BUTTONS.read_text(encoding="utf-8")


def test_colours_are_named_in_one_file() -> None:
    found = [
        f"{path.relative_to(WEB)}: {line.strip()}"
        for path in WEB.rglob("*.css")
        if path != TOKENS
        for line in path.read_text(encoding="utf-8").splitlines()
        if COLOUR.search(line) and not BEFORE_STYLES.search(line)
    ]
    assert not found, "\n".join(["", *found])
