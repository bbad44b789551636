"""Every shipped component under a scripted model, through the real loop."""

import json
from importlib.resources import files

import pytest

from environments.docqa.families import families_of
from tests.harness.support import (
    ENV,
    Recording,
    calls,
    closing,
    fired,
    handmade,
    of,
    rollout,
    said,
    search,
    submit,
    with_middleware,
    with_spec,
)
from warehouse.events.trajectory import HarnessFired, ModelCalled, ToolCalled, ToolReturned

ANA = ["STAFF", "Ana Moss works in Oslo.", "Bo Hale works in Lima.", "Ana sent greetings."]
WHERE = "In which city is Ana Moss? Answer with the city only."


def test_every_component_is_tried_here() -> None:
    shipped = {path.name for path in (files("harness") / "components").iterdir()}
    tried = {name for name in globals() if name.startswith("Test")}
    for name in shipped - {"__init__.py", "__pycache__"}:
        assert "Test" + name.removesuffix(".py").title().replace("_", "") in tried


class TestAnswerCheck:
    BUNDLE = with_middleware("answer_check", {"times": 2, "text": "Error: take it from a result."})

    def run(self, *turns: str, question: str = WHERE) -> tuple[list[tuple[str, int]], str | None]:
        """Return the stamp and open items of every check, and what was delivered."""
        on = handmade(ANA, question)
        facts = rollout(self.BUNDLE, turns, on)
        stamps = [(f.effect, f.n_unresolved) for f in of(HarnessFired, facts) if f.hook != "render"]
        return stamps, on[1].delivered

    def test_an_answer_that_was_read_passes(self) -> None:
        assert self.run(search("Ana"), submit("Oslo")) == ([("none", 0), ("none", 0)], "Oslo")

    def test_case_and_dots_do_not_matter(self) -> None:
        assert self.run(search("Ana"), submit("OSLO."))[1] == "OSLO."

    def test_an_answer_from_nowhere_is_blocked_and_then_let_through(self) -> None:
        stamps, delivered = self.run(*[submit("New Paris")] * 4)
        assert stamps == [("blocked", 2), ("blocked", 2), ("unlocked", 2)]
        assert delivered == "New Paris"

    def test_an_answer_from_the_task_is_blocked(self) -> None:
        stamps, delivered = self.run(search("Ana"), submit("Ana Moss"), submit("Oslo"))
        assert stamps == [("none", 0), ("blocked", 0), ("none", 0)]
        assert delivered == "Oslo"

    def test_an_empty_answer_is_blocked(self) -> None:
        assert self.run(search("Ana"), submit("  "))[0] == [("none", 0), ("blocked", 0)]

    def test_words_of_the_task_may_stand_beside_what_was_read(self) -> None:
        assert self.run(search("Ana"), submit("Ana Moss: Oslo"))[1] == "Ana Moss: Oslo"

    def test_a_number_of_the_task_needs_a_result(self) -> None:
        question = "Does 417 or 418 belong to Ana?"
        stamps, _ = self.run(search("Ana"), submit("417 Oslo"), question=question)
        assert stamps == [("none", 0), ("blocked", 1)]

    def test_the_model_is_told_and_the_call_recorded(self) -> None:
        on = handmade(ANA, WHERE)
        facts = rollout(self.BUNDLE, [submit("Paris")], on)
        assert said(facts, "harness")[1] == "Error: take it from a result."
        (returned,) = of(ToolReturned, facts)
        assert (returned.ok, returned.error) == (False, "blocked")
        (check,) = [f for f in of(HarnessFired, facts) if f.hook == "before_tool"]
        assert (check.detail, check.tag) == ("paris", "does")

    def test_other_tools_pass(self) -> None:
        assert self.run(search("Atlantis"), search("Ana"))[0] == [("none", 0), ("none", 0)]

    def test_each_rollout_counts_for_itself(self) -> None:
        assert self.run(submit("Paris")) == self.run(submit("Paris")) == ([("blocked", 1)], None)


class TestBudgetNudge:
    TEXT = "Hand in now."

    def requests(self, turns_left: int, max_turns: int) -> list[str]:
        bundle = with_spec(
            with_middleware("budget_nudge", {"turns_left": turns_left, "text": self.TEXT}),
            loop={"max_turns": max_turns},
        )
        model = Recording(*[search("Ana")] * 9)
        facts = rollout(bundle, model, handmade(ANA, WHERE))
        assert closing(facts) == ("max_turns", "limit_steps")
        assert self.TEXT not in str(said(facts, "task", "environment", "harness"))
        effects = [effect for effect, _ in fired(facts, "before_model")]
        nudged = [self.TEXT in r.messages[-1].content for r in model.requests]
        assert effects == ["changed" if n else "none" for n in nudged]
        return [r.messages[-1].content for r in model.requests]

    def test_the_last_turns_are_nudged_and_no_other(self) -> None:
        nudged = [text.endswith(f"\n{self.TEXT}") for text in self.requests(2, 5)]
        assert nudged == [False, False, False, True, True]

    def test_one_turn_is_enough_for_a_budget_of_one(self) -> None:
        assert self.requests(2, 1) == [f"Question: {WHERE}\n{self.TEXT}"]

    def test_nothing_is_nudged_at_zero(self) -> None:
        assert not any(self.TEXT in text for text in self.requests(0, 3))

    def test_a_nudge_is_not_repeated_in_the_history(self) -> None:
        bundle = with_middleware("budget_nudge", {"turns_left": 9, "text": self.TEXT})
        model = Recording(*[search("Ana")] * 6)
        rollout(bundle, model, handmade(ANA, WHERE))
        counts = [str(r.messages).count(self.TEXT) for r in model.requests]
        assert counts == [1] * 6


class TestOpeningSearch:
    BUNDLE = with_middleware("opening_search", {"tool": "search", "argument": "pattern"})

    def opened(self, question: str, lines: list[str]) -> str | None:
        """Return what was searched for in the model's place, None if it was left to the model."""
        facts = rollout(self.BUNDLE, ["silence"], handmade(lines, question))
        made = [c for c in of(ToolCalled, facts) if c.author == "harness" and c.component is None]
        return json.loads(made[0].arguments_json or "")["pattern"] if made else None

    def test_it_takes_the_longest_phrase_that_is_there(self) -> None:
        assert self.opened(WHERE, ANA) == "Ana Moss"

    def test_it_takes_the_rarest_of_equal_length(self) -> None:
        lines = ["Alpha here.", "Alpha there.", "Beta here."]
        assert self.opened("Alpha of Beta?", lines) == "Beta"

    def test_what_is_nowhere_is_not_searched_for(self) -> None:
        assert self.opened("In which city does Cleo Hart live?", ANA) is None

    def test_common_words_and_instructions_do_not_count(self) -> None:
        lines = ["answer with the number only", "which is it", "bay 7"]
        assert self.opened("Which bay is it? Answer with the number only.", lines) == "bay"

    def test_ids_stay_whole(self) -> None:
        lines = ["Ticket T-482 is owned by Bo.", "Ticket T-4 is old."]
        assert self.opened("Who owns ticket T-482?", lines) == "ticket T-482"

    def test_the_harness_speaks_and_the_model_is_not_asked(self) -> None:
        model = Recording(submit("Oslo"))
        facts = rollout(self.BUNDLE, model, handmade(ANA, WHERE))
        assert closing(facts) == ("delivered", "success")
        assert len(model.requests) == 1, "the second turn is the model's first"
        assert [m.turn for m in of(ModelCalled, facts)] == [2]
        spoken = model.requests[0].messages[-2]
        assert (spoken.role, spoken.content) == ("assistant", search("Ana Moss"))
        assert "Ana Moss works in Oslo." in model.requests[0].messages[-1].content
        assert fired(facts, "before_model") == [("changed", "does"), ("none", "does")]

    def test_probes_are_recorded_and_hidden(self) -> None:
        model = Recording(submit("Oslo"))
        facts = rollout(self.BUNDLE, model, handmade(ANA, WHERE))
        probes = [c for c in of(ToolCalled, facts) if c.component == "probe"]
        assert probes
        results = {r.call_key: r for r in of(ToolReturned, facts)}
        for probe in probes:
            assert probe.author == "harness"
            assert results[probe.call_key].agent_view is None
        roles = [message.role for message in model.requests[0].messages]
        assert roles == ["system", "user", "assistant", "user"], "one call and its result"

    def test_without_the_tool_it_stands_aside(self) -> None:
        bundle = with_middleware("opening_search", {"tool": "grep", "argument": "pattern"})
        facts = rollout(bundle, [search("Ana"), submit("Oslo")], handmade(ANA, WHERE))
        assert of(ToolCalled, facts)[0].author == "model"
        assert fired(facts, "before_model") == [("none", "does")] * 2

    def test_it_finds_something_in_most_tasks(self) -> None:
        for task in ENV.tasks("development", len(families_of("development"))):
            facts = rollout(self.BUNDLE, [], (task, ENV.open(task)))
            (first, *_) = [c for c in of(ToolCalled, facts) if c.component is None]
            returned = next(r for r in of(ToolReturned, facts) if r.call_key == first.call_key)
            assert returned.ok, task.prompt


class TestRepeatBrake:
    BUNDLE = with_middleware("repeat_brake", {"text": "You did that."})

    def test_the_same_call_is_blocked(self) -> None:
        turns = [search("Ana"), search("Bo"), search("Ana"), search("Ana"), submit("Oslo")]
        facts = rollout(self.BUNDLE, turns, handmade(ANA, WHERE))
        effects = [effect for effect, _ in fired(facts, "before_tool")]
        assert effects == ["none", "none", "blocked", "blocked", "none"]
        assert said(facts, "harness")[1:] == ["You did that."] * 2
        assert closing(facts) == ("delivered", "success")

    def test_other_arguments_are_another_call(self) -> None:
        made = calls(
            ("read_lines", {"start": 1, "end": 2}),
            ("read_lines", {"end": 2, "start": 1}),
            ("read_lines", {"start": 1, "end": 3}),
            ("scan", {}),
        )
        facts = rollout(self.BUNDLE, made, handmade(ANA, WHERE))
        effects = [effect for effect, _ in fired(facts, "before_tool")]
        assert effects == ["none", "blocked", "none", "none"]

    def test_a_call_that_failed_was_made_too(self) -> None:
        facts = rollout(self.BUNDLE, [search("Atlantis")] * 2, handmade(ANA, WHERE))
        assert [effect for effect, _ in fired(facts, "before_tool")] == ["none", "blocked"]

    def test_what_another_component_blocked_was_not_made(self) -> None:
        bundle = with_middleware(
            "repeat_brake",
            {"text": "You did that."},
            with_middleware("answer_check", {"times": 1, "text": "No."}),
        )
        facts = rollout(bundle, [submit("Paris")] * 2, handmade(ANA, WHERE))
        assert closing(facts) == ("delivered", "success")
        effects = [effect for effect, _ in fired(facts, "before_tool")]
        assert effects == ["blocked", "unlocked", "none"]


class TestRestateTask:
    BUNDLE = with_middleware("restate_task", {"lead": "Remember: "})

    def test_the_task_stands_under_every_result(self) -> None:
        model = Recording(search("Ana"), search("Atlantis"), submit("Oslo"))
        facts = rollout(self.BUNDLE, model, handmade(ANA, WHERE))
        shown = said(facts, "environment")
        assert len(shown) == 2
        assert all(view.endswith(f"\nRemember: {WHERE}") for view in shown)
        assert model.requests[-1].messages[-1].content == shown[-1]
        assert fired(facts, "after_tool") == [("changed", "sees")] * 2

    def test_the_canonical_result_stays(self) -> None:
        facts = rollout(self.BUNDLE, [search("Ana Moss")], handmade(ANA, WHERE))
        (returned,) = of(ToolReturned, facts)
        assert returned.env_output == "1 matches for 'Ana Moss':\nL2: Ana Moss works in Oslo."
        assert returned.agent_view == f"Result:\n{returned.env_output}\nRemember: {WHERE}"


@pytest.mark.parametrize("name", ["answer_check", "budget_nudge", "repeat_brake", "restate_task"])
def test_a_missing_parameter_ends_the_rollout_and_is_named(name: str) -> None:
    turns = [search("Ana"), search("Ana"), submit("Paris")]
    facts = rollout(with_middleware(name), turns, handmade(ANA, WHERE))
    assert closing(facts) == ("harness_crash", "harness_error")
    assert f"middleware/{name}.py" in (facts[-1].error or "")
    assert "KeyError" in (facts[-1].error or "")
