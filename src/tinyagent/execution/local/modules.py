"""The modules that LOCAL code may import: which of their names, and in what form.

What is left out leads to files, other modules, the host's own state, or to code in strings
(`typing.get_type_hints`, `functools.singledispatch`, `dataclasses.make_dataclass`).
"""

from __future__ import annotations

import importlib
import types
from collections.abc import Mapping
from typing import Any, cast

from tinyagent.execution.imports import LOCAL_IMPORTS, allowed, refusal
from tinyagent.execution.local.facade import Facade, OpenFacade
from tinyagent.execution.local.figures import watch_figures
from tinyagent.execution.local.guards import Guards
from tinyagent.execution.local.shims import make_shims

ALL = "*"
"""All that the module itself declares public: for those in C, and those of plain functions."""

NAMES: Mapping[str, str] = {
    "__future__": "annotations division print_function",
    "abc": "ABC",
    "ast": "literal_eval",
    "base64": (
        "b16decode b16encode b32decode b32encode b64decode b64encode b85decode b85encode "
        "standard_b64decode standard_b64encode urlsafe_b64decode urlsafe_b64encode"
    ),
    "binascii": "Error a2b_base64 a2b_hex b2a_base64 b2a_hex crc32 crc_hqx hexlify unhexlify",
    "bisect": "bisect bisect_left bisect_right insort insort_left insort_right",
    "calendar": (
        "Calendar FRIDAY MONDAY SATURDAY SUNDAY THURSDAY TUESDAY WEDNESDAY calendar day_abbr "
        "day_name isleap leapdays month month_abbr month_name monthcalendar monthrange timegm "
        "weekday"
    ),
    "cmath": ALL,
    "collections": "ChainMap Counter OrderedDict UserDict UserList defaultdict deque",
    "collections.abc": ALL,
    "colorsys": ALL,
    "contextlib": (
        "AbstractContextManager ContextDecorator ExitStack closing contextmanager nullcontext "
        "suppress"
    ),
    "copy": "copy deepcopy",
    "csv": (
        "DictReader DictWriter Error QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC "
        "Sniffer excel excel_tab reader unix_dialect writer"
    ),
    "dataclasses": (
        "FrozenInstanceError InitVar KW_ONLY MISSING asdict astuple field fields is_dataclass "
        "replace"
    ),
    "datetime": "MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo",
    "decimal": (
        "Clamped Context Decimal DecimalException DivisionByZero FloatOperation Inexact "
        "InvalidOperation Overflow ROUND_05UP ROUND_CEILING ROUND_DOWN ROUND_FLOOR "
        "ROUND_HALF_DOWN ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP Rounded Subnormal Underflow "
        "getcontext localcontext setcontext MAX_EMAX MAX_PREC MIN_EMIN MIN_ETINY"
    ),
    "difflib": "Differ SequenceMatcher context_diff get_close_matches ndiff restore unified_diff",
    "enum": "auto unique",
    "fractions": "Fraction",
    "functools": "cache cached_property cmp_to_key lru_cache partial partialmethod reduce",
    "graphlib": "CycleError TopologicalSorter",
    "hashlib": (
        "blake2b blake2s md5 new pbkdf2_hmac scrypt sha1 sha224 sha256 sha384 sha3_224 sha3_256 "
        "sha3_384 sha3_512 sha512 shake_128 shake_256"
    ),
    "heapq": ALL,
    "hmac": "compare_digest digest new",
    "html": "escape unescape",
    "io": "BytesIO StringIO",
    "ipaddress": ALL,
    "itertools": ALL,
    "json": "JSONDecodeError JSONDecoder JSONEncoder dump dumps load loads",
    "math": ALL,
    "numbers": "Complex Integral Number Rational Real",
    "operator": ALL,
    "pprint": "isreadable isrecursive pformat saferepr",
    "random": "Random SystemRandom",
    "re": (
        "A ASCII DOTALL I IGNORECASE M MULTILINE Match NOFLAG Pattern RegexFlag S U UNICODE "
        "VERBOSE X compile error escape findall finditer fullmatch match search split sub subn"
    ),
    "secrets": ALL,
    "statistics": ALL,
    "string": (
        "Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits "
        "octdigits printable punctuation whitespace"
    ),
    "struct": "Struct calcsize error iter_unpack pack pack_into unpack unpack_from",
    "textwrap": "dedent fill indent shorten wrap",
    "time": (
        "asctime ctime gmtime localtime mktime monotonic monotonic_ns perf_counter "
        "perf_counter_ns process_time process_time_ns strftime strptime struct_time thread_time "
        "time time_ns timezone tzname"
    ),
    "types": "MappingProxyType NoneType SimpleNamespace",
    "typing": (
        "Annotated Any AnyStr Callable ClassVar Collection Container Counter DefaultDict Deque "
        "Dict Final FrozenSet Generator Generic Hashable Iterable Iterator List Literal "
        "LiteralString Mapping MutableMapping MutableSequence MutableSet NamedTuple Never "
        "NewType NoReturn NotRequired Optional OrderedDict ParamSpec Protocol Required "
        "Reversible Self Sequence Set Sized SupportsFloat SupportsInt TYPE_CHECKING Text Tuple "
        "TypeAlias TypeGuard TypeVar TypedDict Union assert_never cast overload"
    ),
    "unicodedata": ALL,
    "urllib.parse": (
        "ParseResult SplitResult parse_qs parse_qsl quote quote_plus unquote unquote_plus "
        "urldefrag urlencode urljoin urlparse urlsplit urlunparse urlunsplit"
    ),
    "uuid": "NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL NAMESPACE_X500 UUID uuid3 uuid4 uuid5",
    "zlib": "adler32 compress compressobj crc32 decompress decompressobj error",
    "zoneinfo": "ZoneInfo ZoneInfoNotFoundError available_timezones",
}


# What Python's own C code imports in the name of the code, which cannot say such a name itself.
_OF_PYTHON = frozenset({"_strptime"})


class Modules:
    """The modules of one session, made when they are first imported.

    Args:
        guards: of the session.
        extra: what the calling program allows besides.
        added: names of modules that come from the session.
    """

    def __init__(
        self, guards: Guards, extra: frozenset[str], added: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self.allow = LOCAL_IMPORTS | extra
        self._extra = extra
        self._added = added
        self._guards = guards
        self._made: dict[str, Facade] = {}

    def load(
        self, name: Any, _globals: Any = None, _locals: Any = None, parts: Any = (), level: int = 0
    ) -> Facade:
        """What `import` calls, so with its arguments.

        Raises:
            ImportError: the module, or a name wanted from it, is not available.
        """
        if name in _OF_PYTHON:
            return cast("Facade", importlib.import_module(name))
        wanted: tuple[str, ...] = tuple(parts or ())
        full = [f"{name}.{part}" for part in wanted] or [name]
        if level or not (allowed(name, self.allow) or all(allowed(n, self.allow) for n in full)):
            raise ImportError(refusal(str(name), self.allow))
        leaf = self._get(name)
        for part in wanted:
            if not hasattr(leaf, part):
                has = ", ".join(name for name in dir(leaf) if not name.startswith("_"))
                raise ImportError(f"{name} has no {part} here. It has: {has}")
        return leaf if wanted else self._get(name.partition(".")[0])

    def _get(self, name: str) -> Facade:
        if name not in self._made:
            self._made[name] = self._open(name) if allowed(name, self._extra) else self._make(name)
        return self._made[name]

    def _open(self, name: str) -> Facade:
        module = importlib.import_module(name)
        watch_figures()  # it may have brought Matplotlib along
        return OpenFacade(module)

    def _make(self, name: str) -> Facade:
        values: dict[str, Any] = {}
        if name in NAMES:
            module = importlib.import_module(name)
            values |= {key: getattr(module, key) for key in _names(module) if hasattr(module, key)}
            values |= make_shims(name, self._guards) | dict(self._added.get(name, {}))
        below = [key for key in NAMES if key.startswith(f"{name}.")]
        values |= {key.removeprefix(f"{name}."): self._get(key) for key in below}
        if not values:
            raise ImportError(f"no module {name!r} here; use a name of {name.partition('.')[0]}")
        return Facade(name, values)


def _names(module: types.ModuleType) -> list[str]:
    listed = NAMES[module.__name__]
    if listed != ALL:
        return listed.split()
    public: list[str] = getattr(module, "__all__", None) or dir(module)
    return [
        name
        for name in public
        if not name.startswith("_") and not isinstance(getattr(module, name), types.ModuleType)
    ]
