"""What the assets need from outside: the lake with an experiment, and a running model."""

from contextlib import ExitStack
from pathlib import Path

import dagster as dg
from pydantic import Field, PrivateAttr

from harness.models import open_host
from harness.models.host import ModelHost
from pipelines.settings import Experiment, Settings
from pipelines.steps.bench import Bench
from warehouse.lake import Lake

DEMO = Path("examples/demo.yaml")


class Workbench(dg.ConfigurableResource[None]):
    """The lake and the experiment that the assets work on."""

    lake: str = Field(default="", description="Folder of the lake. Empty: INSTAR_LAKE, or ./lake.")
    experiment: str = Field(
        default="",
        description="YAML file of the experiment. Empty: INSTAR_EXPERIMENT, else"
        f" {DEMO} where it exists, else the papers' numbers.",
    )

    def open_lake(self) -> Lake:
        """Return the lake."""
        return Lake(self.lake or Settings().lake)

    def bench(self, line: str | None = None) -> Bench:
        """Return the bench for a line (default: the experiment's own)."""
        path = Path(self.experiment) if self.experiment else Settings().experiment
        if path is None and DEMO.is_file():
            path = DEMO
        experiment = Experiment.load(path)
        if line is not None:
            experiment = experiment.model_copy(update={"line": line})
        return Bench.open(self.open_lake(), experiment)


class ModelServer(dg.ConfigurableResource[None]):
    """An experiment's model: started at the first use in a run, stopped at its end.

    All steps of a run share it, so that what they measure belongs to one serving session.
    """

    _running: ExitStack = PrivateAttr(default_factory=ExitStack)
    _host: ModelHost | None = PrivateAttr(default=None)

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """Stop the model."""
        self._running.close()
        self._host = None

    def host(self, experiment: Experiment) -> ModelHost:
        """Return the experiment's running model."""
        if self._host is None:
            host = open_host(experiment.model, {}, experiment.in_flight)
            self._host = self._running.enter_context(host)
        return self._host
