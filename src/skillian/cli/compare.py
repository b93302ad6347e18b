"""`skillian compare`: compares two sources, two files, or what a saved file describes."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillian.cli.shell import SourcesFile, check_output, explained, refuse
from skillian.data.comparison import MAX_PAGE, TOP
from skillian.reports.outcome import ROWS, Format

if TYPE_CHECKING:
    from skillian.cli.compare_report import ReportTarget

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
_NOT_OF_ALL = frozenset(
    ["--key", "--columns", "--map", "--by", "--limit", "--measure", "--where", "--sources", "--why"]
)
_OF_ALL = frozenset({"--include", "--exclude"})
_OF_SAVED = frozenset({"--why", "--fail-on"})
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
    list[Path] | None, _option("--output", "FILE", "A report (.html), or all that differs (.csv).")
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
    int, typer.Option(parser=_number, metavar="NUMBER", help="How many differences to list.")
]
_Measures = Annotated[_Several, _option("--measure", "NAME", "A sum to compare.", _MEASURES)]
_Dimensions = Annotated[_Several, _option("--by", "NAMES", "What to group by: a,b.", _MEASURES)]
_Limit = Annotated[
    _Several,
    _option("--limit", "LIMIT", "The limit of a class: match:0.01 or minor:1%,5.", _MEASURES),
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
    # They would be looked for in all installed packages.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    stated = {
        "--key": key,
        "--columns": columns,
        "--ignore": ignore,
        "--accept": accept,
        "--map": mapping,
        "--rule": rule,
        "--multiset": multiset,
        "--by": by,
        "--limit": limit,
        "--measure": measure,
        "--where": where,
        "--sources": sources,
        "--why": why,
        "--include": include,
        "--exclude": exclude,
        "--save": save,
        "--fail-on": fail_on,
    }
    given = {name: value for name, value in stated.items() if value not in (None, False, [])}
    targets = _targets(form, output, top)
    names = _names(source_a, source_b, csv or ())
    raise typer.Exit((_report_all if every else _report_one)(names, given, targets))


def _names(a: str, b: str | None, options: Sequence[str]) -> tuple[str, str | None]:
    """The names of both tables, with the options of files."""
    for option in options:
        if "=" not in option.strip("="):
            raise typer.BadParameter(f"--csv {option!r} is not of the form KEY=VALUE")
    if b is not None:
        from skillian.cli.compare_input import addressed

        return addressed(a, b, options)
    refuse([f"--csv {each}" for each in options], f"does not go with {a}")
    return a, None


def _report_one(
    names: tuple[str, str | None], given: Mapping[str, Any], targets: Sequence[ReportTarget]
) -> int:
    """Compare two tables, or what a saved file describes."""
    from skillian.cli.compare_input import asked, load_asked, load_saved
    from skillian.cli.compare_report import report

    refuse([name for name in given if name in _OF_ALL], "goes with --all")
    (a, b), fail_on, sources = names, given.get("--fail-on"), given.get("--sources")
    work = partial(report, outputs=targets, why="--why" in given)
    if b is None:
        _check_saved(a, given.keys() - _OF_SAVED)
        return work(partial(load_saved, Path(a), fail_on))
    if fail_on is FailOn.NEW:
        raise typer.BadParameter("only a saved comparison (.yaml) has a history to compare with")
    with explained():
        load = partial(load_asked, (a, b), asked(given), sources)
    if "--save" not in given:
        return work(load)
    from skillian.cli.compare_save import SavedFiles

    return SavedFiles(given["--save"]).report(load, (a, b), sources, work)


def _targets(form: Format | None, output: list[Path] | None, top: int) -> list[ReportTarget]:
    from skillian.cli.compare_report import ReportTarget

    paths: list[Path | None] = [*output] if output else [None]
    targets = [ReportTarget(_format_of(path, form), path, top) for path in paths]
    if form and form not in ROWS and all(each.form in ROWS for each in targets):
        targets.append(ReportTarget(form, None, top))
    return targets


def _report_all(
    names: tuple[str, str | None], given: Mapping[str, Any], targets: Sequence[ReportTarget]
) -> int:
    """Compare all tables of two schemas."""
    from skillian.cli.compare_input import asked
    from skillian.cli.tables.whole import report_whole
    from skillian.data.named import saved_comparison

    refuse([name for name in given if name in _NOT_OF_ALL], "does not go with --all")
    a, b = names
    if b is None:
        raise typer.BadParameter("--all compares two schemas; name the second one")
    with explained():
        common = saved_comparison({"name": "all", "a": a, "b": b, **asked(given)})
    selected = given.get("--include", ()), given.get("--exclude", ())
    return report_whole(common, selected, targets, given.get("--save"))


def _format_of(output: Path | None, stated: Format | None) -> Format:
    """The stated format; the suffix decides without one, and for all rows that differ."""
    check_output(output)
    try:
        found = Format.TABLE if output is None else Format.of_file(output)
    except ValueError as error:
        if stated:
            return stated
        raise typer.BadParameter(f"{error}; or use --format", param_hint="--output") from None
    return found if found in ROWS and stated not in ROWS else stated or found


def _check_saved(path: str, others: Collection[str]) -> None:
    """Check the command line of a saved comparison, which allows few options."""
    if Path(path).suffix.lower() not in _SAVED_SUFFIXES:
        raise typer.BadParameter(
            f"name what to compare {path!r} with; only a saved comparison (.yaml) stands alone"
        )
    if others:
        raise typer.BadParameter(f"{path} says what to compare; do not repeat it as options")
    if not Path(path).exists():
        raise typer.BadParameter(f"there is no file {path!r} in {Path.cwd()}")
