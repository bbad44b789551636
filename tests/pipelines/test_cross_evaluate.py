"""A crossing: what may be asked for."""

import pytest
from pydantic import ValidationError

from pipelines.cross_evaluate import CrossConfig
from pipelines.settings import Experiment
from warehouse.errors import BadInput


@pytest.mark.parametrize("tasks", [{"development": 1}, {"development": 3, "held-out": 2}])
def test_development_is_enough_and_others_may_join(tasks: dict[str, int]) -> None:
    assert CrossConfig(tasks=tasks).tasks == tasks


@pytest.mark.parametrize(
    ("tasks", "says"),
    [
        ({"held-out": 72}, "the diagnosis reads it"),
        ({"development": 1, "dev": 1}, "there is no split 'dev': choose of development, held-out"),
        ({"development": 0}, "greater than 0"),
    ],
)
def test_other_crossings_are_refused(tasks: dict[str, int], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        CrossConfig(tasks=tasks)
    with pytest.raises(BadInput, match=rf"^here: cross\.tasks.*{says}"):
        Experiment.of({"cross": {"tasks": tasks}}, "here")
