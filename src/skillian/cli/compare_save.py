"""`skillian compare --save`: writes what was asked as a saved comparison."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from skillian.cli.shell import ExitCode, check_output, say, sources_file
from skillian.connectors import PATHS, scheme
from skillian.connectors.base import path_of
from skillian.connectors.files.options import split_name
from skillian.data.declare.saved import Saved, as_yaml, saved_text, stated
from skillian.data.declare.sources import VARIABLE, SourceRegistry
from skillian.data.declare.sources_yaml import has_secret
from skillian.data.query.relation import address_of, declared_name
from skillian.errors import InvalidInputError, quoted
from skillian.reports.replacing import write_whole

if TYPE_CHECKING:
    from skillian.data.declare.definitions import Source
    from skillian.data.declare.saved import SavedComparison

Load = Callable[[], Coroutine[Any, Any, Saved]]


class SavedFiles:
    """The files of a saved comparison: what is compared, and the sources that nobody declared.

    Args:
        name: The path of the first, with or without its suffix; the second is beside it.

    Raises:
        BadParameter: One of them exists already, or its folder does not.
    """

    def __init__(self, name: str) -> None:
        path = Path(name)
        if not path.name:
            raise typer.BadParameter(f"{name!r} is not the name of a file", param_hint="--save")
        is_whole = path.suffix in {".yaml", ".yml"}
        self.path = path if is_whole else path.with_name(f"{path.name}.yaml")
        self._sources = self.path.with_name(f"{self.path.stem}.sources.yaml")
        self._texts: dict[Path, str] = {}
        self._remark = ""
        for each in (self.path, self._sources):
            if each.exists():
                raise typer.BadParameter(f"{each} exists already", param_hint="--save")
        check_output(self.path, "--save")

    def report(
        self,
        load: Load,
        names: tuple[str, str],
        sources: Path | None,
        work: Callable[[Load], ExitCode],
    ) -> ExitCode:
        """Compare two tables and report, then write the files unless that failed.

        Args:
            load: Reads what to compare.
            names: The two tables on the command line.
            sources: The stated `sources.yaml`.
            work: Compares and reports what a function like `load` reads.
        """

        async def loaded() -> Saved:
            saved = await load()
            (comparison,) = saved.comparisons
            self._prepare(comparison, saved.registry, names, sources)
            return saved

        code = work(loaded)
        if code is not ExitCode.COULD_NOT:
            self.write()
        return code

    def _prepare(
        self,
        comparison: SavedComparison,
        registry: SourceRegistry,
        names: tuple[str, str],
        sources: Path | None,
    ) -> None:
        path = sources_file(sources)
        declared = _declared(names, path)
        if declared is None:
            self.prepare([comparison.model_copy(update={"name": self.path.stem})], registry)
            if not comparison.subject.judges_declared:
                self._remark = (
                    f"{self._sources} declares the tables: differences of their schemas are no"
                    " longer findings."
                )
            return
        a, b = declared
        update = {"name": self.path.stem, "a": a, "b": b}
        relative = Path(os.path.relpath(path, self.path.parent)).as_posix()
        self._texts = {self.path: saved_text(relative, [comparison.model_copy(update=update)])}

    def prepare(self, comparisons: Sequence[SavedComparison], registry: SourceRegistry) -> None:
        """Make the texts of both files.

        Raises:
            InvalidInputError: The URL of a database has a secret.
        """
        names = dict.fromkeys(name for each in comparisons for name in (each.a, each.b))
        self._texts = {
            self._sources: _sources_text(registry, names, self._sources.parent),
            self.path: saved_text(self._sources.name, comparisons),
        }

    def write(self) -> None:
        """Write the files, and say how to run them; exit with a message if that fails."""
        written: list[Path] = []
        for path, text in self._texts.items():
            try:
                path.touch(exist_ok=False)
                written.append(path)
                write_whole(path, text)
            except OSError as error:
                for each in written:
                    each.unlink(missing_ok=True)
                raise typer.BadParameter(
                    f"{path} cannot be written: {error.strerror}", param_hint="--save"
                ) from None
        command = f"Saved: skillian compare {shlex.quote(str(self.path))}"
        for line in filter(None, (command, self._remark)):
            say(line)


def _declared(names: tuple[str, str], path: Path) -> tuple[str, str] | None:
    """The declared sources of both names; None if one of them has none."""
    if all(address_of(name) for name in names) or not path.exists():
        return None
    registry = SourceRegistry.load(path)
    a, b = (declared_name(name, registry) for name in names)
    return None if a is None or b is None else (a, b)


def _sources_text(registry: SourceRegistry, names: Iterable[str], folder: Path) -> str:
    sources = {name: registry.get(name) for name in names}
    connections = dict.fromkeys(each.connection for each in sources.values())
    content: dict[str, Any] = {
        "connections": {each: _url(registry, each, folder) for each in connections},
        "sources": {name: _source(each) for name, each in sources.items()},
    }
    settings = stated(registry.comparison)
    return as_yaml(content | ({"comparison": settings} if settings else {}))


def _url(registry: SourceRegistry, connection: str, folder: Path) -> str:
    """The URL to write: a path below the folder is relative to it, any other is absolute.

    Raises:
        InvalidInputError: It has a secret, or a path that would be read as another one.
    """
    url = registry.declared_url(connection)
    if scheme(url) in PATHS:
        path = str(path_of(url, registry.folder).absolute())
        if (variable := VARIABLE.search(path)) and Path(split_name(path)[0]).exists():
            raise InvalidInputError(
                f"{path} cannot be saved: {variable[0]} in its name would be read as a variable of"
                " the environment; rename it"
            )
        return f"{scheme(url)}:///{path.removeprefix(f'{folder.absolute()}{os.sep}')}"
    if has_secret(url):
        raise InvalidInputError(
            f"the URL of {quoted(connection)} has a password or options, which --save does not"
            " write; write the secret part as a variable of the environment, in single quotes,"
            " such as 'postgresql://reader:${SHOP_PASSWORD}@db.example/shop#orders'"
        )
    return url


def _source(source: Source) -> dict[str, Any]:
    """A source with the columns whose names can be written."""
    content = stated(source)
    taken = {name.casefold() for name in source.measures}
    dimensions: dict[str, Any] = {}
    for name, each in content["dimensions"].items():
        if name.isprintable() and name.casefold() not in taken:
            dimensions[name] = each
            taken.add(name.casefold())
    return {**content, "dimensions": dimensions}
