"""Says what a type of ClickHouse gives back: one line of JSON for each line of JSON."""

import json
import sys
from typing import Any


def main() -> None:
    """Answer `[type, whether values are bytes in hexadecimal, values]` with the values or null."""
    import chdb

    connection: Any = chdb.connect(":memory:")
    for line in sys.stdin:
        text, is_binary, values = json.loads(line)
        answer = [_back(connection, text, value, is_binary) for value in values]
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _back(connection: Any, text: str, value: str, is_binary: bool) -> str | None:  # noqa: FBT001
    kind = text if text.startswith(("Array", "Tuple", "Map")) else f"Nullable({text})"
    written = value.replace("\\", "\\\\").replace("'", "\\'")
    literal = f"unhex('{value}')" if is_binary else f"'{written}'"
    form = "lower(hex(x))" if is_binary else "toString(x)"
    try:
        connection.query("DROP TABLE IF EXISTS held")
        connection.query(f"CREATE TABLE held (x {kind}) ENGINE = Memory")
        connection.query(f"INSERT INTO held VALUES ({literal})")  # noqa: S608 - our values
        answer = connection.query(f"SELECT {form} FROM held", "JSONCompactEachRow")  # noqa: S608
    except RuntimeError:
        return None
    [back] = json.loads(answer.bytes())
    return None if back is None else str(back)


if __name__ == "__main__":
    main()
