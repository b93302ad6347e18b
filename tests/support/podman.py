"""Podman with its own store and an image made here: no registry, no systemd."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.support.rootfs import write_rootfs

from tinyagent.execution.sandbox.engines.container import IMAGE_VARIABLE

IMAGE = "tinyagent-tests"
_SECONDS = 60
_CONTAINERS = """
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = "{folder}/state"
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
"""
_STORAGE = """
[storage]
driver = "vfs"
graphroot = "{folder}/kept"
runroot = "{folder}/running"
"""


@contextmanager
def offline_podman() -> Generator[dict[str, str]]:
    """The variables that it is to be run with; one names the image. All is gone afterwards.

    Raises:
        OSError: there is no Podman.
        subprocess.CalledProcessError: it takes no image.
    """
    # A short path: where its sockets' paths are too long, podman notices an end 20 s late.
    with tempfile.TemporaryDirectory(prefix="pod-", dir="/tmp", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        settings = {"CONTAINERS_CONF": _CONTAINERS, "CONTAINERS_STORAGE_CONF": _STORAGE}
        for variable, text in settings.items():
            (folder / variable).write_text(text.format(folder=folder))
        variables = {variable: str(folder / variable) for variable in settings}
        archive = folder / "rootfs.tar"
        write_rootfs(archive)
        _podman(variables, "import", str(archive), IMAGE)
        archive.unlink()
        yield {**variables, IMAGE_VARIABLE: f"localhost/{IMAGE}"}
        _podman(variables, "rmi", "--force", IMAGE)


def _podman(variables: dict[str, str], *arguments: str) -> None:
    subprocess.run(
        ["podman", *arguments],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        timeout=_SECONDS,
    )
