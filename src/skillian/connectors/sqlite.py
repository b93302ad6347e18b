"""SQLite: what a statement needs of a file is copied into DuckDB, and the statement runs there.

SQLite has no decimals, and any type in any column; copied, every value is of its declared type,
exactly, or the statement fails naming it. The copy is kept until the file changes.
"""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]
from sqlglot import exp

from skillian.connectors.base import ArrowBatch, ArrowTable, ColumnType, Table
from skillian.connectors.duckdb import path_of
from skillian.connectors.duckdb_engine import (
    STREAM_TIMEOUT_SECONDS,
    TIMEOUT_SECONDS,
    DuckDBEngine,
    Setup,
)
from skillian.connectors.duckdb_statement import Cursor
from skillian.connectors.sqlite_file import SQLiteFile, Version
from skillian.connectors.sqlite_use import used_columns
from skillian.connectors.sqlite_values import UnfitError, array_of, stored_type
from skillian.connectors.threads import run_interruptible
from skillian.errors import QueryError
