"""At LOCAL: what modules and tools lead to."""

from __future__ import annotations

import sys

from tests.tinyagent.execution.attacks.cases import attack, group
from tests.tinyagent.execution.attacks.corpus.local_walks import code_of, reads

_EVALUATE = (
    "evaluate(globals={'FILE': FILE})"
    if sys.version_info >= (3, 14)
    else "_evaluate({'FILE': FILE}, {}, recursive_guard=frozenset())"
)

_BUILTINS_OF_DATACLASSES = (
    {"builtins_of_dataclasses": "dataclasses.builtins.open(FILE).read()"}
    if sys.version_info < (3, 12)  # later, it imports them no more
    else {}
)

MODULES = group(
    "local modules",
    reads(
        io_open="io.open(FILE).read()",
        io_FileIO="io.FileIO(FILE).read()",
        io_open_code="io.open_code(FILE).read()",
        codecs_of_json="json.codecs.open(FILE).read()",
        sys_of_statistics="statistics.sys.modules['os'].listdir(FOLDER)",
        sys_of_enum="enum.sys.modules['os'].listdir(FOLDER)",
        enum_of_re="re.enum.sys.modules['builtins'].open(FILE).read()",
        sys_of_dataclasses="dataclasses.sys.modules['builtins'].open(FILE).read()",
        **_BUILTINS_OF_DATACLASSES,
        inspect_of_dataclasses="dataclasses.inspect.os.listdir(FOLDER)",
        sys_of_typing="typing.sys.modules['builtins'].open(FILE).read()",
        os_of_random="random._os.listdir(FOLDER)",
        os_of_uuid="uuid.os.listdir(FOLDER)",
        sys_of_collections="collections._sys.modules['os'].listdir(FOLDER)",
        sys_of_calendar="calendar.sys.modules['os'].listdir(FOLDER)",
        scanner_of_json="json.scanner.re.enum.sys.modules['os'].listdir(FOLDER)",
        evaluated_type_hints=(
            "typing.get_type_hints(type('C', (), {'__annotations__': {'a': 'open(FILE).read() "
            "and int'},"
            " '__module__': '__main__'}), {**{'FILE': FILE}})"
        ),
        a_forward_reference=f"typing.ForwardRef('[open(FILE).read()]').{_EVALUATE}",
        a_named_tuple="collections.namedtuple('T', 'a', "
        "module='m')(1).__class__.__new__.__globals__",
        a_zone_from_a_folder=(
            "zoneinfo.reset_tzpath([FOLDER]) or zoneinfo.TZPATH and 'the host reads zones there'"
        ),
        network_card="uuid.getnode()",
        source_of_a_module="json.__file__ and json.__loader__.get_data(FILE)",
        spec_of_a_module="json.__spec__.loader.get_data(FILE)",
        loader_of_a_builtin="__import__('math').__loader__.load_module('math')",
        copied_by_reduction="copy.copy(type('C', (), {'__reduce__': lambda s: (open, "
        "(FILE,))})()).read()",
    ),
    *(
        attack(f"import of {module}", f"import {module}\nprint(WON, {module})", imports=())
        for module in (
            "os",
            "sys",
            "builtins",
            "subprocess",
            "socket",
            "ctypes",
            "importlib",
            "inspect",
            "pathlib",
            "shutil",
            "tempfile",
            "pickle",
            "gc",
            "traceback",
            "threading",
            "asyncio",
            "codecs",
            "linecache",
            "tokenize",
            "os.path",
            "json.tool",
        )
    ),
    *(
        attack(
            f"from {module} import {name}",
            f"from {module} import {name}\nprint(WON, {name})",
            imports=(),
        )
        for module, name in (
            ("io", "open"),
            ("json", "codecs"),
            ("statistics", "sys"),
            ("random", "_os"),
            ("typing", "sys"),
            ("uuid", "os"),
            ("enum", "sys"),
            ("collections", "_sys"),
            ("zoneinfo", "_tzpath"),
            ("types", "FunctionType"),
            ("types", "CodeType"),
            ("math", "__loader__"),
            ("string", "_string"),
            ("copy", "_reconstruct"),
        )
    ),
    code_of(
        "a function of code of its own",
        """
import types
code = compile("open(FILE).read()", "", "eval")
print(WON, types.FunctionType(code, {"FILE": FILE})())
""",
    ),
    code_of(
        "import under a name that lies",
        """
class Text(str):
    def split(self, *args): return ["math"]
    def partition(self, *args): return ("math", "", "")
    def __eq__(self, other): return True
    def __hash__(self): return hash("math")
print(WON, __import__(Text("os")))
""",
    ),
    code_of("import by a star", "exec('from os import *')\nprint(WON, listdir(FOLDER))"),
    code_of("a tool's closure", "print(WON, lookup.__closure__[0].cell_contents)"),
    code_of("a tool's globals", "print(WON, lookup.__globals__['os'].listdir(FOLDER))"),
    code_of(
        "a tool's defaults",
        """
lookup.__defaults__ = ("forged",)
print(WON, lookup.__defaults__)
""",
    ),
    code_of(
        "a tool's error",
        """
try: lookup("wrong")
except ValueError as error:
    print(WON, error.__traceback__.tb_next.tb_frame.f_globals["os"].listdir(FOLDER))
""",
    ),
)
