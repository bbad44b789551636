"""What keeps the house in order: names, homes, sizes, pages."""

import ast
import importlib
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from docs.generate import main as generate
from warehouse.project import checks, projections, queries
from warehouse.tables import STAGE_TABLES

ROOT = Path(__file__).parents[2]
ROOMS = ("assets", "pipelines", "harness", "environments", "warehouse", "sql")
SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_belongs_to_our_distribution_alone(room):
    assert packages_distributions().get(room, ["instar"]) == ["instar"]


def test_every_table_has_one_producer():
    assert set(projections()) & set(STAGE_TABLES) == set()


@pytest.mark.parametrize("table", STAGE_TABLES.values(), ids=lambda t: t.name)
def test_a_producer_named_by_a_table_exists(table):
    assert importlib.import_module(table.producer)


@pytest.mark.parametrize("named", [projections, checks, queries])
def test_every_sql_file_says_what_it_is(named):
    assert [name for name, sql in named().items() if not sql.description] == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_a_module_is_described_and_short_enough_to_read(path):
    text = path.read_text(encoding="utf-8")
    if path.name != "__init__.py" or text.strip():
        assert ast.get_docstring(ast.parse(text))
    assert text.count("\n") <= 450


def test_reference_pages_are_what_the_code_says():
    assert generate(["--check"]) == 0


def test_the_readme_names_everything_in_the_root():
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    top = {path.partition("/")[0] for path in tracked} or {p.name for p in ROOT.iterdir()}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert sorted(n for n in top if not n.startswith(".") and n not in readme) == []


def test_links_in_the_docs_lead_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from pipelines.cli import app; from typer.main import get_command;"
        "get_command(app);"
        "print(*(m for m in ('polars', 'duckdb', 'dagster', 'torch', 'pandas', 'deltalake',"
        " 'great_expectations', 'pydantic_settings', 'rich.console') if m in sys.modules))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == []
