"""Makes the files of a release in dist/, and checks them: `make release`.

The sdist and the wheel are built twice: with SOURCE_DATE_EPOCH (by default the time of the last
commit) both builds are byte-identical. The wheel holds the two packages and nothing else. A bill
of materials (CycloneDX 1.6, JSON) lists what `tinyagent-skillian[service,skillian,web]` installs.
`notes.md` holds the changes of the version, the mutation scores and the digests. The wheel is
installed where no repository is, and both commands are used.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from installs import ROOT, build, environment, run, succeed

EXTRAS = "service,skillian,web"
RUN = """
import asyncio, os, sys
from pathlib import Path
from tinyagent.testing import MockServer

async def main():
    async with MockServer(["Hello."]) as server:
        os.environ |= {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.base_url}
        command = [Path(sys.executable).with_name("tinyagent"), "run", "Say hello"]
        process = await asyncio.create_subprocess_exec(
            *command, "--model", "openai:any", stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
        assert output == b"Hello.\\n", output

asyncio.run(main())
"""


def main() -> None:
    """Build, check, and print the digests."""
    if "SOURCE_DATE_EPOCH" not in os.environ:
        committed = run("git", "log", "-1", "--format=%ct", folder=ROOT).stdout.strip()
        os.environ["SOURCE_DATE_EPOCH"] = committed
    with tempfile.TemporaryDirectory(prefix="tinyagent-release-") as name:
        folder = Path(name)
        (folder / "first").mkdir()
        (folder / "second").mkdir()
        files, again = build(folder / "first"), build(folder / "second")
        for one, other in zip(files, again, strict=True):
            if digest(one) != digest(other):
                sys.exit(f"{one.name} differs between two builds")
        check_wheel(files[0])
        python = environment(folder / "clean")
        wanted = f"{files[0]}[{EXTRAS}]"
        succeed(python, "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt"), wanted)
        bill = folder / f"{files[0].name.partition('-py3')[0]}.cdx.json"
        write_bill(folder, python, bill)
        use(python, folder)
        shutil.rmtree(ROOT / "dist", ignore_errors=True)
        (ROOT / "dist").mkdir()
        made = (*files, bill)
        for file in made:
            shutil.copyfile(file, ROOT / "dist" / file.name)
        digests = "".join(f"{digest(file)}  {file.name}\n" for file in made)
        (ROOT / "dist" / "notes.md").write_text(notes(digests), encoding="utf-8")
        sys.stdout.write(digests)


def notes(digests: str) -> str:
    """What the page of the release says: its changes, what tests it, and its files."""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1]
    mutation = (ROOT / "docs" / "mutation.md").read_text(encoding="utf-8")
    scores = "\n".join(line for line in mutation.splitlines() if line.startswith("|"))
    files = "SHA-256; the JSON file is the bill of materials (CycloneDX 1.6)."
    parts = (f"# {changes.strip()}", "## Mutation scores", scores, "## Files", files)
    return "\n\n".join((*parts, f"```text\n{digests}```\n"))


def digest(file: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def check_wheel(wheel: Path) -> None:
    """Exit if the wheel holds something else than the packages, or lacks a file of theirs."""
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    listed = run("git", "ls-files", "src", folder=ROOT).stdout.split()
    wanted = {name.removeprefix("src/") for name in listed}
    faults = [f"the wheel lacks {name}" for name in sorted(wanted - held)]
    faults += [f"the wheel should not have {name}" for name in sorted(held - wanted)]
    if faults:
        sys.exit("\n".join(faults))


def write_bill(folder: Path, python: str, to: Path) -> None:
    """Write the bill of materials of an environment."""
    tool = environment(folder / "bill")
    succeed(tool, "-m", "pip", "install", "-q", "cyclonedx-bom>=7")
    options = ("--spec-version", "1.6", "--output-reproducible", "--output-file", str(to))
    project = ("--pyproject", str(ROOT / "pyproject.toml"))
    succeed(tool, "-m", "cyclonedx_py", "environment", *options, *project, python)


def use(python: str, folder: Path) -> None:
    """Use both commands in an empty folder."""
    here = folder / "empty"
    here.mkdir()
    for command in ("tinyagent --version", "skillian --version", "skillian demo"):
        program, *arguments = command.split()
        succeed(str(Path(python).with_name(program)), *arguments, folder=here)
    succeed(python, "-c", RUN, folder=here)


if __name__ == "__main__":
    main()
