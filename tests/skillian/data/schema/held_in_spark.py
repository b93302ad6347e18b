"""Says what a type of Spark gives back: one line of JSON for each line of JSON."""

import json
import sys
from tempfile import TemporaryDirectory
from typing import Any


def main() -> None:
    """Answer `[type, whether values are bytes in hexadecimal, values]` with the values or null."""
    from pyspark.sql import SparkSession

    answers, sys.stdout = sys.stdout, sys.stderr
    with TemporaryDirectory() as folder:
        builder: Any = SparkSession.builder
        settings = {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.log.level": "OFF",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.warehouse.dir": folder,
            "spark.ui.enabled": "false",
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.master("local[1]").getOrCreate()
        for line in sys.stdin:
            text, is_binary, values = json.loads(line)
            back = (_stored if text.startswith(("char", "varchar")) else _cast)(
                session, text, values
            )
            if is_binary:
                back = [each and each.lower() for each in back]
            print(json.dumps(back), file=answers, flush=True)
        session.stop()


def _cast(session: Any, text: str, values: list[str]) -> list[str | None]:
    frame = session.createDataFrame(list(enumerate(values)), "n int, v string")
    form = "hex(x)" if text == "binary" else "CAST(x AS STRING)"
    value = "unhex(v)" if text == "binary" else f"TRY_CAST(v AS {text})"
    rows = frame.selectExpr("n", f"{value} AS x").selectExpr("n", f"{form} AS x").collect()
    return [row["x"] for row in sorted(rows)]


def _stored(session: Any, text: str, values: list[str]) -> list[str | None]:
    """Return the values of a table, since a cast enforces no length.

    They are inserted by length, since each insert takes long: all of one length that is refused,
    and of those that are longer, the longest alone.
    """
    session.sql("DROP TABLE IF EXISTS held")
    session.sql(f"CREATE TABLE held (n INT, x {text}) USING parquet")
    by_length: dict[int, list[tuple[int, str]]] = {}
    for number, value in sorted(enumerate(values), key=lambda each: len(each[1])):
        by_length.setdefault(len(value), []).append((number, value))
    groups = list(by_length.values())
    for group in groups:
        if not _inserted(session, group):
            single = [_inserted(session, [each]) for each in group]
            if not any(single) and not _inserted(session, groups[-1][-1:]):
                break
    back = {row["n"]: row["x"] for row in session.sql("SELECT n, x FROM held").collect()}
    stored = [back.get(number) for number in range(len(values))]
    if text.startswith("char"):  # it pads
        return [value and value.rstrip(" ") for value in stored]
    return stored


def _inserted(session: Any, rows: list[tuple[int, str]]) -> bool:
    from pyspark.errors import PySparkException

    try:
        session.createDataFrame(rows, "n int, x string").write.insertInto("held")
    except PySparkException:
        return False
    return True


if __name__ == "__main__":
    main()
