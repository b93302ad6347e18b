"""What libraries open, evaluate and run on behalf of the code."""

from __future__ import annotations

from tests.tinyagent.execution.attacks.cases import Proof, attack, gets_any, group

NUMPY = group(
    "numpy",
    gets_any(
        "import numpy, io, os\n",
        fromfile="numpy.fromfile(FILE, 'u1').tobytes()",
        memmap="numpy.memmap(FILE, 'u1', 'r').tobytes()",
        genfromtxt="numpy.genfromtxt(FILE, str)",
        loadtxt="numpy.loadtxt(FILE, str)",
        fromregex="numpy.fromregex(FILE, '(SECRET.*)', [('a', 'U40')])",
        data_source="numpy.lib.npyio.DataSource().open(FILE).read()",
        exists="numpy.lib.npyio.DataSource().exists(FILE)",
        open_memmap="numpy.lib.format.open_memmap(FOLDER + '/m', 'w+', 'u1', (5,)) is not None",
        save="numpy.save(FOLDER + '/x', [1]) or 'saved'",
        savetxt="numpy.savetxt(FOLDER + '/x', [1]) or 'saved'",
        tofile="numpy.zeros(5).tofile(FOLDER + '/x') or 'saved'",
        savez="numpy.savez(FOLDER + '/x', a=[1]) or 'saved'",
    ),
    attack(
        "a pickle that is loaded",
        """
        import io, numpy
        class Run:
            def __reduce__(self): return (open, (FOLDER + "/pickled", "w"))
        file = io.BytesIO()
        numpy.save(file, numpy.array([Run()], dtype=object))
        file.seek(0)
        print(numpy.load(file, allow_pickle=True), WON)
        """,
    ),
    attack(
        "memory past an array's end",
        """
        import numpy
        array = numpy.lib.stride_tricks.as_strided(numpy.zeros(1), (10**9,), (4096,))
        array.sum()
        """,
        proof=Proof.CRASHES,
    ),
)

PANDAS = group(
    "pandas",
    gets_any(
        "import pandas, os\nframe = pandas.DataFrame({'a': [1, 2]})\n",
        read_csv="pandas.read_csv(FILE).columns[0]",
        read_table="pandas.read_table(FILE).columns[0]",
        read_fwf="pandas.read_fwf(FILE).columns[0]",
        read_csv_as_url="pandas.read_csv('file://' + FILE).columns[0]",
        read_csv_of_users="len(pandas.read_csv('/etc/passwd', sep=':'))",
        read_by_name_of_another="pandas.read_csv(os.path.relpath(FILE)).columns[0]",
        to_csv="frame.to_csv(FOLDER + '/x') or 'saved'",
        to_json="frame.to_json(FOLDER + '/x') or 'saved'",
        to_pickle="frame.to_pickle(FOLDER + '/x') or 'saved'",
        to_parquet="frame.to_parquet(FOLDER + '/x') or 'saved'",
        own_os="pandas.io.common.os.listdir(FOLDER)",
        evaluated="pandas.eval('pandas.io.common.os.listdir(FOLDER)', engine='python')",
        queried="len(frame.query('a == @pandas.io.common.os.path.getsize(@FILE) or a > 0'))",
        evaluated_dunder="frame.eval('@frame.__class__.__init__.__globals__', "
        "engine='python') is not None"
        " and os.listdir(FOLDER)",
        arrow_reads="__import__('pyarrow').OSFile(FILE).read()",
        arrow_maps="__import__('pyarrow').memory_map(FILE).read()",
        arrow_lists="__import__('pyarrow.fs').fs.LocalFileSystem().get_file_info("
        "__import__('pyarrow.fs').fs.FileSelector(FOLDER))",
        arrow_csv="__import__('pyarrow.csv').csv.read_csv(FILE).column_names",
    ),
    attack(
        "a URL",
        """
        import pandas
        pandas.read_csv(f"http://127.0.0.1:{PORT}/x", storage_options={"timeout": "0.2"})
        """,
        proof=Proof.NONE,
    ),
    attack(
        "a pickle that is loaded",
        """
        import pandas, pickle
        class Run:
            def __reduce__(self): return (open, (FOLDER + "/pickled", "w"))
        with open("frame.pkl", "wb") as file: pickle.dump(Run(), file)
        print(pandas.read_pickle("frame.pkl"), WON)
        """,
    ),
)

FIGURES = group(
    "figures",
    attack(
        "saved at the host's",
        """
        import matplotlib.pyplot as plt
        plt.figure(figsize=(1, 1)).savefig(FOLDER + "/figure.png")
        print(WON)
        """,
    ),
    attack(
        "a style of the host's",
        """
        import matplotlib, warnings
        with warnings.catch_warnings(record=True):
            print(WON, matplotlib.rc_params_from_file(FILE, fail_on_error=False) is not None)
        """,
    ),
    attack(
        "of a hostile class",
        """
        import matplotlib.pyplot as plt
        class Figure(plt.Figure):
            def savefig(self, *args, **kwargs): raise SystemExit("gone")
        plt.figure(FigureClass=Figure)
        """,
        proof=Proof.NONE,
    ),
    attack(
        "that is drawn without end",
        """
        import matplotlib.pyplot as plt
        class Figure(plt.Figure):
            def savefig(self, *args, **kwargs):
                while True: pass
        plt.figure(FigureClass=Figure)
        """,
        proof=Proof.NONE,
    ),
    attack(
        "that is far too large",
        """
        import matplotlib.pyplot as plt
        plt.figure(figsize=(60_000, 60_000))
        """,
        proof=Proof.NONE,
    ),
    attack(
        "very many",
        """
        import sys, types, io
        made = []
        class Figure:
            def savefig(self, target, **options): target.write(bytes(1_000_000))
        pyplot = types.ModuleType("matplotlib.pyplot")
        pyplot.get_fignums = lambda: iter(range(10**9))
        pyplot.figure = lambda number: Figure()
        pyplot.close = lambda which: None
        sys.modules["matplotlib.pyplot"] = pyplot
        """,
        proof=Proof.RUNS,
        resets=True,
        may_lose=True,
    ),
)

DATABASES = group(
    "files by libraries",
    gets_any(
        "import os, sqlite3, zipfile, tarfile, shutil, tempfile, logging, io\n"
        "memory = sqlite3.connect(':memory:')\n"
        "def read_as_database(path):\n"
        "    try: return sqlite3.connect(path).execute('select * from sqlite_master').fetchall()\n"
        "    except sqlite3.DatabaseError as error: return 'not a database' in str(error)\n",
        sqlite_attaches="memory.execute('attach ? as other', (FOLDER + '/new.db',))"
        " and (memory.execute('create table other.t (a)'), 'made')",
        sqlite_opens="read_as_database(FILE)",
        sqlite_as_a_url="sqlite3.connect(f'file:{FOLDER}/new.db?mode=rwc', uri=True)"
        ".execute('create table t (a)')",
        sqlite_vacuums="memory.execute('vacuum into ?', (FOLDER + '/copy.db',)) and 'copied'",
        sqlite_backs_up="memory.backup(sqlite3.connect(FOLDER + '/copy.db'))"
        " or os.path.exists(FOLDER + '/copy.db')",
        zip_takes="zipfile.ZipFile('z.zip', 'w').write(FILE) or 'taken'",
        zip_gives=(
            "(zipfile.ZipFile('z.zip', 'w').writestr('new', 'x'),"
            " zipfile.ZipFile('z.zip').extractall(FOLDER), 'given')[2]"
        ),
        tar_takes="tarfile.open('t.tar', 'w').add(FILE) or 'taken'",
        tar_gives=(
            "(lambda t: (t.addfile(tarfile.TarInfo(FOLDER + '/new')), t.close(),"
            " tarfile.open('t.tar').extractall(FOLDER), 'given'))(tarfile.open('t.tar', 'w'))"
        ),
        archive_of_a_folder="shutil.make_archive('all', 'tar', FOLDER)",
        tree_is_copied="shutil.copytree(FOLDER, 'mine')",
        space="shutil.disk_usage(FOLDER)",
        temporary_folder="tempfile.mkdtemp(dir=FOLDER)",
        log_file="logging.FileHandler(FOLDER + '/log')",
        configuration="__import__('configparser').RawConfigParser().read(FOLDER + '/planted.py')",
        csv_reads="list(__import__('csv').reader(open(FILE)))",
        shelf="__import__('dbm.dumb').dumb.open(FOLDER + '/shelf', 'c') is not None",
        mail_box="list(__import__('mailbox').mbox(FILE, create=False)) == [] and 'opened'",
        wave="(lambda w: (w.setnchannels(1), w.setsampwidth(1), w.setframerate(1), w.close(), 1))"
        "(__import__('wave').open(FOLDER + '/w', 'w'))",
        gzip_there="__import__('gzip').open(FOLDER + '/g', 'w').write(b'x')",
        compare="__import__('filecmp').dircmp(FOLDER, '.').left_list",
        dump_of_faults="__import__('faulthandler').enable(open(FOLDER + '/dump', 'w')) or "
        "'enabled'",
        profile="__import__('cProfile').Profile().dump_stats(FOLDER + '/stats') or 'dumped'",
        tracing="__import__('trace').CoverageResults(outfile=FOLDER + '/t').write_results()"
        " or os.path.exists(FOLDER + '/t')",
        compiled="__import__('py_compile').compile(FOLDER + '/planted.py')",
    ),
    attack(
        "sqlite loads code",
        """
        import sqlite3
        memory = sqlite3.connect(":memory:")
        try:
            memory.enable_load_extension(True)
            memory.load_extension(FILE)
        except sqlite3.OperationalError as error:
            if "file too short" in str(error) or "invalid ELF" in str(error): print(WON, error)
        """,
        proof=Proof.NONE,
    ),
    attack(
        "a time zone",
        """
        import zoneinfo
        zoneinfo.reset_tzpath([FOLDER])
        try: zoneinfo.ZoneInfo("secret.txt")
        except ValueError as error:
            if "magic" in str(error): print(WON, error)
        """,
    ),
    attack(
        "links in an archive",
        """
        import io, os, tarfile
        with tarfile.open("t.tar", "w") as tar:
            link = tarfile.TarInfo("out")
            link.type, link.linkname = tarfile.SYMTYPE, FOLDER
            tar.addfile(link)
            new = tarfile.TarInfo("out/new")
            new.size = 1
            tar.addfile(new, io.BytesIO(b"x"))
        tarfile.TarFile.extraction_filter = staticmethod(lambda member, path: member)
        with tarfile.open("t.tar") as tar: tar.extractall(".")
        if os.path.exists(FOLDER + "/new"): print(WON)
        """,
    ),
)
