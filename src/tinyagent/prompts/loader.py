"""Prompts from files, with a default to fall back on."""

from __future__ import annotations

from pathlib import Path

from tinyagent.core.logs import logger

SUFFIXES = (".txt", ".md", ".prompt")


def get_prompt_fallback(prompt_file: str | Path | None, default: str) -> str:
    """The text of `prompt_file`, or `default`.

    A file that is missing, empty, unreadable or not one of `.txt`, `.md`, `.prompt` is logged as
    a warning, and the default is used.
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
