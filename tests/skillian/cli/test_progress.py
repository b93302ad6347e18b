from __future__ import annotations

from io import StringIO

from rich.console import Console

from skillian.cli.progress import watching


def shown(*, terminal: bool) -> str:
    written = StringIO()
    console = Console(file=written, force_terminal=terminal, width=100)
    with watching(console) as watch:
        watch("close", "comparing")
        watch("other", "ledger: 1,200 groups\x1b[31m")
        watch("close", "")
        watch("other", "")
    return written.getvalue()


def test_a_terminal_shows_what_each_comparison_is_at() -> None:
    written = shown(terminal=True)
    assert "close" in written
    assert "ledger: 1,200 groups" in written
    assert "groups\x1b[31m" not in written


def test_where_there_is_no_terminal_nothing_is_written() -> None:
    assert shown(terminal=False) == ""
