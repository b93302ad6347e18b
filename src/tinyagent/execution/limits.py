"""How far code is trusted, how much it may use, and what it may import."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from enum import StrEnum

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.untrusted import cut_middle


class TrustLevel(StrEnum):
    """How far code is trusted; docs/security.md says what each level promises."""

    LOCAL = "local"
    ISOLATED = "isolated"
    SANDBOXED = "sandboxed"


@dataclass(frozen=True, slots=True)
class ExecutionLimits:
    """What one session of code may use.

    Args:
        timeout_seconds: wall-clock time of one step; time in tools does not count.
        max_output_bytes: printed text of one step that is kept, in bytes of UTF-8.
        max_steps: steps of one session; None for any number.
        max_memory_bytes: memory of the code beyond that of the bare interpreter.
        max_processes: processes and threads of one session at a time.
        max_file_bytes: all files of the working folder together.

    Raises:
        ConfigurationError: a limit is not positive.
    """

    timeout_seconds: float = 30.0
    max_output_bytes: int = 10_000
    max_steps: int | None = None
    max_memory_bytes: int = 2**30
    max_processes: int = 32
    max_file_bytes: int = 2**28

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None and not value > 0:
                raise ConfigurationError(f"{item.name} must be more than 0, got {value!r}")

    def timeout_context(self) -> AbstractContextManager[None]:
        """Stop this thread's work inside the block after `timeout_seconds`.

        It works between Python's instructions: a call into C is stopped when it returns.

        Raises:
            ExecutionTimeout: the time is over.
        """
        # Agents that run no code do not need it, and it loads ctypes.
        from tinyagent.execution.deadline import deadline  # noqa: PLC0415

        return deadline(self.timeout_seconds)

    def truncate_output(self, text: str) -> str:
        """`text`, cut in the middle to `max_output_bytes`, with a note on how much is missing."""
        return cut_middle(text, self.max_output_bytes)


LOCAL_IMPORTS = frozenset(
    """
    __future__ abc ast base64 binascii bisect calendar cmath collections colorsys contextlib copy
    csv dataclasses datetime decimal difflib enum fractions functools graphlib hashlib heapq hmac
    html io ipaddress itertools json math numbers operator pprint random re secrets statistics
    string struct textwrap time types typing unicodedata urllib.parse uuid zlib zoneinfo
    """.split()  # noqa: SIM905 - a list to read, not a column
)
"""At LOCAL: what computes and has no use for files, the network or the interpreter.

A guard against accidents: these modules reach others, which no check holds back.
"""

# Not in the list below, although the locks hold all of it back:
# - ctypes, _*, mmap: raw memory, which computing does not need and where attacks begin;
# - socket, ssl, http, subprocess, multiprocessing, signal: the kernel refuses what they do, and a
#   refused import is clearer to a model than "Operation not permitted" some lines later;
# - importlib, runpy, builtins: ways around this list. pickle and marshal are in it, for code that
#   saves its own variables: they can call nothing that the code cannot call.
# In the list, because they are harmless behind the locks: sys, os, gc, inspect.
ISOLATED_IMPORTS = LOCAL_IMPORTS | frozenset(
    """
    argparse array asyncio atexit bz2 cProfile codecs collections concurrent configparser
    contextvars copyreg dis doctest email encodings errno filecmp fileinput fnmatch gc genericpath
    getpass gettext glob gzip inspect keyword linecache locale logging lzma marshal
    mimetypes netrc ntpath optparse os pathlib pickle pickletools pkgutil platform plistlib
    posixpath profile pstats queue quopri reprlib sched select selectors shelve shlex shutil
    sqlite3 stat stringprep symtable sys sysconfig tarfile tempfile threading timeit
    token tokenize tomllib trace traceback tracemalloc typing unittest urllib warnings wave
    weakref xml zipapp zipfile

    PIL altair attr attrs bokeh bs4 cachetools chardet charset_normalizer cycler dateutil duckdb
    faker jinja2 joblib jsonschema kiwisolver lxml markdown matplotlib more_itertools mpl_toolkits
    mpmath msgpack narwhals networkx numexpr numpy openpyxl orjson packaging pandas plotly
    polars pyarrow pydantic pydantic_core pyparsing pytz rapidfuzz regex rich scipy seaborn shapely
    simplejson six sklearn sqlglot sqlparse statsmodels sympy tabulate threadpoolctl toml tqdm
    typing_extensions tzdata tzlocal ujson xarray xlrd xlsxwriter yaml
    """.split()  # noqa: SIM905 - as above
)
"""At ISOLATED and SANDBOXED: much of the standard library, and data libraries.

Importing a library that is not installed raises an ordinary ModuleNotFoundError.
"""


def imports_at(level: TrustLevel, extra: Iterable[str]) -> frozenset[str]:
    """What code may import at this level, with what its caller adds.

    Raises:
        ConfigurationError: LOCAL is to allow everything.
    """
    names = frozenset([extra] if isinstance(extra, str) else extra)
    if level is not TrustLevel.LOCAL:
        return ISOLATED_IMPORTS | names
    if "*" in names:
        raise ConfigurationError(
            "extra_imports=\"*\" would undo trust level 'local': name the modules, or use"
            " TrustLevel.ISOLATED"
        )
    if "pandas" in names:
        names |= {"numpy"}  # its parts in C import it on behalf of the code
    return LOCAL_IMPORTS | names
