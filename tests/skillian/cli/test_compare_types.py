"""Keys of every type that a file may have: each works, or the error says what to do."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
import pytest
from pyarrow import parquet  # pyright: ignore[reportMissingTypeStubs]

Run = Callable[..., CompletedProcess[str]]

arrow: Any = pa
write_table: Any = parquet.write_table

KEYS: dict[str, tuple[list[Any], Any]] = {
    "seconds": ([0, 1, 2], arrow.timestamp("s")),
    "nanoseconds": ([0, 1_000, 2_000_000], arrow.timestamp("ns")),
    "nanoseconds with zone": ([0, 1_000, 2_000_000], arrow.timestamp("ns", tz="UTC")),
    "time": ([0, 1, 2], arrow.time64("us")),
    "binary": ([b"\xff", b"a", b"\\xFF"], arrow.binary()),
    "list": ([["a, b"], ["a", "b"], []], arrow.list_(arrow.string())),
    "struct": ([{"x": 1}, {"x": 2}, None], arrow.struct([("x", arrow.int32())])),
    "decimal": ([Decimal("1.5"), Decimal("-1.5"), None], arrow.decimal128(38, 10)),
    "unsigned": ([2**64 - 1, 0, 1], arrow.uint64()),
}


def write(path: Path, keys: list[Any], kind: Any, amounts: list[str]) -> None:
    columns = {"k": arrow.array(keys, kind), "v": [Decimal(amount) for amount in amounts]}
    write_table(arrow.table(columns), str(path))


@pytest.mark.parametrize("name", KEYS)
def test_a_key_of_any_type_is_compared(skillian: Run, tmp_path: Path, name: str) -> None:
    keys, kind = KEYS[name]
    write(tmp_path / "a.parquet", keys, kind, ["1", "2", "3"])
    write(tmp_path / "b.parquet", keys[::-1], kind, ["3", "2", "1.5"])
    done = skillian("compare", "a.parquet", "b.parquet", "--measure", "v", "--by", "k")
    assert done.returncode == 1, done.stderr
    assert "2 of 3 groups match" in done.stdout
    page = skillian(
        *("compare", "a.parquet", "b.parquet", "--measure", "v", "--by", "k", "--format", "html")
    )
    assert page.returncode == 1, page.stderr
    assert "not all shown" not in page.stdout


def test_nanoseconds_are_refused_with_a_fix(skillian: Run, tmp_path: Path) -> None:
    for name in "ab":
        write(tmp_path / f"{name}.parquet", [1, 2], arrow.timestamp("ns"), ["1", "2"])
    compare = ("compare", "a.parquet", "b.parquet", "--measure", "v", "--by", "k")
    done = skillian(*compare)
    assert done.returncode == 2
    assert "is finer than microseconds; declare `type: text`" in done.stderr
    side = (
        "{{connection: c, table: {0}.parquet, dimensions: {{k: {{column: k, type: text}}}},"
        " measures: {{v: {{column: v, aggregation: sum}}}}}}"
    )
    sources = "\n".join(f"  {name}: {side.format(name)}" for name in "ab")
    text = f"connections: {{c: 'files:///.'}}\nsources:\n{sources}\n"
    (tmp_path / "sources.yaml").write_text(text, encoding="utf-8")
    done = skillian("compare", "a", "b", "--measure", "v", "--by", "k")
    assert done.returncode == 0, done.stderr


def test_a_decimal_that_is_too_wide_is_never_read_as_a_float(skillian: Run, tmp_path: Path) -> None:
    wide = [Decimal("12345678901234567890123456789012345678901.5"), Decimal(1)]
    for name in "ab":
        write(tmp_path / f"{name}.parquet", wide, arrow.decimal256(50, 2), ["1", "2"])
    compare = ("compare", "a.parquet", "b.parquet")
    for measure, by in (("v", "k"), ("k", "v")):
        done = skillian(*compare, "--measure", measure, "--by", by)
        assert done.returncode == 2
        assert "column 'k' of a.parquet cannot be read: it is decimal(50,2), of" in done.stderr
    for options, code in (((), 1), (("--ignore", "k"), 0)):
        done = skillian(*compare, "--key", "v", *options)
        assert done.returncode == code
        assert ("it is decimal(50,2), of" in done.stdout) == bool(code)
