"""A real Spark Connect server: Spark on this machine, reached over the loopback interface."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

SPARK = [
    pytest.mark.spark,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        find_spec("grpc") is None, reason="there is no Spark: pip install 'pyspark[connect]'"
    ),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17 or later"),
    # Nothing here goes through pandas.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]
"""What marks a test that asks a Spark server."""
START_SECONDS = 300
_STARTED = re.compile(r"service 'org\S*SparkConnectService' on port (\d+)")
_SETTINGS = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    # Each session of a connector decides these itself.
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.parser.quotedRegexColumnNames": "true",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.shuffle.partitions": "2",
    # Its few statements take less time than the second compiler of Java would.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def spark_tables(server: str, database: str, folder: Path) -> str:
    """Make a database of the Parquet files and folders in a folder; returns its URL."""
    from pyspark.sql.connect.session import SparkSession

    builder: Any = SparkSession.builder
    session = builder.remote(server).create()
    session.sql(f"CREATE DATABASE {database}").collect()
    for path in folder.iterdir():
        table = f"{database}.{path.stem.replace(' ', '_')}"
        session.catalog.createTable(table, str(path), "parquet")
    session.stop()
    return f"{server}/;database={database}"


@contextmanager
def running_spark_connect(folder: Path) -> Generator[str]:
    """A server's URL; its own tables are in the folder."""
    import pyspark

    home = Path(pyspark.__file__).parent
    settings = {**_SETTINGS, "spark.sql.warehouse.dir": str(folder / "warehouse")}
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    program = ("--class", "org.apache.spark.sql.connect.service.SparkConnectServer")
    process = subprocess.Popen(
        [home / "bin" / "spark-submit", "--master", "local[2]", *words, *program, "spark-internal"],
        cwd=folder,
        env={**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    port = ""
    is_up = threading.Event()

    def read() -> None:
        nonlocal port
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                if found := _STARTED.search(line):
                    port = found[1]
                    is_up.set()
        is_up.set()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        is_up.wait(START_SECONDS)
        assert port, "the Spark Connect server did not start"
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reader.join()


@pytest.fixture(scope="session")
def spark_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The URL of one server for all tests, since it takes a while to start."""
    with running_spark_connect(tmp_path_factory.mktemp("spark")) as url:
        yield url
