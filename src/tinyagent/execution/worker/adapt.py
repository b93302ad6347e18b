"""What of the standard library is told that some system calls are refused here."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from typing import Any


def copy_without_modes() -> None:
    """Have `shutil.copy` and its like copy the file where its mode and times cannot be set."""
    shutil.copymode = _tolerant(shutil.copymode)
    shutil.copystat = _tolerant(shutil.copystat)


def _tolerant(copy: Callable[..., None]) -> Callable[..., None]:
    def tolerant(*args: Any, **kwargs: Any) -> None:
        with suppress(PermissionError):
            copy(*args, **kwargs)

    return tolerant
