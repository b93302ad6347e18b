"""What makes worker and host work too hard: output, source code, the stack."""

from __future__ import annotations

import sys

from tests.tinyagent.execution.attacks.cases import Proof, attack, ended, group, timed_out

_FORMATS_NEST = Proof.RUNS if sys.version_info >= (3, 12) else Proof.RAISES

OUTPUT = group(
    "output",
    *(
        attack(name, code, proof=proof, checks=checks)
        for name, code, proof, checks in (
            ("without end", "while True: print('x' * 1000)", Proof.FLOODS, (timed_out,)),
            ("empty lines without end", "while True: print()", Proof.FLOODS, (timed_out,)),
            ("without line ends", "while True: print('x', end='')", Proof.FLOODS, (timed_out,)),
            (
                "to standard error",
                "import sys\nwhile True: sys.stderr.write('x' * 1000)",
                Proof.FLOODS,
                (timed_out,),
            ),
            (
                "past sys.stdout",
                "import sys\nwhile True: sys.__stdout__.write('x' * 1000)",
                Proof.FLOODS,
                (),
            ),
            (
                "to the descriptor",
                "import os\nwhile True: os.write(1, b'x' * 1000)",
                Proof.FLOODS,
                (),
            ),
            ("one very long text", "print('x' * 10**8)", Proof.FLOODS, ()),
            (
                "a long text in pieces",
                "for _ in range(3000): print('x' * 10_000)",
                Proof.FLOODS,
                (),
            ),
            (
                "written as bytes",
                "import sys\nsys.stdout.buffer.write(b'x' * 10**7)",
                Proof.FLOODS,
                (),
            ),
            (
                "of many threads",
                (
                    "import threading\ndef flood():\n    for _ in range(300):"
                    " print('x' * 999)\n"
                    "threads = [threading.Thread(target=flood) for _ in range(8)]\n"
                    "for t in threads: t.start()\nfor t in threads: t.join()"
                ),
                Proof.FLOODS,
                (),
            ),
            ("in an error", "raise ValueError('x' * 10**7)", Proof.RAISES, (ended,)),
            (
                "in the name of an error",
                "raise type('E' * 10**6, (Exception,), {})",
                Proof.RAISES,
                (ended,),
            ),
            ("in a line of code", "x = 1 / 0  # " + "x" * 200_000, Proof.RAISES, (ended,)),
            ("as the value", "'x' * 10**8", Proof.RUNS, ()),
            ("as a repr", "['x' * 1000] * 10**5", Proof.RUNS, ()),
            (
                "codes of terminals",
                (
                    "print('\\x1b]52;c;eA==\\x07\\x1b[2J\\x1bc\\x9b6n')\n"
                    "raise ValueError('\\x1b[2J\\x1bc')"
                ),
                Proof.RAISES,
                (ended,),
            ),
            (
                "by warnings",
                (
                    "import warnings\nwarnings.simplefilter('always')\n"
                    "for n in range(5000): warnings.warn('x' * 1000)"
                ),
                Proof.NONE,
                (),
            ),
            (
                "by logging",
                "import logging\nfor n in range(5000): logging.error('x' * 1000)",
                Proof.NONE,
                (),
            ),
            (
                "half characters",
                (
                    "import sys\nfor b in (b'\\xe2', b'\\x82', b'\\xff' * 50):"
                    " sys.stdout.buffer.write(b)\nprint('\\ud800')"
                ),
                Proof.NONE,
                (),
            ),
        )
    ),
)

PARSER = group(
    "parser",
    *(
        attack(name, code, proof=proof)
        for name, code, proof in (
            ("parentheses", "x = " + "(" * 5000 + ")" * 5000, Proof.RAISES),
            ("lists", "x = " + "[" * 5000 + "]" * 5000, Proof.RAISES),
            ("signs", "x = " + "-" * 100_000 + "1", Proof.RUNS_OUT),
            ("words not", "x = " + "not " * 100_000 + "1", Proof.RUNS_OUT),
            ("attributes", "x = a" + ".b" * 100_000, Proof.RUNS_OUT),
            ("calls", "x = a" + "()" * 100_000, Proof.RUNS_OUT),
            ("subscripts", "x = a" + "[0]" * 100_000, Proof.RUNS_OUT),
            ("sums", "x = 1" + "+1" * 100_000, Proof.RUNS_OUT),
            ("lambdas", "x = " + "lambda: " * 50_000 + "1", Proof.RUNS_OUT),
            ("conditions", "x = " + "1 if 1 else " * 50_000 + "1", Proof.RUNS_OUT),
            ("else ifs", "if 0: pass\n" + "elif 0: pass\n" * 20_000, Proof.RUNS_OUT),
            ("indents", "\n".join(" " * n + "if 1:" for n in range(200)), Proof.RAISES),
            ("a huge number", "x = " + "9" * 100_000, Proof.RAISES),
            ("a huge number in hexadecimal", "x = 0x" + "f" * 3_000_000, Proof.RUNS),
            ("a huge text", "x = '" + "y" * 3_000_000 + "'", Proof.RUNS),
            ("more than a frame holds", "x = '" + "y" * 10_000_000 + "'", Proof.RUNS),
            ("very many lines", "x = 1\n" * 50_000, Proof.RUNS),
            ("nested formats", "x = " + "f'{" * 5 + "1" + "}'" * 5, _FORMATS_NEST),
            ("formats of formats", "x = f'{1:" + "{1:" * 200 + "}" * 200 + "}'", Proof.RAISES),
            (
                "a constant to be folded",
                "x = 'a' * 10**8 * 10**8 if 0 else ((1 << 10**5) << 10**5)",
                Proof.RUNS,
            ),
            ("powers to be folded", "x = lambda: " + "2**" * 5000 + "2", Proof.NONE),
            ("compiled by the code", "compile('(' * 100_000, '', 'exec')", Proof.RAISES),
            (
                "evaluated literal",
                "import ast\nast.literal_eval('[' * 50_000 + ']' * 50_000)",
                Proof.RAISES,
            ),
            ("bytes of zero", "x = 1\0", Proof.RAISES),
            ("lone surrogates", "x = '\ud800'", Proof.NONE),
            ("a coding line", "# coding: rot13\nkevag(1)", Proof.NONE),
            ("directions of text", "x = 1  # \u202e\u2066 }\u2069", Proof.RUNS),
            ("ends of lines", "x = 1\r\ny = 2\rz = 3\x0c\n", Proof.RUNS),
            ("nothing", "", Proof.RUNS),
            ("only a comment", "# nothing", Proof.RUNS),
            ("a future", "from __future__ import annotations, braces", Proof.RAISES),
        )
    ),
)

STACK = group(
    "stack",
    *(
        attack(name, code, proof=proof, checks=(ended,))
        for name, code, proof in (
            ("recursion", "def f(): f()\nf()", Proof.RUNS_OUT),
            (
                "recursion without a limit",
                "import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1) + 1\nf(0)",
                Proof.NONE,
            ),
            (
                "recursion in C",
                (
                    "import sys\nsys.setrecursionlimit(10**6)\n"
                    "class A:\n    def __repr__(self): return repr(self)\nrepr(A())"
                ),
                Proof.NONE,
            ),
            (
                "a deep list is shown",
                "x = []\nfor _ in range(10**5): x = [x]\nrepr(x)",
                Proof.RUNS_OUT,
            ),
            (
                "a deep list is copied",
                "import copy\nx = []\nfor _ in range(10**5): x = [x]\ncopy.deepcopy(x)",
                Proof.RUNS_OUT,
            ),
            (
                "a deep list is pickled",
                "import pickle\nx = []\nfor _ in range(10**5): x = [x]\npickle.dumps(x)",
                Proof.RUNS_OUT,
            ),
            ("deep JSON", "import json\njson.loads('[' * 10**5)", Proof.RUNS_OUT),
            (
                "compared to itself",
                "a, b = [], []\na.append(b)\nb.append(a)\na == b",
                Proof.RUNS_OUT,
            ),
            (
                "a getter that asks itself",
                "class A:\n    def __getattr__(self, n): return getattr(self, n)\nA().x",
                Proof.RUNS_OUT,
            ),
            (
                "handlers all the way down",
                "def f():\n    try: f()\n    finally: f()\nf()",
                Proof.NONE,
            ),
            ("the null pointer", "import ctypes\nctypes.string_at(0)", Proof.CRASHES),
            ("an abort", "import os\nos.abort()", Proof.CRASHES),
            ("an exit of the process", "import os\nos._exit(0)", Proof.NONE),
            ("an exit of the process that says it failed", "import os\nos._exit(3)", Proof.NONE),
            ("an exit by C", "import ctypes\nctypes.CDLL(None).exit(0)", Proof.NONE),
            (
                "byte code of the code's own",
                "f = (lambda: 0)\nf.__code__ = f.__code__.replace(co_code=b'\\xff\\xff' * 8)\nf()",
                Proof.NONE,
            ),
            (
                "an object freed twice",
                (
                    "import ctypes\nx = [1]\n"
                    "ctypes.pythonapi.Py_DecRef(ctypes.py_object(x))\n"
                    "ctypes.pythonapi.Py_DecRef(ctypes.py_object(x))\n"
                    "ctypes.pythonapi.Py_DecRef(ctypes.py_object(x))\ndel x\nctypes.string_at(0)"
                ),
                Proof.CRASHES,
            ),
        )
    ),
)
