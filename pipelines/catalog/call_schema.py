"""Decode replies under the schema of the tools, so that every reply is a valid call."""

from harness.bundle import MANIFEST
from pipelines.catalog.repair import Changes, Context, Repair, dump, manifest_of


def apply(context: Context) -> Changes | None:
    """Switch constrained decoding on."""
    manifest = manifest_of(context.bundle)
    calls = manifest.setdefault("calls", {})
    if calls.get("constrained"):
        return None
    calls["constrained"] = True
    return {MANIFEST: dump(manifest)}


REPAIR = Repair(
    name="call_schema",
    title="Replies constrained to the tools' schema",
    answers=frozenset({"no_call"}),
    tag="does",
    fires="harness.yaml#calls.constrained",
    root_cause="free text lets the model reply without a call",
    predicted_fix="every reply is a valid call",
    why="a policy switch of the loop; no text changes",
    rollback="repeated calls take the place of replies without a call",
    apply=apply,
)
