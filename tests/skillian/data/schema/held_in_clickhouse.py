"""Says what a type of ClickHouse gives back: one line of JSON for each line of JSON."""

import json
import sys
from contextlib import suppress
from typing import Any


def main() -> None:
    """Answer `[type, whether values are bytes in hexadecimal, values]` with the values or null."""
    import chdb

    connection: Any = chdb.connect(":memory:")
    for line in sys.stdin:
        text, is_binary, values = json.loads(line)
        answer = _back(connection, text, values, is_binary)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _back(connection: Any, text: str, values: list[str], is_binary: bool) -> list[str | None]:  # noqa: FBT001
    kind = text if text.startswith(("Array", "Tuple", "Map")) else f"Nullable({text})"
    form = "lower(hex(x))" if is_binary else "toString(x)"
    connection.query("DROP TABLE IF EXISTS held")
    try:
        connection.query(f"CREATE TABLE held (n UInt32, x {kind}) ENGINE = Memory")
    except RuntimeError:
        return [None for _ in values]
    for number, value in enumerate(values):
        written = value.replace("\\", "\\\\").replace("'", "\\'")
        literal = f"unhex('{value}')" if is_binary else f"'{written}'"
        with suppress(RuntimeError):
            connection.query(f"INSERT INTO held VALUES ({number}, {literal})")  # noqa: S608 - ours
    answer = connection.query(f"SELECT n, {form} FROM held", "JSONCompactEachRow")  # noqa: S608
    rows = [json.loads(line) for line in answer.bytes().splitlines()]
    back = {number: None if value is None else str(value) for number, value in rows}
    return [back.get(number) for number in range(len(values))]


if __name__ == "__main__":
    main()
