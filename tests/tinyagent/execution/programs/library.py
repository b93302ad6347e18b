"""Programs about the standard library."""

from __future__ import annotations

from tests.tinyagent.execution.programs.cases import program

LIBRARY = (
    program(
        "json",
        """
import json
text = json.dumps({"b": [1, 2.5, None, True], "a": {"ü": "x"}}, sort_keys=True, ensure_ascii=False)
print(text, json.loads(text)["a"], json.dumps([1, {"a": 2}], indent=2))
try: json.loads("{bad")
except json.JSONDecodeError as error: print(error.msg, error.lineno, error.colno)
print(json.dumps({"d": {1, 2}}, default=sorted))
""",
        imports="json",
        local=True,
    ),
    program(
        "re",
        """
import re
text = "2026-11-21 ada@example.org, 2025-01-02 bob@example.com"
print(re.findall(r"(\\d{4})-(\\d\\d)", text), re.sub(r"\\b(\\w+)@", r"<\\1>@", text))
m = re.search(r"(?P<user>\\w+)@(?P<host>[\\w.]+)", text)
print(m.group("user"), m.groupdict(), m.span(), re.split(r"[,\\s]+", "a, b  c"))
pattern = re.compile(r"^(a+)(b*)$", re.IGNORECASE | re.MULTILINE)
print([m.groups() for m in pattern.finditer("AAB\\nab\\nc")], bool(re.fullmatch("x+", "xx")))
""",
        imports="re",
        local=True,
    ),
    program(
        "datetime",
        """
from datetime import date, datetime, timedelta, timezone
d = datetime(2026, 2, 28, 23, 30, tzinfo=timezone.utc)
print(d + timedelta(hours=1), d.isoformat(), (date(2028, 3, 1) - date(2028, 2, 28)).days)
print(d.strftime("%A %d %B %Y, %H:%M"), datetime.strptime("03/04/25", "%d/%m/%y").date())
print(date(2026, 11, 21).isocalendar().week, d.astimezone(timezone(timedelta(hours=5))).hour)
print(datetime.fromisoformat("2026-01-01T00:00:00+02:00") < d, date.max, timedelta(days=1.5))
""",
        imports="datetime",
        local=True,
    ),
    program(
        "decimal and fractions",
        """
from decimal import Decimal, ROUND_HALF_UP, getcontext
from fractions import Fraction
print(Decimal("0.1") + Decimal("0.2"), Decimal("2.675").quantize(Decimal("0.01"), ROUND_HALF_UP))
print(Decimal(1) / 7, sum([Decimal("1.10")] * 3), Decimal("1e3").normalize())
print(Decimal("NaN").is_nan())
print(Fraction(1, 3) + Fraction(1, 6), Fraction("0.125"), float(Fraction(22, 7)), Fraction(0.5))
""",
        imports="decimal fractions",
        local=True,
    ),
    program(
        "decimal's context",
        """
import decimal
with decimal.localcontext() as context:
    context.prec = 5
    print(decimal.Decimal(2).sqrt())
print(decimal.Decimal(2).sqrt())
""",
        imports="decimal",
    ),
    program(
        "statistics and math",
        """
import math, statistics
data = [2, 4, 4, 4, 5, 5, 7, 9]
print(statistics.mean(data), statistics.median(data), statistics.mode(data))
print(statistics.pstdev(data))
print(round(statistics.stdev(data), 6), statistics.quantiles(data, n=4))
print(math.comb(10, 3), math.gcd(84, 36), math.isqrt(99), math.hypot(3, 4), math.fsum([0.1] * 10))
print(round(math.sin(math.pi / 6), 12), math.inf > 1, math.isnan(math.nan), math.floor(-2.5))
""",
        imports="math statistics",
        local=True,
    ),
    program(
        "collections",
        """
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque, namedtuple
print(Counter("mississippi").most_common(2), Counter(a=3) - Counter(a=1))
groups = defaultdict(list)
for word in "apple bob avocado bill".split(): groups[word[0]].append(word)
print(dict(groups), deque([1, 2, 3], maxlen=2), ChainMap({"a": 1}, {"a": 2, "b": 3})["b"])
q = deque("abc"); q.rotate(1); q.appendleft("z"); print(list(q), q.pop())
Point = namedtuple("Point", "x y", defaults=[0])
p = Point(1); print(p, p.x + p.y, list(p))
o = OrderedDict(a=1, b=2); o.move_to_end("a"); print(list(o))
""",
        imports="collections",
        local=True,
    ),
    program(
        "itertools",
        """
from itertools import (accumulate, chain, combinations, count, cycle, groupby, islice, pairwise,
                       permutations, product, starmap, takewhile, zip_longest)
print(list(combinations("abc", 2)), len(list(permutations(range(4)))), list(accumulate([1, 2, 3])))
print([(k, len(list(g))) for k, g in groupby("aaabbc")], list(islice(count(5, 2), 3)))
print(list(product([0, 1], repeat=2)), list(pairwise("abc")), list(zip_longest([1], "ab")))
print(list(chain([1], [2])), list(islice(cycle("ab"), 3)))
print(list(takewhile(lambda n: n < 3, count())))
print(list(starmap(pow, [(2, 3), (3, 2)])))
""",
        imports="itertools",
        local=True,
    ),
    program(
        "functools",
        """
from functools import cache, cmp_to_key, lru_cache, partial, reduce
@lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(80), reduce(lambda a, b: a * b, range(1, 8)), partial(int, base=2)("1011"))
print(sorted([3, 1, 2], key=cmp_to_key(lambda a, b: b - a)))
""",
        imports="functools",
        local=True,
    ),
    program(
        "enum",
        """
from enum import Enum, Flag, IntEnum, StrEnum, auto
class Color(Enum):
    RED = 1
    GREEN = auto()
    def nice(self): return self.name.title()
class Perm(Flag):
    R = auto()
    W = auto()
class Level(StrEnum):
    LOW = auto()
print(Color.RED, Color(2).nice(), list(Color), Color["RED"].value, Perm.R | Perm.W, Level.LOW + "!")
print(Color.RED is Color(1), Perm.R in (Perm.R | Perm.W), IntEnum("N", "A B").B + 1)
""",
        imports="enum",
    ),
    program(
        "random, seeded a step before",
        "import random\nrandom.seed(42)",
        "print(random.random(), random.randint(1, 100), random.sample(range(50), 3))",
        "x = list(range(5))\nrandom.shuffle(x)\nprint(x, random.choice('abc'), random.gauss(0, 1))",
        imports="random",
    ),
    program(
        "a generator of random numbers",
        """
import random
dice = random.Random(7)
""",
        "print([dice.randint(1, 6) for _ in range(10)], dice.uniform(0, 1), "
        "dice.choices('ab', k=4))",
        imports="random",
        local=True,
    ),
    program(
        "large prints",
        """
for n in range(120): print(n, "x" * 30)
print("end", end="")
print("!", flush=True)
""",
        local=True,
    ),
    program(
        "printing",
        """
import sys
print("a", "b", sep="-", end="|\\n")
print(*[1, 2], None, 2.0, [3], {"k": "v"}, sep=", ")
sys.stdout.write("written\\n")
print("to out", file=sys.stdout)
print()
print("é ü 漢字 🙂 \\t tab \\u202e", repr("a\\nb"), ascii("é"))
""",
        imports="sys",
    ),
    program(
        "unicode",
        """
import unicodedata
text = "Straße café 漢字 🙂"
print(text.upper(), len(text), text.encode().hex(), text.casefold(), text[::-1])
print(unicodedata.normalize("NFD", "é") == "e\\u0301", unicodedata.name("ß"))
print(sorted(["é", "z", "a"]), "ǆ".title(), "٣".isdigit(), int("٣"), "\\N{SNOWMAN}")
print(b"\\xc3\\xa9".decode(), "é".encode("latin-1"), "a\\ud800".encode("utf-8", "replace"))
""",
        imports="unicodedata",
        local=True,
    ),
    program(
        "large integers",
        """
n = 2 ** 521 - 1
print(n, n % 97, pow(3, n, 1000007), n.bit_length(), len(str(3 ** 2000)))
print(int("f" * 40, 16), hex(10 ** 30), 7 // -2, -7 % 3, divmod(10 ** 20, 7), 0.1 + 0.2, 1e308 * 10)
print(round(2.5), round(-1.255, 2), int.from_bytes(b"\\x01\\x00", "big"))
print((1000).to_bytes(2, "little"))
""",
        local=True,
    ),
    program(
        "bytes and struct",
        """
import struct
packed = struct.pack(">IhB3s", 1, -2, 3, b"abc")
print(packed, struct.unpack(">IhB3s", packed), struct.calcsize("<qd"))
data = bytearray(b"hello")
data[0:1] = b"J"
data.extend(b"!!")
print(data, bytes(data).hex(" "), memoryview(data)[1:3].tobytes(), b"a,b".split(b","), b"%d" % 5)
""",
        imports="struct",
    ),
    program(
        "csv",
        """
import csv, io
buffer = io.StringIO()
writer = csv.DictWriter(buffer, fieldnames=["name", "note"])
writer.writeheader()
writer.writerow({"name": "Ada", "note": 'says "hi", twice'})
writer.writerows([{"name": "Bob", "note": "line\\nbreak"}])
print(repr(buffer.getvalue()))
print(list(csv.DictReader(io.StringIO(buffer.getvalue()))))
print(next(csv.reader(["a;b"], delimiter=";")))
""",
        imports="csv io",
        local=True,
    ),
    program(
        "sqlite3",
        """
import sqlite3
db = sqlite3.connect(":memory:")
db.row_factory = sqlite3.Row
db.execute("create table t (id integer primary key, name text, amount real)")
with db: db.executemany("insert into t (name, amount) values (?, ?)", [("a", 1.5), ("b", 2.5)])
""",
        """
print([dict(r) for r in db.execute("select name, amount * 2 as twice from t order by id desc")])
print(db.execute("select sum(amount), count(*) from t").fetchone()[:])
try: db.execute("select nothing")
except sqlite3.OperationalError as error: print(error)
db.create_function("double", 1, lambda n: n * 2)
print(db.execute("select double(21)").fetchone()[0])
""",
        imports="sqlite3",
    ),
    program(
        "zoneinfo",
        """
from datetime import datetime
from zoneinfo import ZoneInfo
d = datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("Europe/Zurich"))
print(d.utcoffset(), d.astimezone(ZoneInfo("America/New_York")), d.tzname(), ZoneInfo("UTC"))
""",
        imports="datetime zoneinfo",
        local=True,
    ),
    program(
        "files",
        """
from pathlib import Path
import os, tempfile
Path("data").mkdir()
Path("data/notes.txt").write_text("one\\ntwo\\n", encoding="utf-8")
with open("data/notes.txt", "a", encoding="utf-8") as file: print("three", file=file)
""",
        """
print(Path("data/notes.txt").read_text().splitlines(), sorted(os.listdir(".")))
print([p.name for p in Path(".").rglob("*.txt")], os.path.getsize("data/notes.txt"))
with tempfile.TemporaryDirectory() as folder:
    (Path(folder) / "x").write_bytes(b"abc")
    print(sorted(os.listdir(folder)), Path(folder, "x").stat().st_size)
with tempfile.NamedTemporaryFile("w+", suffix=".csv") as file:
    file.write("a,b")
    file.seek(0)
    print(file.read())
os.rename("data/notes.txt", "data/kept.txt")
try: open("missing.txt")
except FileNotFoundError as error: print(error.filename, error.errno)
""",
        imports="pathlib os tempfile",
        files="data/kept.txt",
    ),
    program(
        "archives",
        """
import gzip, io, shutil, tarfile, zipfile, zlib
with zipfile.ZipFile("a.zip", "w", zipfile.ZIP_DEFLATED) as z: z.writestr("in/x.txt", "hello " * 9)
with zipfile.ZipFile("a.zip") as z: print(z.namelist(), z.read("in/x.txt")[:5])
print(gzip.decompress(gzip.compress(b"abc")), zlib.crc32(b"abc"))
print(zlib.decompress(zlib.compress(b"x")))
buffer = io.BytesIO()
with tarfile.open(fileobj=buffer, mode="w") as tar: tar.add("a.zip")
print(len(buffer.getvalue()) > 100, shutil.copy("a.zip", "b.zip"))
""",
        imports="gzip io shutil tarfile zipfile zlib",
        files="a.zip b.zip",
    ),
    program(
        "hashing and identifiers",
        """
import base64, binascii, hashlib, hmac, uuid
print(hashlib.sha256(b"abc").hexdigest(), hashlib.md5(b"abc").hexdigest())
print(hashlib.blake2b(b"x").hexdigest()[:16])
print(hmac.new(b"k", b"m", hashlib.sha1).hexdigest(), base64.b64encode(b"\\x00\\xff").decode())
print(uuid.uuid5(uuid.NAMESPACE_DNS, "example.org"), binascii.hexlify(b"ab"), binascii.crc32(b"a"))
print(hashlib.pbkdf2_hmac("sha256", b"p", b"s", 1000).hex()[:16], len(str(uuid.uuid4())))
""",
        imports="base64 binascii hashlib hmac uuid",
        local=True,
    ),
    program(
        "textwrap and pprint",
        """
import pprint, string, textwrap
text = "The quick brown fox jumps over the lazy dog, again and again and again."
print(textwrap.fill(text, 30, initial_indent="* ", subsequent_indent="  "))
print(textwrap.shorten(text, 25), repr(textwrap.dedent("  a\\n   b")))
pprint.pprint({"numbers": list(range(30)), "nested": {"a": "x" * 50, "b": ["y" * 40]}}, width=60)
print(string.capwords("a tale of"), string.Template("$a costs $$$b").substitute(a="x", b=5))
print(string.ascii_lowercase[:5], pprint.pformat([1, 2]))
""",
        imports="pprint string textwrap",
        local=True,
    ),
    program(
        "odds and ends",
        """
import bisect, calendar, copy, difflib, heapq, html, operator
heap = [5, 1, 4]
heapq.heapify(heap)
print(heapq.heappop(heap), heapq.nlargest(2, [1, 9, 3]), bisect.bisect([1, 3, 5], 4))
a = [1, [2]]
b, c = copy.copy(a), copy.deepcopy(a)
a[1].append(3)
print(b, c, calendar.isleap(2028), calendar.monthrange(2026, 2)[1], html.escape("<&>"))
print(difflib.get_close_matches("appel", ["apple", "ape"]), operator.itemgetter(1)([4, 5]))
print("\\n".join(difflib.unified_diff(["a", "b"], ["a", "c"], lineterm="")))
""",
        imports="bisect calendar copy difflib heapq html operator",
        local=True,
    ),
    program(
        "pickles, logs and warnings",
        """
import io, logging, pickle, warnings
print(pickle.loads(pickle.dumps({"a": (1, {2}), "b": None})))
stream = io.StringIO()
log = logging.getLogger("mine")
log.addHandler(logging.StreamHandler(stream))
log.warning("careful: %s", 5)
print(stream.getvalue().strip())
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    warnings.warn("old", DeprecationWarning)
print([str(w.message) for w in caught])
""",
        imports="io logging pickle warnings",
    ),
)
