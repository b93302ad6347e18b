"""`skillian compare`: compares two sources, two files, or what a saved file describes."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from skillian.cli.shell import SourcesFile
from skillian.data.comparison import MAX_PAGE, TOP
from skillian.reports.formats import Format

_SAVED_SUFFIXES = frozenset({".yaml", ".yml"})


class FailOn(StrEnum):
    """The mildest class that counts as a finding, or only findings that are new."""

    MINOR = "minor"
    MAJOR = "major"
    NEW = "new"


def _limit(text: str) -> Decimal:
    try:
        limit = Decimal(text)
    except InvalidOperation:
        limit = Decimal("NaN")
    if not limit.is_finite() or limit < 0:
        raise typer.BadParameter(f"{text!r} is not a limit; write a number such as 0.01")
    return limit


def _limit_option(help_text: str) -> Any:
    return typer.Option(help=help_text, parser=_limit, metavar="NUMBER", rich_help_panel="Limits")


_Measures = Annotated[list[str] | None, typer.Option(help="A measure to compare; repeatable.")]
_Dimensions = Annotated[list[str] | None, typer.Option(help="A dimension to group by; repeatable.")]
_Filters = Annotated[
    list[str] | None,
    typer.Option(help="A filter dimension=value; repeat for several values of a dimension."),
]
_Format = Annotated[
    Format | None,
    typer.Option("--format", help="Default: by the suffix of OUTPUT, otherwise a table."),
]
_FailOn = Annotated[
    FailOn | None,
    typer.Option(help="The mildest class that is a finding; new: only those not noted as known."),
]


def compare(  # noqa: PLR0913 - the options of a command are its arguments
    source_a: Annotated[
        str, typer.Argument(metavar="A", help="The baseline: a source, a file, or a saved .yaml.")
    ],
    source_b: Annotated[
        str | None, typer.Argument(metavar="B", help="The source or file to compare with A.")
    ] = None,
    measure: _Measures = None,
    by: _Dimensions = None,
    where: _Filters = None,
    *,
    match_absolute: Annotated[
        Decimal | None, _limit_option("The largest difference of a match.")
    ] = None,
    match_percent: Annotated[
        Decimal | None, _limit_option("The same in percent of A; if both are set, both apply.")
    ] = None,
    minor_absolute: Annotated[
        Decimal | None, _limit_option("The largest difference that is minor.")
    ] = None,
    minor_percent: Annotated[
        Decimal | None, _limit_option("The same in percent of A; if both are set, both apply.")
    ] = None,
    form: _Format = None,
    output: Annotated[Path | None, typer.Option(help="Write the report to this file.")] = None,
    fail_on: _FailOn = None,
    top: Annotated[
        int, typer.Option(min=1, max=MAX_PAGE, help="How many of the largest differences to list.")
    ] = TOP,
    sources: SourcesFile = None,
) -> None:
    """Compare two sources, two files (CSV, Parquet, Excel), or what a saved file describes.

    Exit codes: 0 equal, 1 findings, 2 could not compare (also if --where leaves no rows).
    """
    from skillian.cli.compare_input import load_options, load_saved
    from skillian.cli.compare_report import ReportTarget, report

    limits = {
        "match": {"absolute": match_absolute, "percentage": match_percent},
        "minor_diff": {"absolute": minor_absolute, "percentage": minor_percent},
    }
    target = ReportTarget(form or _format_of(output), output, top)
    if source_b is None:
        others = (measure, by, where, sources, match_absolute, match_percent)
        _check_saved(source_a, (*others, minor_absolute, minor_percent))
        load = partial(load_saved, Path(source_a), fail_on)
    elif fail_on is FailOn.NEW:
        raise typer.BadParameter("only a saved comparison (.yaml) has a history to compare with")
    else:
        options = {
            "name": f"{source_a} and {source_b}",
            "a": source_a,
            "b": source_b,
            "measures": measure or (),
            "align_on": by or None,
            "filters": _filters(where or ()),
            "thresholds": limits,
            "fail_on": fail_on or FailOn.MINOR,
        }
        load = partial(load_options, options, sources)
    raise typer.Exit(report(load, target))


def _format_of(output: Path | None) -> Format:
    try:
        return Format.TABLE if output is None else Format.of_file(output)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; or use --format", param_hint="--output") from None


def _check_saved(path: str, others: Iterable[object]) -> None:
    """Check the command line of a saved comparison, which allows few options."""
    if Path(path).suffix.lower() not in _SAVED_SUFFIXES:
        raise typer.BadParameter(
            f"name what to compare {path!r} with; only a saved comparison (.yaml) stands alone"
        )
    if any(each is not None and each != [] for each in others):
        raise typer.BadParameter(f"{path} says what to compare; do not repeat it as options")
    if not Path(path).exists():
        raise typer.BadParameter(f"there is no file {path!r} in {Path.cwd()}")


def _filters(entries: Iterable[str]) -> dict[str, list[str]]:
    filters: dict[str, list[str]] = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"--where {entry!r} is not of the form dimension=value")
        filters.setdefault(name, []).append(value)
    return filters
