"""docqa: questions about documents, answered with `scan`, `search`, `read_lines` and `submit`."""

import random
from collections.abc import Sequence

from environments.base import SPLITS, Call, Score, Session, Task
from environments.docqa import baselines, scoring
from environments.docqa.families import FAMILIES, families_of
from environments.docqa.session import DocSession
from environments.docqa.world import LEVELS, Draft, Words, world_rng
from warehouse.errors import BadInput
from warehouse.ids import content_id

SIZES = {"development": 264, "held-out": 260, "out-of-domain": 120}
"""How many tasks each split holds."""


class DocQA:
    """The embedded default world: document questions in 16 families over three splits.

    Held-out has the development families with other seeds and other entities, and two families of
    its own; out-of-domain shares no family with either.
    """

    version = "1"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.name = f"docqa@{seed}" if seed else "docqa"

    def tasks(self, split: str, limit: int | None = None) -> Sequence[Task]:
        """See `Environment.tasks`."""
        if split not in SPLITS:
            raise BadInput(f"split {split!r}: docqa has {', '.join(SPLITS)}")
        size = SIZES[split] if limit is None else limit
        if not 0 < size <= SIZES[split]:
            raise BadInput(f"{split} has {SIZES[split]} tasks; asked for {size}")
        return [self._task(split, i) for i in range(size)]

    def open(self, task: Task) -> Session:
        """See `Environment.open`."""
        return DocSession(self._draft(task.task_id))

    def score(self, session: Session) -> Score:
        """See `Environment.score`."""
        if not isinstance(session, DocSession):
            raise BadInput(f"docqa cannot score a {type(session).__name__}")
        return scoring.score(session)

    def reference(self, task: Task) -> Sequence[Call]:
        """See `Environment.reference`."""
        return baselines.reference(self._draft(task.task_id))

    def baseline(self, task: Task, rng: random.Random) -> Sequence[Call]:
        """See `Environment.baseline`."""
        return baselines.at_random(self._draft(task.task_id), rng)

    def _task(self, split: str, i: int) -> Task:
        names = families_of(split)
        task_id = f"{self.name}/{split}/{names[i % len(names)]}/{i // len(names)}"
        draft = self._draft(task_id)
        return Task(
            task_id=task_id,
            suite=self.name,
            split=split,
            family=names[i % len(names)],
            prompt=draft.question,
            content_id=content_id(
                [draft.question, draft.answer, {k: list(v) for k, v in draft.files.items()}]
            ),
        )

    def _draft(self, task_id: str) -> Draft:
        match task_id.split("/"):
            case [self.name, split, family, index] if (
                split in SPLITS and family in families_of(split) and index.isdecimal()
            ):
                pass
            case _:
                raise BadInput(f"task {task_id!r} is not a task of {self.name!r}")
        rng = world_rng(self.seed, split, family, int(index))
        level = LEVELS[int(index) % len(LEVELS)]
        return FAMILIES[family].make(rng, Words(rng, split), level)
