"""Every number that steers a run, with the papers' defaults; read by CLI and assets only."""

from pathlib import Path
from typing import Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from pipelines.cross_evaluate import CrossConfig
from pipelines.diagnose import Rule
from pipelines.gate import GateConfig
from pipelines.group import GroupConfig
from pipelines.label import Taxonomy
from pipelines.sample import SampleConfig
from pipelines.select import Gate
from pipelines.specify import EvidenceConfig
from pipelines.training.job import TrainConfig
from warehouse.errors import BadInput


class Settings(BaseSettings):
    """Where things are, from the environment: `INSTAR_LAKE`, `INSTAR_EXPERIMENT`."""

    model_config = SettingsConfigDict(env_prefix="INSTAR_", extra="ignore")

    lake: Path = Path("lake")
    experiment: Path | None = None


class MeasureConfig(BaseModel):
    """A reading: how many development tasks, how many rollouts of each (harness-ceiling §4.1)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tasks: int = Field(default=48, ge=1)
    rollouts: int = Field(default=4, ge=1)
    temperature: float = Field(default=0.7, ge=0)


class EvolveConfig(BaseModel):
    """A line: how many rounds at most, how many candidates a round (harness-ceiling §4.2)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rounds: int = Field(default=5, ge=0)
    candidates: int = Field(default=2, ge=1)


class Experiment(BaseModel):
    """One experiment: a line of evolution, its internalization, and how both are measured."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    line: str = Field(default="main", pattern=r"^[a-z0-9][a-z0-9-]*$")
    suite: str = "docqa"
    seed_bundle: str = "seed"
    model: str = "embedded"
    in_flight: int = Field(default=0, ge=0, description="0 = the host's own default")
    seed: int = 0
    measure: MeasureConfig = MeasureConfig()
    taxonomy: Taxonomy = Taxonomy()
    group: GroupConfig = GroupConfig()
    rule: Rule = Rule()
    evolve: EvolveConfig = EvolveConfig()
    evidence: EvidenceConfig = EvidenceConfig()
    select: Gate = Gate()
    sample: SampleConfig = SampleConfig()
    gate: GateConfig = GateConfig()
    train: TrainConfig = TrainConfig()
    cross: CrossConfig = CrossConfig()

    @model_validator(mode="after")
    def _nothing_is_cut(self) -> Self:
        if self.gate.max_tokens > self.train.max_tokens:
            raise ValueError(
                f"the gate lets {self.gate.max_tokens} tokens pass (gate.max_tokens), and training"
                f" would cut them at {self.train.max_tokens} (train.max_tokens)"
            )
        return self

    @classmethod
    def load(cls, path: Path | None) -> Self:
        """Read an experiment from YAML; None gives the defaults.

        Raises:
            BadInput: the file is missing, is no YAML, or has fields that do not fit.
        """
        if path is None:
            return cls()
        try:
            loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
        except OSError as gone:
            raise BadInput(f"experiment {str(path)!r} cannot be read: {gone.strerror}") from gone
        except (yaml.YAMLError, UnicodeDecodeError) as broken:
            raise BadInput(f"experiment {str(path)!r} is no YAML: {broken}") from broken
        return cls.of(loaded or {}, f"experiment {str(path)!r}")

    @classmethod
    def of(cls, values: object, name: str) -> Self:
        """Return the experiment with these values; `name` says in an error where they stand.

        Raises:
            BadInput: a field does not fit, or there is none of its name; all of them are told.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as broken:
            problems = "; ".join(
                f"{'.'.join(map(str, e['loc'])) or 'it'} = {e['input']!r:.60}: {e['msg']}"
                for e in broken.errors()
            )
            raise BadInput(f"{name}: {problems}") from broken
