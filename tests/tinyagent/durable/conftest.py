"""The campaign's parts lie with the benchmarks, which run it in full."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
