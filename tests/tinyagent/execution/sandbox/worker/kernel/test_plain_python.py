"""What models write goes on working under both locks: plain Python, numpy and pandas."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from tests.tinyagent.execution.sandbox.worker.kernel.confined import output_of

from tinyagent.execution.sandbox.worker.kernel import seccomp

try:
    seccomp.program(forks=False)
except OSError as error:
    pytest.skip(str(error), allow_module_level=True)

WORKS = {
    "late imports": """
        import bz2, csv, ctypes, decimal, email.message, hashlib, http.client, lzma, ssl, sqlite3
        import concurrent.futures, multiprocessing, statistics, unittest.mock, urllib.request
        import xml.etree.ElementTree, zipfile
        print(ctypes.CDLL(None).getpid() == os.getpid(), hashlib.sha256(b"").hexdigest()[:4])
    """,
    "threads": """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(8) as pool:
            print(sum(pool.map(lambda number: number * 2, range(100))))
    """,
    "asyncio": """
        import asyncio
        async def main():
            async with asyncio.timeout(20):
                first = asyncio.gather(asyncio.sleep(0.001, 1), asyncio.to_thread(os.getpid))
                return (await first)[0]
        print(asyncio.run(main()))
    """,
    "temporary files": """
        import tempfile
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as file:
            file.write(b"text")
            file.flush()
            print(os.path.getsize(file.name), os.path.isdir(folder))
        with tempfile.TemporaryFile() as file:
            print(file.write(b"more"))
        print(os.listdir())
    """,
    "sqlite": """
        import sqlite3
        for mode in ("delete", "wal"):
            with sqlite3.connect("data.db") as database:
                database.execute(f"pragma journal_mode = {mode}")
                database.execute("create table if not exists t (n)")
                database.execute("insert into t values (1)")
            database.close()
        print(sqlite3.connect("data.db").execute("select sum(n) from t").fetchone())
    """,
    "time zones": """
        import datetime, zoneinfo
        zone = zoneinfo.ZoneInfo("Europe/Berlin")
        print(datetime.datetime(2024, 7, 1, tzinfo=zone).utcoffset())
    """,
    "files and folders": """
        import glob, gzip, pathlib, shutil, tarfile, zipfile
        os.makedirs("a/b")
        pathlib.Path("a/b/file").write_text("text")
        shutil.copyfile("a/b/file", "a/copy")
        os.replace("a/copy", "a/b/copy")
        with open("a/b/copy", "r+") as file:
            file.truncate(1)
        shutil.make_archive("packed", "gztar", "a")
        with tarfile.open("packed.tar.gz") as archive:
            archive.extractall("unpacked")
        with zipfile.ZipFile("packed.zip", "w") as archive:
            archive.write("a/b/file")
        with gzip.open("file.gz", "wt") as file:
            file.write("text")
        print(sorted(glob.glob("**/*", root_dir="unpacked", recursive=True)))
        shutil.rmtree("a")
        print(shutil.disk_usage(".").total > 0, os.path.exists("a"))
    """,
    "time, chance and the machine": """
        import os, platform, random, secrets, time, uuid
        time.sleep(0.001)
        random.seed()
        print(len(os.urandom(3) + secrets.token_bytes(3)), uuid.uuid4().version)
        print(os.cpu_count() > 0, bool(platform.platform()), bool(os.uname()), os.getuid() >= 0)
        import resource
        print(resource.getrlimit(resource.RLIMIT_AS) is not None, time.process_time() > 0)
    """,
    "timers": """
        import signal
        seen = []
        signal.signal(signal.SIGALRM, lambda *_: seen.append("alarm"))
        signal.setitimer(signal.ITIMER_REAL, 0.001)
        signal.pause()
        print(seen)
    """,
    "pipes, locks and maps": """
        import fcntl, mmap, select, selectors
        reading, writing = os.pipe()
        os.write(writing, b".")
        print(select.select([reading], [], [])[0] == [reading], os.isatty(reading))
        selector = selectors.DefaultSelector()
        selector.register(reading, selectors.EVENT_READ)
        print(len(selector.select()), os.get_blocking(reading), os.dup(reading) > 0)
        with open("file", "w+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)
            fcntl.lockf(file, fcntl.LOCK_SH)
            file.truncate(4096)
            with mmap.mmap(file.fileno(), 0) as page:
                page[:2] = b"ab"
                page.flush()
        print(open("file", "rb").read(2))
    """,
}
SAYS = {
    "late imports": "True e3b0",
    "threads": "9900",
    "asyncio": "1",
    "temporary files": "4 True\n4\n[]",
    "sqlite": "(2,)",
    "time zones": "2:00:00",
    "files and folders": "['b', 'b/copy', 'b/file']\nTrue False",
    "time, chance and the machine": "6 4\nTrue True True True\nTrue True",
    "timers": "['alarm']",
    "pipes, locks and maps": "True False\n1 True True\nb'ab'",
}


@pytest.mark.parametrize("name", WORKS)
def test_plain_python_continues(name: str, tmp_path: Path) -> None:
    before = "from worker.kernel import adapt\nadapt.pipes_for_sockets()"
    assert output_of(WORKS[name], tmp_path, "files", "calls", before=before) == SAYS[name]


@pytest.mark.parametrize("imports", ["early", "late"])
def test_numbers_and_tables_continue(imports: str, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    libraries = "import numpy as np, pandas as pd\n"
    code = """
        frame = pd.DataFrame({"key": list("aab"), "value": np.arange(3.0)})
        frame.to_csv("data.csv", index=False)
        print(pd.read_csv("data.csv").groupby("key")["value"].sum().to_dict())
        print(np.linalg.inv(np.eye(300) * 2).trace(), np.random.default_rng(1).integers(9) >= 0)
    """
    before, late = (libraries, "") if imports == "early" else ("", libraries)
    seen = output_of(late + dedent(code), tmp_path, "files", "calls", before=before)
    assert seen == "{'a': 1.0, 'b': 2.0}\n150.0 True"


def test_arrow_files_continue(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    code = """
        import pyarrow as pa, pyarrow.parquet as pq
        pq.write_table(pa.table({"n": list(range(50_000))}), "data.parquet")
        print(pq.read_table("data.parquet", memory_map=True).num_rows)
    """
    assert output_of(code, tmp_path, "files", "calls") == "50000"
