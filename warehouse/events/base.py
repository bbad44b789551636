"""What every fact has in common."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Purpose = Literal["collect", "anchor", "candidate", "replay", "cross", "import", "smoke"]


class Fact(BaseModel):
    """One immutable statement; subclasses fix `kind` and bump `version` when their fields change.

    NaN and infinities survive JSON as the strings "NaN", "Infinity" and "-Infinity", which DuckDB
    casts back to the same numbers.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", ser_json_inf_nan="strings", allow_inf_nan=True
    )

    version: int = 1
