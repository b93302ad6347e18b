"""What a terminal shows while comparisons run."""

from collections.abc import Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from skillian.display import printable
from skillian.reports.running import Watch


@contextmanager
def watching(console: Console) -> Generator[Watch]:
    """Show a line for each running comparison; nothing where the console is no terminal."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TextColumn("{task.fields[doing]}", markup=False),
        TimeElapsedColumn(),
    )
    lines: dict[str, TaskID] = {}
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:

        def watch(comparison: str, doing: str) -> None:
            if not doing:
                progress.remove_task(lines.pop(comparison))
                return
            if comparison in lines:
                progress.update(lines[comparison], doing=printable(doing))
            else:
                lines[comparison] = progress.add_task(
                    printable(comparison), total=None, doing=printable(doing)
                )

        yield watch
