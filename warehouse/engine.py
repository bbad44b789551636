"""DuckDB in memory: one engine per process, a connection of its own for every use."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import duckdb


@contextmanager
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection whose temporary views and tables nobody else sees.

    Starting an engine takes longer than most of our queries, so all of them share one.
    """
    with _engine().cursor() as cursor:
        cursor.execute("set timezone = 'UTC'")
        cursor.execute("set arrow_large_buffer_size = true")  # a batch may pass 2 GB
        yield cursor


@cache
def _engine() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()
