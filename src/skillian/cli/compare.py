"""`skillian compare`: two sources, two files, or what a saved file asks for."""

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from skillian.cli.reports import Load, Wanted, report
from skillian.cli.shell import SourcesFile
from skillian.connectors.files import SUFFIXES
from skillian.data.comparison import MAX_PAGE, TOP
from skillian.data.infer import sources_of
from skillian.data.saved import Saved, SavedComparison, read_saved
from skillian.data.sources import SourceRegistry
from skillian.errors import InvalidInputError
from skillian.reports.formats import Format
from skillian.settings import Settings

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

    Exit codes: 0 equal, 1 findings, 2 could not compare (also: no rows on either side).
    """
    limits = {
        "match": {"absolute": match_absolute, "percentage": match_percent},
        "minor_diff": {"absolute": minor_absolute, "percentage": minor_percent},
    }
    wanted = Wanted(form or (Format.of_file(output) if output else Format.TABLE), output, top)
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


def _saved(path: str, given: Iterable[object], fail_on: FailOn | None) -> Load:
    if Path(path).suffix.lower() not in _SAVED:
        raise typer.BadParameter(f"name what to compare {path} with, or a saved .yaml file")
    if any(each is not None and each != [] for each in given):
        raise typer.BadParameter(f"what to compare stands in {path}; give no options for it here")

    async def load() -> Saved:
        found = read_saved(Path(path))
        if fail_on is None:
            return found
        update = {"fail_on": fail_on.value}
        changed = tuple(each.model_copy(update=update) for each in found.comparisons)
        return Saved(found.registry, changed)

    return load


def _asked(asked: dict[str, Any], sources: Path | None) -> Load:
    if not asked["measures"]:
        raise typer.BadParameter("name what to compare", param_hint="--measure")
    names = asked["a"], asked["b"]
    keys = (*(asked["align_on"] or ()), *asked["filters"])
    of_files = sources is None and all(_is_file(name) for name in names)

    async def load() -> Saved:
        if of_files:
            path = Settings().sources
            declared = SourceRegistry.load(path) if path.exists() else None
            registry = await sources_of(names, asked["measures"], keys, declared)
        else:
            registry = SourceRegistry.load(sources or Settings().sources)
        return Saved(registry, (_comparison(asked),))

    return load


def _is_file(name: str) -> bool:
    """Whether a name is that of a file; `#` parts a workbook's from its sheet's."""
    return Path(name.partition("#")[0]).suffix.lower() in SUFFIXES


def _comparison(asked: dict[str, Any]) -> SavedComparison:
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
