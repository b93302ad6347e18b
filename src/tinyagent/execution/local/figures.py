"""Matplotlib figures that LOCAL code leaves open: they become artifacts, as in a process.

Matplotlib keeps the figures of the whole process, the host's own among them. A hook notes which
thread makes a figure, and each step of code has a thread of its own. Which figure `pyplot` draws on
is known for the process only: steps that plot at the same time may draw on each other's.
"""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

MAX_BYTES = 16 << 20
_HOOK = f"{__name__}:note_figure"  # a list of such is Matplotlib's setting `figure.hooks`
_makers = WeakKeyDictionary[Any, threading.Thread]()


def watch_figures() -> None:
    """Have Matplotlib, where it is loaded, tell of the figures that it makes.

    Where no backend is chosen yet, it is one without windows: those need the main thread.
    """
    matplotlib: Any = sys.modules.get("matplotlib")
    if matplotlib is None or not hasattr(matplotlib, "rcParams"):
        return
    if matplotlib.get_backend(auto_select=False) is None:
        matplotlib.use("Agg")
    settings = matplotlib.rcParams
    if _HOOK not in settings["figure.hooks"]:
        settings["figure.hooks"] = [*settings["figure.hooks"], _HOOK]


def begin_step() -> Any:
    """Give the step an empty figure where it would draw on one of the host's; else None."""
    watch_figures()
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    return pyplot.figure() if pyplot is not None and pyplot.get_fignums() else None


def note_figure(figure: Any) -> None:
    """Note which thread makes the figure."""
    _makers[figure] = threading.current_thread()


def take_figures(given: Any) -> tuple[Sequence[bytes], Sequence[str]]:
    """The open figures of this thread as PNG files, which closes them; and remarks on failures.

    `given` is from `begin_step`: it is left out where it is still empty.
    """
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return (), ()
    images: list[bytes] = []
    remarks: list[str] = []
    room = MAX_BYTES
    for figure in [pyplot.figure(number) for number in _own_numbers(pyplot)]:
        if figure is given and not figure.axes:
            pyplot.close(figure)
            continue
        image = io.BytesIO()
        try:
            figure.savefig(image, format="png")
        except Exception as error:  # noqa: BLE001 - a figure is drawn by code that may fail anyhow
            remarks.append(f"a figure could not be drawn ({type(error).__name__}: {error})")
            continue
        finally:
            pyplot.close(figure)
        data = image.getvalue()
        if len(data) > room:
            remarks.append(f"a figure ({len(data):,} bytes) is too large to be handed over")
            continue
        room -= len(data)
        images.append(data)
    return images, remarks


def _own_numbers(pyplot: Any) -> list[int]:
    own = {
        figure.number for figure, maker in _makers.items() if maker is threading.current_thread()
    }
    return [number for number in pyplot.get_fignums() if number in own]
