"""`skillian compare`: two sources, two files, or what a saved file asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skillian.cli.shell import SourcesFile, notes, read_settings
from skillian.data.comparison import MAX_PAGE, TOP
from skillian.display import printable
from skillian.reports.formats import Format

if TYPE_CHECKING:
    from skillian.cli.reports import Load
    from skillian.data.declare.saved import Saved, SavedComparison
    from skillian.data.declare.sources import SourceRegistry

_SAVED = frozenset({".yaml", ".yml"})


class FailOn(StrEnum):
    """From which class on a comparison counts as a finding."""

    MINOR = "minor"
    MAJOR = "major"


def _limit(text: str) -> Decimal:
    try:
        found = Decimal(text)
    except InvalidOperation:
        found = Decimal("NaN")
    if not found.is_finite() or found < 0:
        raise typer.BadParameter(f"{text!r} is no limit; write a number such as 0.01")
    return found


def _option(help_text: str) -> Any:
    return typer.Option(help=help_text, parser=_limit, metavar="NUMBER", rich_help_panel="Limits")


def compare(  # noqa: PLR0913 - a command's options are its arguments
    source_a: Annotated[
        str, typer.Argument(metavar="A", help="The baseline: a source, a file, or a saved .yaml.")
    ],
    source_b: Annotated[str | None, typer.Argument(metavar="B", help="Compared with it.")] = None,
    measure: Annotated[list[str] | None, typer.Option(help="What to compare; repeatable.")] = None,
    by: Annotated[list[str] | None, typer.Option(help="Dimensions to align on.")] = None,
    where: Annotated[
        list[str] | None, typer.Option(help="dimension=value; of several, any.")
    ] = None,
    *,
    match_absolute: Annotated[Decimal | None, _option("A match is at most this far off;")] = None,
    match_percent: Annotated[
        Decimal | None, _option("or this many percent; with both, both must be kept.")
    ] = None,
    minor_absolute: Annotated[
        Decimal | None, _option("A minor one is at most this far off;")
    ] = None,
    minor_percent: Annotated[
        Decimal | None, _option("or this many percent; with both, both must be kept.")
    ] = None,
    form: Annotated[
        Format | None, typer.Option("--format", help="Default: by OUTPUT's name, else a table.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Write the report to this file.")] = None,
    fail_on: Annotated[FailOn | None, typer.Option(help="What counts as a finding.")] = None,
    top: Annotated[
        int, typer.Option(min=1, max=MAX_PAGE, help="How many of the largest differences.")
    ] = TOP,
    sources: SourcesFile = None,
) -> None:
    """Compare two sources, two files (CSV, Parquet, Excel), or what a saved file asks for.

    Exit codes: 0 equal, 1 findings, 2 could not compare (also: --where leaves no rows).
    """
    from skillian.cli.reports import Wanted, report

    limits = {
        "match": {"absolute": match_absolute, "percentage": match_percent},
        "minor_diff": {"absolute": minor_absolute, "percentage": minor_percent},
    }
    wanted = Wanted(form or _form_of(output), output, top)
    if source_b is None:
        given = (measure, by, where, sources, match_absolute, match_percent)
        load = _saved(source_a, (*given, minor_absolute, minor_percent), fail_on)
    else:
        asked = {
            "name": f"{source_a} and {source_b}",
            "a": source_a,
            "b": source_b,
            "measures": measure or (),
            "align_on": by or None,
            "filters": _filters(where or ()),
            "thresholds": limits,
            "fail_on": fail_on or FailOn.MINOR,
        }
        load = _asked(asked, sources)
    raise typer.Exit(report(load, wanted))


def _form_of(output: Path | None) -> Format:
    try:
        return Format.TABLE if output is None else Format.of_file(output)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; or say --format", param_hint="--output") from None


def _saved(path: str, given: Iterable[object], fail_on: FailOn | None) -> Load:
    if Path(path).suffix.lower() not in _SAVED:
        raise typer.BadParameter(
            f"name what to compare {path!r} with; alone, A is a saved comparison (.yaml)"
        )
    if any(each is not None and each != [] for each in given):
        raise typer.BadParameter(f"what to compare stands in {path}; give no options for it here")

    from skillian.data.declare.saved import Saved, read_saved

    if not Path(path).exists():
        raise typer.BadParameter(f"there is no file {path!r} in {Path.cwd()}")

    async def load() -> Saved:
        found = read_saved(Path(path))
        if fail_on is None:
            return found
        update = {"fail_on": fail_on.value}
        changed = tuple(each.model_copy(update=update) for each in found.comparisons)
        return Saved(found.registry, changed)

    return load


def _asked(asked: dict[str, Any], sources: Path | None) -> Load:
    from skillian.cli.named import are_files
    from skillian.data.declare.saved import Saved

    names = asked["a"], asked["b"]
    of_files = sources is None and are_files(names)

    async def load() -> Saved:
        opened = _of_files(names, asked) if of_files else _of_sources(asked, sources)
        return Saved(await opened, (_comparison(asked),))

    return load


async def _of_files(names: Sequence[str], asked: dict[str, Any]) -> SourceRegistry:
    """The files as sources: as a `sources.yaml` declares them, or by their columns."""
    from skillian.cli.named import columns, doubtful, open_files
    from skillian.data.declare.infer import declared_files, sources_of
    from skillian.data.declare.sources import SourceRegistry
    from skillian.errors import InvalidInputError

    path = read_settings(sources=None).sources
    declared = SourceRegistry.load(path) if path.exists() else None
    known = declared_files(names, declared)
    tables = await open_files([name for name in names if name not in known])
    measures = asked["measures"]
    if not measures:
        raise InvalidInputError(columns(tables))
    for warning in doubtful(tables, measures):
        message = printable(f"warning: {warning}")
        notes.print(message, style="yellow", markup=False, soft_wrap=True)
    keys = (*(asked["align_on"] or ()), *asked["filters"])
    return sources_of(tables, measures, keys, known, declared)


async def _of_sources(asked: dict[str, Any], sources: Path | None) -> SourceRegistry:
    from skillian.cli.named import check_sources, measures_of
    from skillian.data.declare.sources import SourceRegistry
    from skillian.errors import InvalidInputError

    names = asked["a"], asked["b"]
    path = read_settings(sources=sources).sources
    registry = SourceRegistry.load(path) if sources is not None or path.exists() else None
    check_sources(names, registry, path)
    if registry is None:
        raise AssertionError("without sources these names are refused")
    if not asked["measures"]:
        raise InvalidInputError(measures_of(names, registry))
    return registry


def _comparison(asked: dict[str, Any]) -> SavedComparison:
    from pydantic import ValidationError

    from skillian.data.declare.saved import SavedComparison
    from skillian.errors import InvalidInputError

    try:
        return SavedComparison.model_validate(asked)
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise InvalidInputError("; ".join(faults)) from None


def _filters(entries: Iterable[str]) -> dict[str, list[str]]:
    filters: dict[str, list[str]] = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"--where {entry!r} is not of the form dimension=value")
        filters.setdefault(name, []).append(value)
    return filters
