"""`skillian compare`: compares two sources, two files, or what a saved file describes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillian.cli.shell import SourcesFile
from skillian.data.comparison import MAX_PAGE, TOP
from skillian.reports.formats import Format

if TYPE_CHECKING:
    from skillian.cli.compare_report import ReportTarget
    from skillian.cli.compare_rows import RowOptions

_SAVED_SUFFIXES = frozenset({".yaml", ".yml"})


class FailOn(StrEnum):
    """The mildest class that counts as a finding; only new findings; or also any of the schemas."""

    MINOR = "minor"
    MAJOR = "major"
    NEW = "new"
    SCHEMA = "schema"


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


def _rule_option(help_text: str) -> Any:
    return typer.Option(help=help_text, parser=_limit, metavar="NUMBER", rich_help_panel=_ROWS)


def _text_option(name: str, help_text: str) -> Any:
    return typer.Option(name, help=help_text, rich_help_panel=_ROWS)


_ROWS = "Whole rows"
_ALL = "All tables of two schemas (A and B: URL, URL#schema, or a folder of files)"
_FILES = "Files"
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
    typer.Option(
        help="The mildest class that is a finding; new: only those not noted as known; schema:"
        " minor, and any difference of the schemas."
    ),
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
    output: Annotated[
        list[Path] | None,
        typer.Option(help="Write the report to this file; with --all repeatable."),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(help="A column that identifies a row; repeatable.", rich_help_panel=_ROWS),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(help="Compare only these columns: a,b,c.", rich_help_panel=_ROWS),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(help="Do not compare these columns: a,b,c.", rich_help_panel=_ROWS),
    ] = None,
    mapping: Annotated[
        list[str] | None,
        typer.Option(
            "--map", help="A column with another name in B: a_name=b_name.", rich_help_panel=_ROWS
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="A rule for one column: name:0.01, name:1%, name:5s or name:trim,ignore-case.",
            rich_help_panel=_ROWS,
        ),
    ] = None,
    absolute: Annotated[
        Decimal | None, _rule_option("The largest difference of two numbers.")
    ] = None,
    relative: Annotated[
        Decimal | None, _rule_option("The same as a fraction of the number in A.")
    ] = None,
    seconds: Annotated[Decimal | None, _rule_option("The largest difference of two times.")] = None,
    precision: Annotated[
        str | None, _text_option("--precision", "Cut times to this unit, such as second.")
    ] = None,
    zone: Annotated[
        str | None, _text_option("--zone", "The zone of times without one; default UTC.")
    ] = None,
    trim: Annotated[bool, _text_option("--trim", "Ignore white space around texts.")] = False,
    ignore_case: Annotated[bool, _text_option("--ignore-case", "Ignore case in texts.")] = False,
    nfc: Annotated[bool, _text_option("--nfc", "Compare texts in Unicode form NFC.")] = False,
    collapse_whitespace: Annotated[
        bool, _text_option("--collapse-whitespace", "Treat runs of white space as one space.")
    ] = False,
    empty_is_null: Annotated[
        bool, _text_option("--empty-is-null", "Treat an empty text as NULL.")
    ] = False,
    multiset: Annotated[
        bool, _text_option("--multiset", "Compare rows without a key, with their counts.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Compare all tables of two schemas.", rich_help_panel=_ALL)
    ] = False,
    include: Annotated[
        list[str] | None,
        typer.Option(help="Only tables like this: fact_*; repeatable.", rich_help_panel=_ALL),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="No tables like this: *_old; repeatable.", rich_help_panel=_ALL),
    ] = None,
    csv: Annotated[
        list[str] | None,
        typer.Option(
            help="How the files are written: decimal=, thousands=. null=NA delimiter=; quote=' "
            "encoding=latin-1 header=2 (0: none); repeatable.",
            metavar="KEY=VALUE",
            rich_help_panel=_FILES,
        ),
    ] = None,
    sheet: Annotated[
        str | None,
        typer.Option(
            help="The worksheet of Excel files; default the first.", rich_help_panel=_FILES
        ),
    ] = None,
    fail_on: _FailOn = None,
    top: Annotated[
        int, typer.Option(min=1, max=MAX_PAGE, help="How many of the largest differences to list.")
    ] = TOP,
    sources: SourcesFile = None,
) -> None:
    """Compare two tables, row by row, or the sums of --measure, or what a saved file describes.

    A table is a file (CSV, Parquet, Excel), a declared source, or one of a database: URL#table.
    Exit codes: 0 equal, 1 findings, 2 could not compare (also if --where leaves no rows).
    """
    from skillian.cli.compare_input import addressed, load_options, load_saved
    from skillian.cli.compare_report import report
    from skillian.cli.compare_rows import RowOptions, load_rows

    of_files = _file_options(csv or (), sheet)
    if source_b is not None:
        source_a, source_b = (addressed(name, of_files) for name in (source_a, source_b))
    limits = {
        "match": {"absolute": match_absolute, "percentage": match_percent},
        "minor_diff": {"absolute": minor_absolute, "percentage": minor_percent},
    }
    of_rows = RowOptions(
        key or (),
        columns or (),
        ignore or (),
        mapping or (),
        column or (),
        absolute,
        relative,
        seconds,
        precision,
        zone,
        trim,
        ignore_case,
        nfc,
        collapse_whitespace,
        empty_is_null,
        multiset,
    )
    targets = _targets(form, output, top, several=every)
    if every:
        named: dict[str, object] = {"--measure": measure, "--by": by, "--where": where}
        named |= {"--key": key, "--columns": columns, "--map": mapping, "--column": column}
        named |= {"--sources": sources}
        _check_unused([name for name, value in named.items() if value], "does not go with --all")
        patterns = (include or (), exclude or ())
        raise typer.Exit(_report_all((source_a, source_b), of_rows, fail_on, patterns, targets))
    patterns_only = {"--include": include, "--exclude": exclude}
    _check_unused([name for name, value in patterns_only.items() if value], "goes with --all")
    [target] = targets
    if source_b is None:
        others = (measure, by, where, sources, match_absolute, match_percent)
        _check_saved(source_a, (*others, minor_absolute, minor_percent, of_rows.stated() or None))
        load = partial(load_saved, Path(source_a), fail_on)
    elif fail_on is FailOn.NEW:
        raise typer.BadParameter("only a saved comparison (.yaml) has a history to compare with")
    elif not measure:
        _check_row_fail_on(fail_on)
        stated = {"--by": by, "--match-absolute": match_absolute}
        stated |= {"--match-percent": match_percent, "--minor-absolute": minor_absolute}
        stated |= {"--minor-percent": minor_percent}
        _check_unused(
            [name for name, value in stated.items() if value not in (None, [])],
            "needs --measure; without it whole rows are compared, by --key",
        )
        load = partial(
            load_rows, (source_a, source_b), of_rows, _filters(where or ()), sources, fail_on
        )
    else:
        _check_unused(of_rows.stated(), "compares whole rows, without --measure")
        options = {
            "name": f"{source_a} and {source_b}",
            "a": source_a,
            "b": source_b,
            "measures": measure,
            "align_on": _listed(by or ()) or None,
            "filters": _filters(where or ()),
            "thresholds": limits,
            "fail_on": fail_on or FailOn.MINOR,
        }
        load = partial(load_options, options, sources)
    raise typer.Exit(report(load, target))


def _targets(
    form: Format | None, output: list[Path] | None, top: int, *, several: bool
) -> list[ReportTarget]:
    from skillian.cli.compare_report import ReportTarget

    if output is not None and len(output) > 1 and not several:
        raise typer.BadParameter("only --all writes several reports", param_hint="--output")
    paths: list[Path | None] = [*output] if output else [None]
    return [ReportTarget(form or _format_of(path), path, top) for path in paths]


def _report_all(
    names: tuple[str, str | None],
    options: RowOptions,
    fail_on: FailOn | None,
    patterns: tuple[Sequence[str], Sequence[str]],
    targets: Sequence[ReportTarget],
) -> int:
    from skillian.cli.tables.whole import WholeQuestion, report_whole

    a, b = names
    if b is None:
        raise typer.BadParameter("--all compares two schemas; name the second one")
    _check_row_fail_on(fail_on)
    question = WholeQuestion((a, b), options, fail_on or FailOn.MINOR, *patterns)
    return report_whole(question, targets)


def _check_row_fail_on(fail_on: FailOn | None) -> None:
    if fail_on not in (None, FailOn.SCHEMA):
        raise typer.BadParameter("--fail-on of whole rows is `schema`; any row is a finding")


def _check_unused(names: list[str], reason: str) -> None:
    if names:
        raise typer.BadParameter(f"{', '.join(names)} {reason}")


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


def _file_options(entries: Iterable[str], sheet: str | None) -> list[str]:
    options = [*entries, *([f"sheet={sheet}"] if sheet else [])]
    for option in options:
        if "=" not in option.strip("="):
            raise typer.BadParameter(f"--csv {option!r} is not of the form KEY=VALUE")
    return options


def _listed(entries: Iterable[str]) -> list[str]:
    """Return the names of options such as `a,b`."""
    names = (name.strip() for entry in entries for name in entry.split(","))
    return [*dict.fromkeys(name for name in names if name)]


_TEST = re.compile(r"(?P<name>[^<>!=]+)(?P<operator>>=|<=|!=|>|<|=)(?P<value>.*)", re.DOTALL)
_OPERATORS = {">=": "gte", "<=": "lte", ">": "gt", "<": "lt", "!=": "ne"}


def _filters(entries: Iterable[str]) -> dict[str, Any]:
    """Return the filters: values of a name match any of them, ranges must all hold."""
    filters: dict[str, Any] = {}
    for entry in entries:
        test = _TEST.fullmatch(entry)
        if test is None:
            raise typer.BadParameter(
                f"--where {entry!r} is not of the form name=value, name!=value or name>=value"
            )
        name, operator = test["name"].strip(), _OPERATORS.get(test["operator"])
        known = filters.setdefault(name, [] if operator is None else {})
        if isinstance(known, list) is not (operator is None):
            raise typer.BadParameter(f"--where {entry!r}: {name} has a value and a range")
        if operator is None:
            known.append(test["value"])
        elif operator == "ne":
            known.setdefault("ne", []).append(test["value"])
        elif operator in known:
            raise typer.BadParameter(f"--where {entry!r}: {name} has this limit already")
        else:
            known[operator] = test["value"].strip()
    return filters
