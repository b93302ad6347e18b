"""What `skillian compare A B` names: two files, or two sources of a `sources.yaml`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from skillian.connectors.files.connector import SUFFIXES
from skillian.data.declare.infer import is_whole, looks_like_key, tables_of
from skillian.errors import InvalidInputError

if TYPE_CHECKING:
    from skillian.connectors.base import Table
    from skillian.data.declare.sources import SourceRegistry

_WANTED = "name what to compare with --measure, and what to align on with --by"


def are_files(names: Collection[str]) -> bool:
    """Whether all of these are names of files that can be compared."""
    return all(_is_file(name) for name in names)


def _is_file(name: str) -> bool:
    """Whether a name is that of a file; `#` parts a workbook's from its sheet's."""
    suffixes = {Path(part).suffix.lower() for part in (name, name.partition("#")[0])}
    return not SUFFIXES.isdisjoint(suffixes)


async def open_files(names: Sequence[str]) -> Mapping[str, Table]:
    """The table of each file.

    Raises:
        InvalidInputError: there is no such file.
        ToolError: it cannot be read.
    """
    for name in names:
        _check_file(name)
    return await tables_of(names)


def _check_file(name: str) -> None:
    places = [Path(name), Path(name.partition("#")[0])]
    if not any(place.exists() for place in places):
        raise InvalidInputError(f"there is no file {name!r} in {Path.cwd()}")
    if all(place.is_dir() for place in places):
        raise InvalidInputError(f"{name!r} is a folder; name a file in it")


def check_sources(names: Sequence[str], registry: SourceRegistry | None, path: Path) -> None:
    """Explain what is no source where it looks like a file.

    Args:
        names: as they were given.
        registry: the declared sources; None where there is no such file.
        path: of that file.

    Raises:
        InvalidInputError: one is neither a source nor a file that can be compared.
    """
    known = () if registry is None else registry.names
    unknown = [name for name in names if name not in known]
    for name in unknown:
        if _is_file(name):
            _check_file(name)
        elif Path(name).exists() or (registry is None and Path(name).suffix):
            kinds = ", ".join(sorted(SUFFIXES))
            raise InvalidInputError(
                f"{name!r} is not a file that can be compared; those that can end in: {kinds}"
            )
    for name in filter(_is_file, unknown):
        raise InvalidInputError(
            f"a file can only be compared with another file, and {_other(names, name)!r} is not"
            f" one; declare {name!r} in {path} to compare it with a source"
        )
    if registry is None:
        raise InvalidInputError(
            f"{names[0]!r} and {names[1]!r} are not files, and there is no {path} that declares"
            " them as sources; name such a file with --sources, or write a first one with: skillian"
            " sources infer URL"
        )


def _other(names: Sequence[str], name: str) -> str:
    return next((each for each in names if each != name), name)


def columns(tables: Mapping[str, Table]) -> str:
    """What files offer to compare, where nothing was named."""
    lines = [f"{_WANTED}; the columns are:"]
    for name, table in tables.items():
        listed = ", ".join(f"{column} ({kind.sql})" for column, kind in table.columns.items())
        lines.append(f"  {name}: {listed}")
    first, second = (list(tables.values()) * 2)[:2]
    shared = {c: kind for c, kind in first.columns.items() if c in second.columns}
    amounts = [c for c, kind in shared.items() if kind.kind in {"decimal", "float"}]
    whole = [c for c, kind in shared.items() if is_whole(kind) and not looks_like_key(c, kind)]
    measure = next(iter([*amounts, *whole]), None)
    keys = [c for c in shared if c not in amounts and c != measure]
    if measure is not None and keys:
        by = " ".join(f"--by {key}" for key in keys[:2])
        names = " ".join((list(tables) * 2)[:2])
        lines.append(f"For example: skillian compare {names} --measure {measure} {by}")
    return "\n".join(lines)


def measures_of(names: Sequence[str], registry: SourceRegistry) -> str:
    """What sources offer to compare, where nothing was named."""
    lines = [f"{_WANTED}; the sources have:"]
    for name in dict.fromkeys(names):
        source = registry.get(name)
        lines.append(f"  {name}: measures {', '.join(source.measures) or 'none'};")
        lines[-1] += f" dimensions {', '.join(source.dimensions) or 'none'}"
    return "\n".join(lines)


def doubtful(tables: Mapping[str, Table], measures: Collection[str]) -> Iterator[str]:
    """A sentence for each measure that looks like a code, whose sum means nothing."""
    asked = {measure.casefold() for measure in measures}
    found = {
        column
        for table in tables.values()
        for column, kind in table.columns.items()
        if column.casefold() in asked and looks_like_key(column, kind)
    }
    for column in sorted(found):
        yield f"{column!r} looks like a code rather than an amount; its numbers are summed"
