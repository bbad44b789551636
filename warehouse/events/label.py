"""Labels that a person or a judge adds beside the ones that rules compute."""

from typing import Literal

from warehouse.events.base import Fact

Label = Literal["healthy", "F1", "F2", "F3", "F4"]


class LabelAdded(Fact):
    """Somebody labelled a trajectory."""

    kind: Literal["label_added"] = "label_added"
    label: Label
    signal: str
    evidence: str
    taxonomy_version: str
    labeller: str


class LabelWithdrawn(Fact):
    """An earlier label of the same labeller no longer holds."""

    kind: Literal["label_withdrawn"] = "label_withdrawn"
    labeller: str
    reason: str
