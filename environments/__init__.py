"""Worlds that agents act in: tasks by split, tools, a deterministic scorer."""

from collections.abc import Callable, Mapping

from environments.base import Environment
from environments.docqa import DocQA
from warehouse.errors import BadInput

ENVIRONMENTS: Mapping[str, Callable[[int], Environment]] = {"docqa": DocQA}
"""Suite name → a function from a world seed to its environment."""


def open_suite(name: str) -> Environment:
    """Return the environment `name`, or `name@SEED` for other worlds of the same kind.

    Raises:
        BadInput: no such suite, or the seed is not a whole number.
    """
    kind, _, seed = name.partition("@")
    if kind not in ENVIRONMENTS:
        raise BadInput(f"suite {kind!r}: not known; choose one of {sorted(ENVIRONMENTS)}")
    if seed and not seed.isdecimal():
        raise BadInput(f"suite {name!r}: {seed!r} is no world seed; write for example {kind}@7")
    return ENVIRONMENTS[kind](int(seed or 0))
