"""`module:name` on a command line."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from tinyagent.core.errors import ConfigurationError


def load(reference: str, option: str, example: str) -> Any:
    """What `module:name` refers to; the working folder is searched too.

    Args:
        reference: as it was given.
        option: what it was given to, for the message.
        example: for the message.

    Raises:
        ConfigurationError: there is no such thing, or its module fails.
    """
    folder = str(Path.cwd())
    if folder not in sys.path:
        # Behind all else: a file of the working folder must not stand in for an installed package.
        sys.path.append(folder)
    module_name, _, name = reference.partition(":")
    try:
        return getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError, ValueError, TypeError, SyntaxError) as error:
        raise ConfigurationError(
            f"{option} {reference!r} cannot be loaded ({error}); write module:name, for example"
            f" {example}"
        ) from None
