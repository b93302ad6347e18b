"""System prompts: the built-in ones, and those from files."""

from __future__ import annotations

from pathlib import Path

from tinyagent.core.logs import logger

__all__ = ["CODE_SYSTEM", "REACT_SYSTEM", "get_prompt_fallback"]

SUFFIXES = (".txt", ".md", ".prompt")

REACT_SYSTEM = """\
You solve the user's task step by step.
Use the tools for facts and actions; never invent what a tool can tell you.
When a tool reports an error, read it, correct the call and try again.
When you have the answer, give it in plain words, without calling a tool."""

CODE_SYSTEM = """\
You solve the user's task by sending Python code, which is run for you. Each reply is one block of
code; a sentence of thought may precede it, or be a comment in it. You see what a block prints, or
the value of its last line. Variables, imports and functions persist from block to block. Print data
before you compute with it; never invent what a block or a function can tell you. When a block
fails, read the error and send the whole block again, corrected."""


def get_prompt_fallback(prompt_file: str | Path | None, default: str) -> str:
    """The text of `prompt_file`, or `default`.

    If the file is missing, empty, unreadable or not one of `.txt`, `.md`, `.prompt`, a warning is
    logged and the default is used.
    """
    if prompt_file is None:
        return default
    path = Path(prompt_file)
    if path.suffix not in SUFFIXES:
        logger.warning("prompt file %s: not one of %s; default used", path, ", ".join(SUFFIXES))
        return default
    try:
        text = path.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        logger.warning("prompt file %s: %s; default used", path, error)
        return default
    if not text:
        logger.warning("prompt file %s is empty; default used", path)
        return default
    return text
