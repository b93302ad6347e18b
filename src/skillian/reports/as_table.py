"""A report for a terminal."""

from collections.abc import Sequence

from rich.console import Console

from skillian.display import printable, show_differences
from skillian.reports.outcome import Compared, Outcome


def show_table(
    console: Console, outcomes: Sequence[Outcome], errors: Console | None = None
) -> None:
    """Print each comparison: its largest differences, and what its numbers say.

    Why one could not be made goes to `errors`, if that is another console.
    """
    for outcome in outcomes:
        if len(outcomes) > 1:
            console.print()
            console.rule(printable(outcome.asked.name), align="left")
        if isinstance(outcome, Compared):
            _show(console, outcome)
        else:
            text = printable(f"error: {outcome.reason}")
            (errors or console).print(text, style="red", markup=False, soft_wrap=True)


def _show(console: Console, outcome: Compared) -> None:
    show_differences(console, outcome.result.to_dict())
    explained = outcome.explanation.sentences if outcome.explanation else ()
    for sentence in (*outcome.result.interpretation, *explained):
        console.print(printable(sentence), markup=False, soft_wrap=True)
