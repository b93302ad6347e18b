"""Paths of the campaign's parts, in benchmarks, and of `tests`, for processes that tests start."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path += [str(ROOT / "benchmarks"), str(ROOT)]
