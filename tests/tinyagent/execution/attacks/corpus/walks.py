"""Ways from harmless objects to powerful ones, and imports past an allow-list."""

from __future__ import annotations

from collections.abc import Iterator

from tests.tinyagent.execution.attacks.cases import Attack, Proof, attack, gets_any, group

_WAY = """
import sys
def error_of(function):
    try: function()
    except Exception as error: return error
async def numbers(): yield 1
"""


def walks(**ways: str) -> Iterator[Attack]:
    """One attack a way, an expression that gives the function `open`."""
    for name, way in ways.items():
        yield attack(
            name.replace("_", " "),
            f"{_WAY}\nopener = {way}\nprint(WON, opener(FILE).read())",
        )


WALKS = group(
    "walks",
    walks(
        subclasses=(
            "[k for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_IOBase'"
            " for b in c.__subclasses__() for k in b.__subclasses__() if k.__name__ == 'FileIO'][0]"
        ),
        globals_of_a_loader=(
            "[c for c in object.__subclasses__() if c.__name__ == 'BuiltinImporter'][0]"
            "().load_module('io').open"
        ),
        globals_of_a_method=(
            "[c for c in object.__subclasses__() if c.__name__ == '_wrap_close'][0]"
            ".__init__.__globals__['__builtins__']['open']"
        ),
        builtins_of_a_function="(lambda: 0).__builtins__['open']",
        builtins_of_a_frame="sys._getframe().f_builtins['open']",
        frame_of_a_generator="(lambda g: g.gi_frame.f_builtins['open'])(i for i in ())",
        frame_of_an_error="error_of(lambda: 1 / 0).__traceback__.tb_frame.f_builtins['open']",
        self_of_a_function="print.__self__.open",
        a_module_of_the_list="__import__('codecs').builtins.open",
        code_object="__import__('types').FunctionType(compile('open', '', 'eval'), {})()",
        eval="eval('op' + 'en')",
        exec="(lambda d: exec('got = open', d) or d['got'])({})",
        getattr="getattr(__import__('io'), 'op' + 'en')",
        reversed_name="getattr(__import__('io'), 'nepo'[::-1])",
        attrgetter="__import__('operator').attrgetter('builtins.open')(__import__('codecs'))",
        collector="[f for f in __import__('gc').get_objects()"
        " if type(f).__name__ == 'builtin_function_or_method' and f.__name__ == 'open'][0]",
        reduced="__import__('pickle').loads(b'cio\\nopen\\n.')",
        descriptor="type.__dict__['__subclasses__'].__get__(object)()"
        " and vars(__import__('io'))['open']",
        coroutine="(lambda g: g.gi_frame.f_builtins['open'])((lambda: (yield))())",
        async_generator="(lambda g: g.ag_frame.f_builtins['open'])(i async for i in numbers())",
    ),
    gets_any(
        "",
        format_string="'SECRET' in '{0.__globals__}'.format(lookup) or "
        "'{0.__globals__[os]}'.format(lookup)",
        format_map="'SECRET' in '{f.__closure__[0].cell_contents}'.format_map({'f': lookup})",
        formatter="__import__('string').Formatter().format('{0.__code__.co_freevars[0]}', lookup)"
        " == 'secret'",
    ),
)

# Refused by the default list, before or while they run.
IMPORTS = group(
    "imports",
    *(
        attack(name, f"{code}\nprint(WON)", imports=())
        for name, code in {
            "plain": "import ctypes",
            "from": "from subprocess import run",
            "of a submodule": "import multiprocessing.pool",
            "under another name": "import socket as json",
            "in a function": "def f():\n    import ctypes\nf()",
            "in a class": "class C:\n    from ctypes import CDLL",
            "in exec": "exec('import ctypes')",
            "in eval": "eval('__' + 'import__')('ctypes')",
            "by __import__": "__import__('ctypes')",
            "by __import__ of the built-ins": "import builtins\nbuiltins.__import__('ctypes')",
            "by __builtins__": "(__builtins__ if isinstance(__builtins__, dict) else "
            "vars(__builtins__))['__import__']('ctypes')",
            "by importlib": "import importlib\nimportlib.import_module('ctypes')",
            "relative": "__import__('', {'__package__': 'ctypes', '__name__': 'ctypes.x'}, {}, "
            "['util'], 1)",
            "by a star": "exec('from ctypes import *')",
            "by text that lies": (
                "class Text(str):\n    def split(self, *a): return ['json']\n"
                "    def partition(self, *a): return ('json', '', '')\n"
                "    def __eq__(self, other): return True\n"
                "    def __hash__(self): return hash('json')\n"
                "__import__(Text('ctypes'))"
            ),
        }.items()
    ),
)

# Past the list: the kernel has the last word.
LOADING = group(
    "loading",
    gets_any(
        "import importlib.util, os, pkgutil, runpy, sys\npath = FOLDER + '/planted.py'",
        a_path_is_added="(sys.path.append(FOLDER), __import__('planted').LOOT)[1]",
        a_package_path_is_added=(
            "(__import__('json').__path__.append(FOLDER), "
            "__import__('json.planted').planted.LOOT)[1]"
        ),
        a_file_is_run="runpy.run_path(path)['LOOT']",
        a_spec="(lambda s: (lambda m: (s.loader.exec_module(m), m.LOOT)[1])"
        "(importlib.util.module_from_spec(s)))(importlib.util.spec_from_file_location('p', path))",
        data_of_a_package="pkgutil.get_importer(FOLDER).find_spec('planted').loader.get_data(FILE)",
        modules_are_walked=(
            "[m for m in list(sys.modules.values()) if hasattr(m, 'fdopen')][0]"
            ".popen('cat ' + FILE).read()"
        ),
    ),
    attack(
        "a shared object is loaded",
        """
        import ctypes
        try: ctypes.CDLL(FILE)
        except OSError as error:
            if "file too short" in str(error): print(WON, error)
        """,
    ),
    attack(
        "the host's packages are there",
        """
import importlib.util
for name in ("tinyagent", "skillian", "tests"):
    if importlib.util.find_spec(name) and importlib.util.find_spec(name).origin:
        print(open(importlib.util.find_spec(name).origin).read()[:0], WON, name)
""",
        proof=Proof.NONE,
    ),
)
