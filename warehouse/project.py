"""The SQL projections: a file in `sql/tables/` is a table, its `from`s are its dependencies."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from importlib.resources import files

import sqlglot
from sqlglot import exp

from warehouse.ids import content_id


@dataclass(frozen=True, slots=True)
class Projection:
    """One SQL file, read but not run; `deps` are the tables it reads, in order of appearance."""

    name: str
    description: str
    grain: tuple[str, ...]
    query: str
    deps: tuple[str, ...]

    @property
    def code_id(self) -> str:
        """Content id of the query text: changes when the table's meaning may have changed."""
        return content_id(self.query)


@cache
def projections() -> Mapping[str, Projection]:
    """Return every projection by table name, each after the ones it reads."""
    found = {p.name: p for p in _read("tables")}
    graph = {n: [d for d in p.deps if d in found] for n, p in sorted(found.items())}
    return {name: found[name] for name in TopologicalSorter(graph).static_order()}


@cache
def checks() -> Mapping[str, Projection]:
    """Return every check by name; a check's query returns offending rows."""
    return {p.name: p for p in _read("checks")}


@cache
def queries() -> Mapping[str, Projection]:
    """Return the queries for people, by name."""
    return {p.name: p for p in _read("queries")}


def _read(folder: str) -> list[Projection]:
    found = []
    for file in sorted((files("sql") / folder).iterdir(), key=lambda f: f.name):
        if not file.name.endswith(".sql"):
            continue
        query = file.read_text(encoding="utf-8")
        lines = query.splitlines()
        tree = sqlglot.parse_one(query, dialect="duckdb")
        local = {cte.alias for cte in tree.find_all(exp.CTE)}
        tables = [t.name for t in tree.find_all(exp.Table, bfs=False)]
        grain = next((x for x in lines[:6] if x.startswith("-- grain:")), "-- grain:")
        columns = (c.strip() for c in grain.removeprefix("-- grain:").split(","))
        found.append(
            Projection(
                name=file.name.removesuffix(".sql"),
                description=lines[0].removeprefix("--").strip(),
                grain=tuple(c for c in columns if c),
                query=query,
                deps=tuple(dict.fromkeys(t for t in tables if t and t not in local)),
            )
        )
    return found
