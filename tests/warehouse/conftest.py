"""Settings of the property tests, and a lake with a story in it."""

import shutil
from pathlib import Path

import pytest
from hypothesis import settings

from tests.warehouse import story
from warehouse.lake import Lake

# The same examples on every run, on a machine of any speed.
settings.register_profile("instar", derandomize=True, deadline=None, database=None)
settings.load_profile("instar")


@pytest.fixture(scope="session")
def _told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return story.tell(tmp_path_factory.mktemp("story") / "lake").root


@pytest.fixture
def told(_told: Path, tmp_path: Path) -> Lake:
    """A lake of one's own that holds the whole story of `story.py`."""
    return Lake(shutil.copytree(_told, tmp_path / "told"), story.Clock())
