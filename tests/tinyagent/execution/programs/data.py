"""Programs about data libraries, figures and tools."""

from __future__ import annotations

from tests.tinyagent.execution.programs.cases import program

DATA = (
    program(
        "numpy",
        """
import numpy as np
a = np.arange(12).reshape(3, 4)
print(a.sum(axis=0), a[:, 1:3], (a > 5).sum(), a.mean(), a.dtype)
print(np.linalg.solve(np.array([[2.0, 1], [1, 3]]), [3, 5]), np.dot([1, 2], [3, 4]))
""",
        "b = a * 2\n"
        "print(b.T.shape, np.where(b > 10, 1, 0).tolist(), np.linspace(0, 1, 5), b[1] @ b[2])",
        imports="numpy",
    ),
    program(
        "numpy, seeded a step before",
        "import numpy as np\nnp.random.seed(5)",
        "print(np.random.rand(3), np.random.randint(0, 10, 5))",
        "print(np.random.default_rng(1).normal(size=2))",
        imports="numpy",
    ),
    program(
        "pandas",
        """
import pandas as pd
sales = pd.DataFrame({"city": "Bern Basel Bern Chur".split(), "amount": [10.0, 20.5, 5.25, None]})
print(sales.groupby("city")["amount"].agg(["sum", "count"]), sales.describe(), sales.dtypes)
""",
        """
people = pd.DataFrame({"city": ["Bern", "Chur"], "mayor": ["A", "B"]})
merged = sales.merge(people, on="city", how="left")
print(merged.sort_values("amount", ascending=False).fillna({"mayor": "?", "amount": 0}))
print(merged.pivot_table(index="city", values="amount", aggfunc="max"), merged[merged.amount > 6])
""",
        """
dates = pd.date_range("2026-01-30", periods=4, freq="D")
series = pd.Series(range(4), index=dates)
print(series.resample("ME").sum(), series.rolling(2).mean().tolist())
print(pd.to_datetime("2026-02-03").day_name())
sales
""",
        imports="pandas",
    ),
    program(
        "pandas and files",
        """
import pandas as pd
frame = pd.DataFrame({"a": [1, 2], "b": ["x", "ü"]})
frame.to_csv("table.csv", index=False)
""",
        """
again = pd.read_csv("table.csv")
print(again.equals(frame), open("table.csv", encoding="utf-8").read())
frame.to_json("table.json", orient="records")
print(pd.read_json("table.json")["a"].sum())
""",
        imports="pandas",
        files="table.csv table.json",
    ),
    program(
        "figures",
        """
import matplotlib.pyplot as plt
plt.figure(figsize=(2, 1))
plt.plot([1, 2, 3], [4, 1, 9])
plt.title("saved")
plt.savefig("saved.png")
plt.close()
print("saved")
""",
        """
figure, axes = plt.subplots(figsize=(2, 1))
axes.bar(["a", "b"], [1, 2])
print(len(plt.get_fignums()))
""",
        imports="matplotlib",
        files="saved.png",
        figures=1,
    ),
)

TOOLS = (
    program(
        "tools",
        "print(add(1, 2), add(1), add(b=5, a=2, scale=3), add(*[1, 2], **{'scale': 2}))",
        "total = sum(add(n, n) for n in range(5))\nprint(total, list(map(add, [1, 2], [3, 4])))",
        tools="add",
        local=True,
    ),
    program(
        "tools that wait",
        "print(double_later(21), [double_later(n) for n in range(3)])",
        tools="double_later",
        local=True,
    ),
    program(
        "tools in functions and threads",
        """
import threading
got = {}
def ask(n): got[n] = add(n, double_later(n))
threads = [threading.Thread(target=ask, args=(n,)) for n in range(5)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(got.items()))
""",
        imports="threading",
        tools="add double_later",
    ),
    program(
        "tools that fail",
        """
for how in ("value", "key", "own", "zero"):
    try: fail(how)
    except Exception as error:
        text = str(error)
        for part in ("the amount -1 is negative", "no account 77", "is not covered", "division"):
            if part in text: print(how, part)
try: fail("value")
except ValueError as error: print("as itself:", error)
try: fail("key")
except KeyError as error: print("as itself:", error)
try: fail_later("not now")
except ValueError as error: print("later:", error)
print("went on")
""",
        tools="fail fail_later",
        local=True,
    ),
    program(
        "a tool's failure nobody catches",
        "print('before')\nfail('value')",
        tools="fail",
        fails=True,
        local=True,
    ),
    program(
        "what tools give",
        """
for kind in ("text", "number", "float", "nothing", "yes", "list", "dict", "numbers as keys",
             "tuple", "set", "decimal", "datetime", "date", "duration", "bytes", "large number"):
    value = make(kind)
    print(kind, type(value).__name__, value)
print(len(make("long text")), make("dict")["nested"]["x"] + 1, make("decimal") * 2)
""",
        tools="make",
        local=True,
    ),
    program(
        "what tools are given",
        """
import datetime, decimal
for value in ("ü", 5, -2.5, None, [1, (2, 3)], {"a": {"b": 1}}, decimal.Decimal("1.10"),
              datetime.date(2026, 1, 2), b"ab", {4}, 2 ** 80, {1: "x"}):
    print(describe(value))
print(describe(value=[[]]))
""",
        imports="datetime decimal",
        tools="describe",
        local=True,
    ),
    program(
        "data frames cross",
        """
table = frame(6)
print(type(table).__name__, table.groupby("city")["amount"].sum().to_dict(), table.dtypes.to_dict())
""",
        """
import pandas as pd
print(describe(pd.DataFrame({"x": [1, 2], "y": ["a", "b"]})), len(frame(1000)))
""",
        imports="pandas",
        tools="frame describe",
    ),
    program(
        "numbers of numpy are given",
        """
import numpy as np
print(add(np.int64(5), 2), add(np.int32(1)))
""",
        imports="numpy",
        tools="add",
    ),
)
