"""llama.cpp's own OpenAI-compatible server (package xllamacpp) on loopback, for one model file."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path


def serve(path: Path, name: str, *, context_tokens: int, temperature: float = 0.8) -> None:
    """Print the base URL, then serve until the process is stopped.

    A request may ask for another temperature.
    """
    # llama.cpp's threads spin at barriers by default: on shared cores that costs a factor of 20.
    os.environ["OMP_WAIT_POLICY"] = "passive"
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.model_alias = [name]
    params.ui = False
    params.n_predict = 512
    params.n_ctx = context_tokens
    params.n_parallel = 1
    params.sampling.temp = temperature
    params.cpuparams.n_threads = 2
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}/v1\n")
    sys.stdout.flush()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    os._exit(0)
