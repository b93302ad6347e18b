"""Trust levels: what code may use and import at each, and what each promises."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from tinyagent.core.errors import ConfigurationError
from tinyagent.core.untrusted import cut_middle
from tinyagent.execution.protocol import Guarantee
from tinyagent.options import checks_options


class TrustLevel(StrEnum):
    """How far code is trusted; docs/security.md says what each level promises."""

    LOCAL = "local"
    ISOLATED = "isolated"
    SANDBOXED = "sandboxed"


@checks_options()
@dataclass(frozen=True, slots=True)
class ExecutionLimits:
    """The limits of a session.

    Args:
        timeout_seconds: Wall-clock time of one step; time in tools does not count.
        max_output_bytes: Printed text of one step that is kept, in bytes of UTF-8.
        max_steps: Steps of one session; None for any number.
        max_memory_bytes: Memory of the code beyond that of the bare interpreter.
        max_processes: Processes and threads of one session at a time.
        max_file_bytes: All files of the working folder together.
        max_network_bytes: What one step may send and receive, where it has a network.

    Raises:
        ConfigurationError: A limit is not positive.
    """

    timeout_seconds: float = 30.0
    max_output_bytes: int = 10_000
    max_steps: int | None = None
    max_memory_bytes: int = 2**30
    max_processes: int = 32
    max_file_bytes: int = 2**28
    max_network_bytes: int = 2**28

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None and not value > 0:
                raise ConfigurationError(f"{item.name} must be more than 0, got {value!r}")

    def timeout_context(self) -> AbstractContextManager[None]:
        """Stop this thread's work inside the block after `timeout_seconds`.

        It works between Python's instructions: a call into C is stopped when it returns.

        Raises:
            ExecutionTimeout: The time is over.
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


NETWORK_IMPORTS = frozenset(
    """
    aiohttp anyio certifi h11 http httpcore httpx idna multidict requests sniffio socket ssl urllib
    urllib3 yarl
    """.split()  # noqa: SIM905 - as above
)
"""What code with a network may import besides."""


def imports_at(
    level: TrustLevel, extra: Iterable[str], packages: frozenset[str] | None = None
) -> frozenset[str]:
    """The modules that code may import at this level, with those that its caller adds.

    Args:
        level: Decides on the usual modules.
        extra: Modules that the caller adds.
        packages: The modules of the code's own packages, which it has in place of the usual
            libraries; None if it has none.

    Raises:
        ConfigurationError: LOCAL is to allow everything.
    """
    names = frozenset([extra] if isinstance(extra, str) else extra)
    if packages is not None:
        return (ISOLATED_IMPORTS & sys.stdlib_module_names) | packages | names
    if level is not TrustLevel.LOCAL:
        return ISOLATED_IMPORTS | names
    if "*" in names:
        raise ConfigurationError(
            "imports=\"*\" would undo trust level 'local': name the modules, or use"
            " TrustLevel.ISOLATED"
        )
    if "pandas" in names:
        names |= {"numpy"}  # its parts in C import it on behalf of the code
    return LOCAL_IMPORTS | names


PROMISES = {
    "S1": "no host file but Python's",
    "S2": "not even the names of host files",
    "S3": "nothing written outside the working folder",
    "S4": "no network",
    "S5": "no other program is started",
    "S6": "no other process is seen",
    "S7": "no privileges, no other kernel interfaces",
    "S8": "none of the host's environment",
    "S9": "time limit",
    "S10": "memory limit",
    "S11": "process limit",
    "S12": "limit of each file",
    "S13": "limit of all files",
    "S14": "sessions are hidden from each other",
    "S15": "a step that fails loses only itself",
    "S16": "ends with its host",
    "S21": "no other process is signalled",
    "S22": "not the name of the host",
}
"""What a sandbox is promised, by the ids of docs/security.md."""

NETWORK_PROMISES = {
    "N1": "only listed hosts are reached, with their methods and paths",
    "N2": (
        "names that are not listed are not looked up, and private addresses not reached through"
        " public names"
    ),
    "N3": "keys stay on the host, and their echoes are masked",
    "N4": "no connection outlives its step",
    "N5": "without `network`, nothing changes: not a system call more is allowed",
}
"""What a sandbox with a network is promised besides."""

_LOCAL_PROMISES = {
    "S9": "killed by the host",
    "S17": "cut in the process and again on the host",
    "S18": "checked in the syntax tree and at import; a guard against accidents",
}
_OTHERS = {"S17": "output limit", "S18": "imports from a list"}

# Without these, code can read or change what belongs to the host. The promises that ISOLATED may
# lack (names of files, limits of all processes and files together) are missing in most containers.
_AT_ISOLATED = frozenset({"S1", "S3", "S4", "S5", "S7", "S14", "S21"})
_OF_CHECKPOINTS = "S15"


def promise_ids(names: Iterable[str]) -> frozenset[str]:
    """The ids of promises, which may be named by id or in words.

    Raises:
        ConfigurationError: No promise has this name.
    """
    ids = {promise: key for key, promise in PROMISES.items()}
    chosen: set[str] = set()
    for name in [names] if isinstance(names, str) else names:
        key = name.upper() if name.upper() in PROMISES else ids.get(name)
        if key is None:
            known = ", ".join(f"{key} ({promise})" for key, promise in PROMISES.items())
            raise ConfigurationError(f"there is no promise {name!r}; there are: {known}")
        chosen.add(key)
    return frozenset(chosen)


def needed_promises(
    level: TrustLevel, without: Iterable[str], require: Iterable[str], *, keeps_states: bool
) -> frozenset[str]:
    """The ids of the promises that must be enforced for code to run.

    Args:
        level: Decides which promises are needed by default.
        without: Promises that may be missing.
        require: Promises that are needed in addition.
        keeps_states: Whether the caller wants earlier states.

    Raises:
        ConfigurationError: No promise has such a name, or one is in both lists.
    """
    needed = {
        TrustLevel.LOCAL: frozenset[str](),
        TrustLevel.ISOLATED: _AT_ISOLATED,
        TrustLevel.SANDBOXED: frozenset(PROMISES),
    }[level]
    if not keeps_states:
        needed -= {_OF_CHECKPOINTS}
    dropped, required = promise_ids(without), promise_ids(require)
    both = sorted(dropped & required)
    if both:
        raise ConfigurationError(f"{both[0]} is in `without` and in `require`: name it in one")
    return needed - dropped | required


def lacking(guarantees: Sequence[Guarantee], needed: frozenset[str]) -> str:
    """A text that names the promises that are needed and not enforced; "" for none."""
    missing = [each for each in guarantees if each.id in needed and not each.enforced]
    if not missing:
        return ""
    names = ", ".join(f"{each.id} ({each.promise})" for each in missing)
    ids = ", ".join(repr(each.id) for each in missing)
    return f"it cannot keep {names}; to run without them: without=[{ids}]"


def describe_local(checkpoints: int) -> tuple[Guarantee, ...]:
    """The promises that a process without locks keeps, and those that it does not."""
    held = dict(_LOCAL_PROMISES)
    if checkpoints:
        held[_OF_CHECKPOINTS] = _states(checkpoints)
    names = {**PROMISES, **_OTHERS}
    others = {key: "nothing here" for key in PROMISES if key not in held}
    return tuple(
        Guarantee(names[key], enforced=key in held, by=how, id=key)
        for key, how in {**held, **others}.items()
    )


def describe_network(reason: str = "") -> tuple[Guarantee, ...]:
    """Each promise of a network, and what enforces it.

    Args:
        reason: Why there is no network; "" if there is one.
    """
    by = {
        "N1": "a network namespace in which only the host listens; the host sends the requests",
        "N2": "the host resolves names after its decision",
        "N3": "the host adds keys, over TLS, and masks answers",
        "N4": "the host closes all connections",
        "N5": "system-call filter",
    }
    return tuple(
        Guarantee(promise, not reason, reason or by[key], key)
        for key, promise in NETWORK_PROMISES.items()
    )


def _states(checkpoints: int) -> str:
    return f"each step in a fork, {checkpoints} states kept"


def describe_guarantees(
    engine: str, report: Mapping[str, Any], checkpoints: int
) -> tuple[Guarantee, ...]:
    """Each promise, whether it holds on this machine, and what enforces it."""
    apart, landlock = report["namespaces"], report["landlock"]
    outside = "" if engine == "kernel" else engine
    unseen = "a separate root, read-only" if apart else outside
    nothing = "nothing here"

    def by(*locks: str) -> str:
        return ", ".join(lock for lock in locks if lock) or nothing

    files = by(unseen, f"Landlock ABI {landlock}" if landlock else "")
    filters = "system-call filter" if report["seccomp"] else ""
    network = by("network namespace" if apart else outside, filters)
    rows = (
        ("S1", files),
        ("S2", by(unseen)),
        ("S3", files),
        ("S4", network),
        ("S5", by(filters)),
        ("S6", by("process namespace" if apart else outside)),
        ("S21", by("process namespace" if apart else outside, filters)),
        (
            "S7",
            by("capabilities dropped", filters) if filters else nothing,
        ),
        ("S8", "a separate environment"),
        ("S9", "killed by the host"),
        ("S10", by("RLIMIT_DATA", "forks granted from one budget" if checkpoints else "")),
        ("S11", "RLIMIT_NPROC in a user namespace" if apart else nothing),
        ("S12", "RLIMIT_FSIZE"),
        ("S13", "a folder in memory of that size" if apart else nothing),
        (
            "S14",
            by("mount and process namespaces" if apart else "", "Landlock" if landlock else ""),
        ),
        (
            "S15",
            _states(checkpoints) if checkpoints else nothing,
        ),
        ("S22", by("a separate host name" if apart else outside)),
        ("S16", "process namespace" if apart else "parent-death signal"),
    )
    return tuple(Guarantee(PROMISES[key], how != nothing, how, key) for key, how in rows)
