"""Which databases there are: each folder of this package lists its own as `ENGINES`."""

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

_PACKAGE = "skillian.connectors"

UNTRIED = "not yet run against the real thing"
"""The label of an engine whose statements are tested, but never ran on the vendor's own server."""


@dataclass(frozen=True, slots=True)
class Engine:
    """A kind of database.

    Attributes:
        title: Its name in texts.
        schemes: The schemes of its URLs.
        dialect: The sqlglot dialect of its statements.
        connector: Module and class, as in `mysql.connector:MySQLConnector`.
        rules: The module whose `adapt` changes what sqlglot does not translate itself.
        extra: The extra that installs its driver.
        drivers: The modules of its driver, which only connectors import.
        is_tried: Whether it is tested against the real database.
    """

    title: str
    schemes: tuple[str, ...]
    dialect: str
    connector: str
    rules: str
    extra: str = "skillian"
    drivers: tuple[str, ...] = ()
    is_tried: bool = True

    @property
    def label(self) -> str:
        """Its name, with the label of an engine that was never tried."""
        return self.title if self.is_tried else f"{self.title} ({UNTRIED})"


@cache
def engines() -> tuple[Engine, ...]:
    """All engines of this package, in the order of its folders."""
    package = import_module(_PACKAGE)
    folders = [module.name for module in iter_modules(package.__path__) if module.ispkg]
    listed = [import_module(f"{_PACKAGE}.{folder}").ENGINES for folder in folders]
    return tuple(engine for engines in listed for engine in engines)


def engine_of(scheme: str) -> Engine | None:
    """The engine of a URL's scheme."""
    return next((each for each in engines() if scheme in each.schemes), None)
