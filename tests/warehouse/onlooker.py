"""A stranger with a plain DuckDB client, looking at the file of views again and again."""

import json
import sys
from pathlib import Path

import duckdb


def look(file: Path, stop: Path) -> list[tuple[int, int, int]]:
    """Return (events, trajectories, labels) at every look, until `stop` exists."""
    query = (
        "select (select count(*) from events), (select count(*) from trajectories),"
        " (select count(*) from failure_labels)"
    )
    seen = []
    while True:
        last = stop.exists()
        with duckdb.connect(str(file), read_only=True) as connection:
            seen.append(connection.execute(query).fetchone())
        if len(seen) == 1:
            print("looking", flush=True)
        if last:
            return seen


if __name__ == "__main__":
    print(json.dumps(look(Path(sys.argv[1]), Path(sys.argv[2]))))
