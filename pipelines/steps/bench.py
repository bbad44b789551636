"""What every step works on."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from environments import open_suite
from environments.base import Environment, Task
from harness.bundle import Bundle
from pipelines.settings import Experiment
from warehouse.errors import BadInput
from warehouse.events import Stream
from warehouse.events.base import Fact
from warehouse.events.bundle import BundleCaptured
from warehouse.ids import bare
from warehouse.lake import Lake
from warehouse.project import projections

Watch = Callable[[str, int, int], None]
"""Progress: (what is being done, done so far, of how many)."""


def unwatched(what: str, done: int, total: int) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class Bench:
    """The lake, the experiment, its environment, and who watches."""

    lake: Lake
    experiment: Experiment
    env: Environment
    watch: Watch = unwatched

    @classmethod
    def open(cls, lake: Lake, experiment: Experiment, watch: Watch = unwatched) -> "Bench":
        """Return a bench for an experiment."""
        return cls(lake, experiment, open_suite(experiment.suite), watch)

    @property
    def line(self) -> str:
        """The line's id."""
        return self.experiment.line

    def fresh(
        self, name: str, where: str | None = None, given: Sequence[object] = ()
    ) -> pl.DataFrame:
        """Return a table (or the rows that a SQL condition keeps) as of the newest event."""
        if name in projections():
            self.lake.refresh([name], publish=False)
        return self.lake.read(name, where, given)

    def of_line(self, name: str, round: int | None = None) -> pl.DataFrame:
        """Return the line's rows of a table, of one round or of all."""
        if round is None:
            return self.fresh(name, "line_id = ?", [self.line])
        return self.fresh(name, "line_id = ? and round = ?", [self.line, round])

    def tell(self, stream: str, facts: Iterable[Fact], round: int | None = None) -> None:
        """Append facts at the end of a stream, as one commit."""
        head = self.lake.log.head(stream)
        events = Stream(stream, self.lake.clock, start=head, line_id=self.line, round=round)
        self.lake.append(events.all(facts))

    def tell_line(self, facts: Iterable[Fact], round: int | None = None) -> None:
        """Append facts to the line's own stream."""
        self.tell(f"line/{self.line}", facts, round)

    def keep_bundle(self, bundle: Bundle) -> None:
        """Record a bundle's files; one that is known is left alone."""
        stream = f"bundle/{bare(bundle.id)}"
        if self.lake.log.head(stream) == 0:
            self.tell(stream, [BundleCaptured(harness_id=bundle.id, files=bundle.texts())])

    def bundle(self, harness_id: str) -> Bundle:
        """Return a recorded bundle.

        Raises:
            BadInput: the lake has no bundle of that id.
        """
        files = self.fresh("bundles", "harness_id = ?", [harness_id])
        if files.is_empty():
            raise BadInput(f"harness {harness_id!r}: the lake has no bundle of that id")
        return Bundle(
            {path: text.encode() for path, text in files.select("path", "content").rows()}
        )

    def seed_bundle(self) -> Bundle:
        """Return the bundle that the line starts from."""
        return resolve_bundle(self, self.experiment.seed_bundle)

    def development(self) -> Sequence[Task]:
        """Return the development tasks of a reading."""
        return self.env.tasks("development", self.experiment.measure.tasks)


def resolve_bundle(bench: Bench, reference: str) -> Bundle:
    """Return the bundle that a directory, an id, or the name of a shipped bundle means.

    Raises:
        BadInput: it is none of these.
    """
    from importlib.resources import files
    from pathlib import Path

    if reference.startswith("b2:"):
        return bench.bundle(reference)
    if Path(reference).is_dir():
        return Bundle.capture(Path(reference))
    shipped = sorted(p.name for p in (files("harness") / "seeds").iterdir() if p.is_dir())
    if reference.replace("-", "_") in shipped:
        return Bundle.shipped(reference)
    raise BadInput(
        f"bundle {reference!r}: no directory, no id (b2:…), and none of the shipped ones {shipped}"
    )
