"""`skillian compare`: compares two sources, two files, or what a saved file describes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from skillian.cli.shell import SourcesFile, listed
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
_NOT_OF_ALL = frozenset({"--key", "--columns", "--map", "--column"})
_Measures = Annotated[list[str] | None, typer.Option(help="A measure to compare; repeatable.")]
_Dimensions = Annotated[list[str] | None, typer.Option(help="What to group by: a,b; repeatable.")]
_Filters = Annotated[
    list[str] | None,
    typer.Option(
        help="A filter name=value, name!=value, name>=value, 'name is null' or 'name is not null';"
        " a.name is a column of A alone; repeatable."
    ),
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
_A = Annotated[
    str,
    typer.Argument(
        metavar="A", help="The baseline: a file, URL#table, a source, or a saved .yaml alone."
    ),
]
_B = Annotated[
    str | None,
    typer.Argument(metavar="B", help="What to compare with A: a file, URL#table or a source."),
]
_MatchAbsolute = Annotated[Decimal | None, _limit_option("The largest difference of a match.")]
_MatchPercent = Annotated[
    Decimal | None, _limit_option("The same in percent of A; if both are set, both apply.")
]
_MinorAbsolute = Annotated[Decimal | None, _limit_option("The largest difference that is minor.")]
_MinorPercent = Annotated[
    Decimal | None, _limit_option("The same in percent of A; if both are set, both apply.")
]
_Output = Annotated[
    list[Path] | None,
    typer.Option(
        help="Write the report (.html, .md, .json, .xml, .txt), or all rows that differ (.csv,"
        " .xlsx, .parquet, .jsonl), to this file; repeatable."
    ),
]
_Key = Annotated[
    list[str] | None, _text_option("--key", "The columns that identify a row: a,b; repeatable.")
]
_Columns = Annotated[
    list[str] | None, _text_option("--columns", "Compare only these columns: a,b,c.")
]
_Ignore = Annotated[
    list[str] | None, _text_option("--ignore", "Do not compare these columns: a,b,c.")
]
_Accept = Annotated[
    list[str] | None,
    _text_option("--accept", "Columns whose schemas may differ: schema:name; all: schema:*."),
]
_Mapping = Annotated[
    list[str] | None,
    typer.Option(
        "--map", help="A column with another name in B: a_name=b_name.", rich_help_panel=_ROWS
    ),
]
_Column = Annotated[
    list[str] | None,
    typer.Option(
        help="A rule for one column: name:0.01, name:1%, name:5s or name:trim,ignore-case.",
        rich_help_panel=_ROWS,
    ),
]
_Absolute = Annotated[Decimal | None, _rule_option("The largest difference of two numbers.")]
_Relative = Annotated[Decimal | None, _rule_option("The same as a fraction of the number in A.")]
_Seconds = Annotated[Decimal | None, _rule_option("The largest difference of two times.")]
_Precision = Annotated[
    str | None, _text_option("--precision", "Cut times to this unit, such as second.")
]
_Zone = Annotated[str | None, _text_option("--zone", "The zone of times without one; default UTC.")]
_Trim = Annotated[bool, _text_option("--trim", "Ignore white space around texts.")]
_IgnoreCase = Annotated[bool, _text_option("--ignore-case", "Ignore case in texts.")]
_Nfc = Annotated[bool, _text_option("--nfc", "Compare texts in Unicode form NFC.")]
_CollapseWhitespace = Annotated[
    bool, _text_option("--collapse-whitespace", "Treat runs of white space as one space.")
]
_EmptyIsNull = Annotated[bool, _text_option("--empty-is-null", "Treat an empty text as NULL.")]
_Multiset = Annotated[
    bool, _text_option("--multiset", "Compare rows without a key, with their counts.")
]
_Why = Annotated[bool, _text_option("--why", "Look for rules that explain what differs.")]
_All = Annotated[
    bool, typer.Option("--all", help="Compare all tables of two schemas.", rich_help_panel=_ALL)
]
_Include = Annotated[
    list[str] | None,
    typer.Option(help="Only tables like this: fact_*; repeatable.", rich_help_panel=_ALL),
]
_Exclude = Annotated[
    list[str] | None,
    typer.Option(help="No tables like this: *_old; repeatable.", rich_help_panel=_ALL),
]
_Csv = Annotated[
    list[str] | None,
    typer.Option(
        help="How the files are written: decimal=, thousands=. null=NA delimiter=; quote=' "
        "encoding=latin-1 header=2 (0: none); repeatable.",
        metavar="KEY=VALUE",
        rich_help_panel=_FILES,
    ),
]
_Sheet = Annotated[
    str | None,
    typer.Option(help="The worksheet of Excel files; default the first.", rich_help_panel=_FILES),
]
_Top = Annotated[
    int, typer.Option(min=1, max=MAX_PAGE, help="How many of the largest differences to list.")
]


def compare(  # noqa: PLR0913 - the options of a command are its arguments
    source_a: _A,
    source_b: _B = None,
    measure: _Measures = None,
    by: _Dimensions = None,
    where: _Filters = None,
    *,
    match_absolute: _MatchAbsolute = None,
    match_percent: _MatchPercent = None,
    minor_absolute: _MinorAbsolute = None,
    minor_percent: _MinorPercent = None,
    form: _Format = None,
    output: _Output = None,
    key: _Key = None,
    columns: _Columns = None,
    ignore: _Ignore = None,
    accept: _Accept = None,
    mapping: _Mapping = None,
    column: _Column = None,
    absolute: _Absolute = None,
    relative: _Relative = None,
    seconds: _Seconds = None,
    precision: _Precision = None,
    zone: _Zone = None,
    trim: _Trim = False,
    ignore_case: _IgnoreCase = False,
    nfc: _Nfc = False,
    collapse_whitespace: _CollapseWhitespace = False,
    empty_is_null: _EmptyIsNull = False,
    multiset: _Multiset = False,
    why: _Why = False,
    every: _All = False,
    include: _Include = None,
    exclude: _Exclude = None,
    csv: _Csv = None,
    sheet: _Sheet = None,
    fail_on: _FailOn = None,
    top: _Top = TOP,
    sources: SourcesFile = None,
) -> None:
    """Compare two tables, row by row, or the sums of --measure, or what a saved file describes.

    A table is a file (CSV, Parquet, Excel, JSON lines; of a workbook also book.xlsx#Sheet), one of
    a database (URL#table, shop.duckdb#table), or a source of the sources.yaml.
    Exit codes: 0 equal, 1 findings, 2 could not compare (also if --where leaves no rows).
    """
    from skillian.cli.compare_rows import RowOptions

    rows = RowOptions(
        *(key or (), columns or (), ignore or (), accept or (), mapping or (), column or ()),
        *(absolute, relative, seconds, precision, zone),
        *(trim, ignore_case, nfc, collapse_whitespace, empty_is_null, multiset),
    )
    targets = _targets(form, output, top)
    names = _names(source_a, source_b, _file_options(csv or (), sheet))
    limits = match_absolute, match_percent, minor_absolute, minor_percent
    chosen = _Chosen(
        *(*names, rows, measure, by, where, limits, fail_on, sources, why, include, exclude)
    )
    raise typer.Exit((_report_all if every else _report_one)(chosen, targets))


class _Chosen(NamedTuple):
    """What the command line says to compare, and how."""

    a: str
    b: str | None
    rows: RowOptions
    measures: list[str] | None
    by: list[str] | None
    where: list[str] | None
    limits: tuple[Decimal | None, Decimal | None, Decimal | None, Decimal | None]
    fail_on: FailOn | None
    sources: Path | None
    why: bool
    include: list[str] | None
    exclude: list[str] | None

    def thresholds(self) -> dict[str, dict[str, Decimal | None]]:
        """The limits as a saved comparison has them."""
        absolute, percent, minor_absolute, minor_percent = self.limits
        return {
            "match": {"absolute": absolute, "percentage": percent},
            "minor_diff": {"absolute": minor_absolute, "percentage": minor_percent},
        }

    def stated(self) -> list[str]:
        """The options for measures that the command line states."""
        names = ("--match-absolute", "--match-percent", "--minor-absolute", "--minor-percent")
        stated = {"--by": self.by or None, **dict(zip(names, self.limits, strict=True))}
        return [name for name, value in stated.items() if value is not None]


def _names(a: str, b: str | None, options: Sequence[str]) -> tuple[str, str | None]:
    """The names of both tables, with the options of files."""
    if b is not None:
        from skillian.cli.compare_input import addressed

        return addressed(a, b, options)
    _check_unused([f"--csv {each}" for each in options], f"does not go with {a}")
    return a, None


def _report_one(chosen: _Chosen, targets: Sequence[ReportTarget]) -> int:
    """Compare two tables, or what a saved file describes."""
    from skillian.cli.compare_input import load_measures, load_saved, read_filters
    from skillian.cli.compare_report import report
    from skillian.cli.compare_rows import load_rows

    selections = {"--include": chosen.include, "--exclude": chosen.exclude}
    _check_unused([name for name, value in selections.items() if value], "goes with --all")
    a, b, rows, sources = chosen.a, chosen.b, chosen.rows, chosen.sources
    if b is None:
        others = (chosen.measures, chosen.where, sources, *chosen.stated(), *rows.stated())
        _check_saved(a, others)
        return report(partial(load_saved, Path(a), chosen.fail_on), targets, why=chosen.why)
    if chosen.fail_on is FailOn.NEW:
        raise typer.BadParameter("only a saved comparison (.yaml) has a history to compare with")
    filters = read_filters(chosen.where or ())
    if not chosen.measures:
        _check_row_fail_on(chosen.fail_on)
        _check_unused(
            chosen.stated(), "needs --measure; without it whole rows are compared, by --key"
        )
        load = partial(load_rows, (a, b), rows, filters, sources, chosen.fail_on)
        return report(load, targets, why=chosen.why)
    _check_unused(
        [*rows.stated(), *["--why"] * chosen.why], "compares whole rows, without --measure"
    )
    options = {
        "a": a,
        "b": b,
        "measures": chosen.measures,
        "align_on": listed(chosen.by or ()) or None,
        "filters": filters,
        "thresholds": chosen.thresholds(),
        "fail_on": chosen.fail_on or FailOn.MINOR,
    }
    return report(partial(load_measures, options, sources), targets)


def _targets(form: Format | None, output: list[Path] | None, top: int) -> list[ReportTarget]:
    from skillian.cli.compare_report import ReportTarget

    paths: list[Path | None] = [*output] if output else [None]
    return [ReportTarget(form or _format_of(path), path, top) for path in paths]


def _report_all(chosen: _Chosen, targets: Sequence[ReportTarget]) -> int:
    """Compare all tables of two schemas."""
    from skillian.cli.tables.whole import WholeQuestion, report_whole

    rows = [name for name in chosen.rows.stated() if name in _NOT_OF_ALL]
    others = {"--measure": chosen.measures, "--where": chosen.where, "--sources": chosen.sources}
    stated = [*rows, *chosen.stated(), *(name for name, value in others.items() if value)]
    _check_unused([*stated, *["--why"] * chosen.why], "does not go with --all")
    if chosen.b is None:
        raise typer.BadParameter("--all compares two schemas; name the second one")
    _check_row_fail_on(chosen.fail_on)
    fail_on = chosen.fail_on or FailOn.MINOR
    selected = chosen.include or (), chosen.exclude or ()
    question = WholeQuestion((chosen.a, chosen.b), chosen.rows, fail_on, *selected)
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
