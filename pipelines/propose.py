"""Turn a specification into candidate harnesses, one mechanism each."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.bundle import Bundle, changed_files
from pipelines.catalog.repair import Context, Repair
from warehouse.events.line import Manifest
from warehouse.ids import bare, content_id


@dataclass(frozen=True, slots=True)
class Candidate:
    """A changed harness and its account of itself."""

    candidate_id: str
    repair: str
    bundle: Bundle
    files: tuple[str, ...]
    manifest: Manifest


def propose(
    chosen: Sequence[tuple[Repair, Sequence[str]]],
    context: Context,
    *,
    line_id: str,
    round: int,
) -> list[Candidate]:
    """Return one candidate per chosen repair, each an edit of the same parent."""
    found = []
    for repair, patterns in chosen:
        changes = repair.apply(context)
        if changes is None:
            continue
        bundle = context.bundle.edited(changes)
        found.append(
            Candidate(
                candidate_id=bare(content_id([line_id, round, repair.name, bundle.id])),
                repair=repair.name,
                bundle=bundle,
                files=changed_files(context.bundle, bundle),
                manifest=Manifest(
                    title=repair.title,
                    answers=tuple(sorted(repair.answers)),
                    pattern=patterns[0] if patterns else "",
                    root_cause=repair.root_cause,
                    predicted_fix=repair.predicted_fix,
                    why_this_component=repair.why,
                    tag=repair.tag,
                    fires=repair.fires,
                    rollback=repair.rollback,
                ),
            )
        )
    return found
