"""One candidate per chosen repair, each an edit of the same parent, each with its account."""

from harness.bundle import changed_files
from pipelines.catalog import REPAIRS
from pipelines.catalog.repair import Context
from pipelines.propose import Candidate, propose
from tests.pipelines.runs import ENV, SEED, development_task

TOOLS = ENV.open(development_task("ticket")).tools
CONTEXT = Context(SEED, TOOLS, passing=())


def proposed(*names: str, line_id: str = "main", round: int = 1) -> list[Candidate]:
    chosen = [(REPAIRS[name], ["a pattern", "another"]) for name in names]
    return propose(chosen, CONTEXT, line_id=line_id, round=round)


def test_every_candidate_is_one_edit_of_the_same_parent() -> None:
    found = proposed("repeat_brake", "call_schema")
    assert [c.repair for c in found] == ["repeat_brake", "call_schema"]
    for candidate in found:
        assert candidate.files == changed_files(SEED, candidate.bundle) != ()
    assert found[1].files == ("harness.yaml",)


def test_the_manifest_is_the_repair_s_account_of_itself() -> None:
    (candidate,) = proposed("repeat_brake")
    repair, manifest = REPAIRS["repeat_brake"], candidate.manifest
    assert (manifest.title, manifest.tag, manifest.fires) == (repair.title, "does", repair.fires)
    assert manifest.pattern == "a pattern"
    assert manifest.answers == tuple(sorted(repair.answers))
    assert (manifest.root_cause, manifest.predicted_fix) == (
        repair.root_cause,
        repair.predicted_fix,
    )
    assert (manifest.why_this_component, manifest.rollback) == (repair.why, repair.rollback)


def test_a_repair_without_anything_to_do_gives_no_candidate() -> None:
    assert [c.repair for c in proposed("passing_examples", "repeat_brake")] == ["repeat_brake"]


def test_ids_are_content_the_same_proposal_is_the_same_candidate() -> None:
    ids = [c.candidate_id for c in proposed("repeat_brake", "call_schema")]
    assert ids == [c.candidate_id for c in proposed("repeat_brake", "call_schema")]
    assert len({*ids, *(c.candidate_id for c in proposed("repeat_brake", round=2))}) == 3
    assert len({*ids, *(c.candidate_id for c in proposed("repeat_brake", line_id="b"))}) == 3
