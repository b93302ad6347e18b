"""`skillian compare`: compares two sources, two files, or what a saved file describes."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from skillian.cli.shell import ExitCode, SourcesFile, listed
from skillian.data.comparison import MAX_PAGE, TOP
from skillian.reports.formats import Format

if TYPE_CHECKING:
    from skillian.cli.compare_report import ReportTarget
    from skillian.cli.compare_rows import RowOptions
    from skillian.cli.compare_save import Load

_COLLECTED = 50_000, 20, 20
_SAVED_SUFFIXES = frozenset({".yaml", ".yml"})


class FailOn(StrEnum):
    """The mildest class that counts as a finding; only new findings; or also any of the schemas."""

    MINOR = "minor"
    MAJOR = "major"
    NEW = "new"
    SCHEMA = "schema"


def _number(text: object) -> int:
    number = int(str(text)) if str(text).isdecimal() else 0
    if not 1 <= number <= MAX_PAGE:
        raise typer.BadParameter(f"{text} is not a number from 1 to {MAX_PAGE:,}")
    return number


def _option(name: str, metavar: str, help_text: str, panel: str | None = None) -> Any:
    return typer.Option(name, metavar=metavar, help=help_text, rich_help_panel=panel)


_MEASURES = "Measures"
_ROWS = "Whole rows"
_ALL = "All tables of two schemas (A and B: URL, URL#schema, or a folder of files)"
_NOT_OF_ALL = frozenset({"--key", "--columns", "--map"})
_Several = list[str] | None
_A = Annotated[str, typer.Argument(metavar="A", help="The baseline, or a saved .yaml alone.")]
_B = Annotated[str | None, typer.Argument(metavar="B", help="What to compare with A.")]
_Filters = Annotated[
    _Several, _option("--where", "TEST", "Only rows with name=value, name>=1, 'name is null'.")
]
_Csv = Annotated[
    _Several, _option("--csv", "KEY=VALUE", "How files are written: a.decimal=, (of A).")
]
_Output = Annotated[
    list[Path] | None,
    _option("--output", "FILE", "A report (.html), or all that differs (.csv)."),
]
_Format = Annotated[
    Format | None, _option("--format", "FORMAT", "The format, if the suffix does not say it.")
]
_Save = Annotated[
    str | None, _option("--save", "NAME", "Write what is asked to NAME.yaml, to run it again.")
]
_FailOn = Annotated[
    FailOn | None, _option("--fail-on", "CLASS", "Mildest finding: minor, major, new, schema.")
]
_Top = Annotated[
    int,
    typer.Option(parser=_number, metavar="NUMBER", help="How many differences to list."),
]
_Measures = Annotated[_Several, _option("--measure", "NAME", "A sum to compare.", _MEASURES)]
_Dimensions = Annotated[_Several, _option("--by", "NAMES", "What to group by: a,b.", _MEASURES)]
_Limit = Annotated[
    _Several,
    _option("--limit", "LIMIT", "The limit of a class: match:0.01 or minor:5,1%.", _MEASURES),
]
_Key = Annotated[_Several, _option("--key", "NAMES", "What identifies a row: a,b.", _ROWS)]
_Columns = Annotated[_Several, _option("--columns", "NAMES", "Compare only these: a,b.", _ROWS)]
_Ignore = Annotated[_Several, _option("--ignore", "NAMES", "Do not compare these: a,b.", _ROWS)]
_Accept = Annotated[
    _Several, _option("--accept", "NAMES", "Allow schemas to differ: schema:name.", _ROWS)
]
_Mapping = Annotated[_Several, _option("--map", "A=B", "A column's other name in B.", _ROWS)]
_Rule = Annotated[
    _Several, _option("--rule", "RULE", "When cells are equal: 0.01, name:trim.", _ROWS)
]
_Multiset = Annotated[
    bool, typer.Option("--multiset", help="Count rows, without a key.", rich_help_panel=_ROWS)
]
_Why = Annotated[
    bool, typer.Option("--why", help="Find rules that explain what differs.", rich_help_panel=_ROWS)
]
_All = Annotated[
    bool, typer.Option("--all", help="Compare all their tables.", rich_help_panel=_ALL)
]
_Include = Annotated[_Several, _option("--include", "NAME", "Only such tables: fact_*.", _ALL)]
_Exclude = Annotated[_Several, _option("--exclude", "NAME", "No such tables: *_old.", _ALL)]


@contextmanager
def _few_collections() -> Generator[None]:
    """Collect garbage less often.

    What is loaded stays, and a statement about thousands of columns is a tree of millions of
    objects, which the collector would otherwise search again and again while it grows.
    """
    before = gc.get_threshold()
    gc.set_threshold(*_COLLECTED)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@_few_collections()
def compare(  # noqa: PLR0913 - the options of a command are its arguments
    source_a: _A,
    source_b: _B = None,
    where: _Filters = None,
    csv: _Csv = None,
    output: _Output = None,
    *,
    form: _Format = None,
    fail_on: _FailOn = None,
    save: _Save = None,
    top: _Top = TOP,
    sources: SourcesFile = None,
    measure: _Measures = None,
    by: _Dimensions = None,
    limit: _Limit = None,
    key: _Key = None,
    columns: _Columns = None,
    ignore: _Ignore = None,
    accept: _Accept = None,
    mapping: _Mapping = None,
    rule: _Rule = None,
    multiset: _Multiset = False,
    why: _Why = False,
    every: _All = False,
    include: _Include = None,
    exclude: _Exclude = None,
) -> None:
    """Compare two tables, row by row, or the sums of --measure, or what a saved file describes.

    A table is a file (CSV, Parquet, Excel, JSON lines; book.xlsx#Sheet), one of a database
    (URL#table, shop.duckdb#table), or a source of the sources.yaml. Options can be repeated.
    Exit codes: 0 equal, 1 findings, 2 could not compare (also if --where leaves no rows).
    """
    from skillian.cli.compare_rows import RowOptions

    rows = RowOptions(
        key or (),
        columns or (),
        ignore or (),
        accept or (),
        mapping or (),
        rule or (),
        multiset=multiset,
    )
    targets = _targets(form, output, top)
    names = _names(source_a, source_b, _file_options(csv or ()))
    chosen = _Chosen(
        *(*names, rows, measure, by, where, limit, fail_on, sources, why, include, exclude, save)
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
    limits: list[str] | None
    fail_on: FailOn | None
    sources: Path | None
    why: bool
    include: list[str] | None
    exclude: list[str] | None
    save: str | None

    def stated(self) -> list[str]:
        """The options for measures that the command line states."""
        return [name for name, value in {"--by": self.by, "--limit": self.limits}.items() if value]


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
    from skillian.cli.compare_rows import load_rows, thresholds_of

    selections = {"--include": chosen.include, "--exclude": chosen.exclude}
    _check_unused([name for name, value in selections.items() if value], "goes with --all")
    a, b, rows, sources = chosen.a, chosen.b, chosen.rows, chosen.sources
    if b is None:
        others = (
            chosen.measures,
            chosen.where,
            sources,
            chosen.save,
            *chosen.stated(),
            *rows.stated(),
        )
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
        return _saving(chosen, load, partial(report, outputs=targets, why=chosen.why))
    _check_unused(
        [*rows.stated(), *["--why"] * chosen.why], "compares whole rows, without --measure"
    )
    options = {
        "a": a,
        "b": b,
        "measures": chosen.measures,
        "align_on": listed(chosen.by or ()) or None,
        "filters": filters,
        "thresholds": thresholds_of(chosen.limits or ()),
        "fail_on": chosen.fail_on or FailOn.MINOR,
    }
    load = partial(load_measures, options, sources)
    return _saving(chosen, load, partial(report, outputs=targets))


def _saving(chosen: _Chosen, load: Load, work: Callable[[Load], ExitCode]) -> int:
    """Compare and report, and with --save write what is compared."""
    if chosen.save is None or chosen.b is None:
        return work(load)
    from skillian.cli.compare_save import SavedFiles

    files = SavedFiles(chosen.save)
    return files.report(load, (chosen.a, chosen.b), chosen.sources, work)


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
    return report_whole(question, targets, chosen.save)


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


def _file_options(options: Sequence[str]) -> Sequence[str]:
    for option in options:
        if "=" not in option.strip("="):
            raise typer.BadParameter(f"--csv {option!r} is not of the form KEY=VALUE")
    return options
