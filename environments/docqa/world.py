"""The pieces of a task: drafts, word pools by split, and pages of lines among filler."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from environments.base import SPLITS
from environments.docqa import lexicon

LEVELS = (1, 2, 3)
_LINES = {1: (40, 70), 2: (80, 140), 3: (160, 260)}
_DISTRACTORS = {1: 3, 2: 6, 3: 10}


@dataclass(frozen=True, slots=True)
class Draft:
    """A task before it has an id.

    `evidence` are the lines that prove the answer; `route` are search patterns that show them all.
    `form` is a regular expression that a well-formed answer matches as a whole.
    """

    files: Mapping[str, Sequence[str]]
    question: str
    answer: str
    form: str
    evidence: Sequence[str]
    route: Sequence[str]


NUMBER = r"-?\d+"
WORDS = r"[A-Za-z][A-Za-z' -]*"
CODE = r"\S+"


class Words:
    """A seeded source of entities that belong to one split."""

    def __init__(self, rng: random.Random, split: str) -> None:
        self.rng = rng
        self.split = split

    def people(self, k: int) -> list[str]:
        """Return k different full names."""
        return self._draw(lexicon.PEOPLE, k)

    def departments(self, k: int) -> list[str]:
        """Return k different departments, two words each."""
        return self._draw(lexicon.DEPARTMENTS, k)

    def things(self, k: int) -> list[str]:
        """Return k different things that people carry."""
        return self._draw(lexicon.THINGS, k)

    def depots(self, k: int) -> list[str]:
        """Return k different depot names."""
        return self._draw(lexicon.DEPOTS, k)

    def ids(self, prefix: str, k: int) -> list[str]:
        """Return k different ids such as `T-482`."""
        return [f"{prefix}-{n}" for n in self._draw([str(n) for n in range(100, 1000)], k)]

    def numbers(self, low: int, high: int, k: int) -> list[int]:
        """Return k different whole numbers in [low, high]."""
        return self.rng.sample(range(low, high + 1), k)

    def pick(self, pool: Sequence[str]) -> str:
        """Return one of `pool`; pools given here are the same for every split."""
        return self.rng.choice(list(pool))

    def _draw(self, pool: Sequence[str], k: int) -> list[str]:
        return self.rng.sample(lexicon.share(pool, self.split), k)


Family = Callable[[random.Random, Words, int], Draft]
"""A task family: (rng, words, level) → a draft. Level 1 is the easiest of `LEVELS`."""


def distractors(level: int) -> int:
    """Return how many rivals of the right answer a page of this level holds."""
    return _DISTRACTORS[level]


def page(rng: random.Random, title: str, lines: Sequence[str], level: int) -> list[str]:
    """Return a page that holds `lines` in their order, spread among filler, under a title."""
    low, high = _LINES[level]
    size = max(rng.randint(low, high), len(lines) + 3)
    places = iter(sorted(rng.sample(range(2, size), len(lines))))
    text = [rng.choice(lexicon.FILLER) for _ in range(size)]
    for line in lines:
        text[next(places)] = line
    text[0] = title
    return text


def shuffled(rng: random.Random, lines: Sequence[str]) -> list[str]:
    """Return the lines in a random order."""
    return rng.sample(list(lines), len(lines))


def world_rng(seed: int, split: str, family: str, index: int) -> random.Random:
    """Return the random source of one task: same arguments, same task."""
    if split not in SPLITS:
        raise ValueError(split)
    return random.Random(f"docqa/{seed}/{split}/{family}/{index}")
