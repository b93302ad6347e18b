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
    """Return the values of a table, since a cast enforces no length."""
    from pyspark.errors import PySparkException

    back: list[str | None] = []
    session.sql("DROP TABLE IF EXISTS held")
    session.sql(f"CREATE TABLE held (n INT, x {text}) USING parquet")
    for number, value in enumerate(values):
        frame = session.createDataFrame([(number, value)], "n int, x string")
        try:
            frame.write.insertInto("held")
        except PySparkException:
            back.append(None)
            continue
        [row] = session.sql(f"SELECT x FROM held WHERE n = {number}").collect()  # noqa: S608 - ours
        back.append(row["x"].rstrip(" ") if text.startswith("char") else row["x"])  # it pads
    return back


if __name__ == "__main__":
    main()
