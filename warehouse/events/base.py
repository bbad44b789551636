"""What every fact has in common."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, field_validator

Purpose = Literal["collect", "anchor", "candidate", "replay", "cross", "import", "smoke"]


class Fact(BaseModel):
    """One immutable statement; subclasses fix `kind` and bump `version` when their fields change.

    NaN and infinities survive JSON as the strings "NaN", "Infinity" and "-Infinity", which pydantic
    and DuckDB cast back to the same numbers; in a free-form dictionary they stay these strings.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    version: int = 1

    @field_validator("version")
    @classmethod
    def _known(cls, version: int) -> int:
        """Refuse another version than this class describes: its fields may mean something else."""
        known = cls.model_fields["version"].default
        if version != known:
            raise ValueError(f"version {version}, but this release knows version {known}")
        return version
