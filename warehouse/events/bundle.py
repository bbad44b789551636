"""Stream `bundle/<harness_id>`: the whole content of one harness."""

from typing import Literal

from warehouse.events.base import Fact


class BundleCaptured(Fact):
    """A harness bundle, file by file; its id is the hash of these files."""

    kind: Literal["bundle_captured"] = "bundle_captured"
    harness_id: str
    files: dict[str, str]
