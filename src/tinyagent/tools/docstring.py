"""What a docstring says of a function and of each parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast


def read_docstring(fn: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Split the docstring of `fn` into its text and the descriptions of its parameters.

    Google, NumPy and reST style are told apart by themselves. The text is all that stands before
    the sections, so it is `""` where there is no docstring.
    """
    doc = inspect.getdoc(fn) or ""
    if "\n" not in doc:
        return doc.strip(), {}
    import griffe  # noqa: PLC0415 - 0.1 s of CPU that a one-line docstring does not need

    text: list[str] = []
    parameters: dict[str, str] = {}
    silent = {style: {"warnings": False} for style in ("google", "numpy", "sphinx")}
    sections = griffe.parse_auto(
        griffe.Docstring(doc), default="google", per_style_options=cast("Any", silent)
    )
    for section in sections:
        if isinstance(section, griffe.DocstringSectionText):
            text.append(section.value.strip())
        elif isinstance(section, griffe.DocstringSectionParameters):
            parameters.update({p.name: p.description.strip() for p in section.value})
    return "\n\n".join(text), parameters
