"""The loop: every way a rollout can go, each with one end and every fact of how it got there."""

import json

import pytest

from environments.base import Call, Observation
from harness.bundle import MANIFEST, Bundle
from harness.calls import reply_schema
from harness.loop import CONSTRAINED
from harness.messages import ChatMessage, ModelReply, ModelRequest
from harness.models.http import HttpModel, connection
from harness.models.scripted import ScriptedModel
from tests.harness.server import Answer, ModelServer, chat, refusal
from tests.harness.support import (
    ENV,
    SEED,
    TASK,
    Recording,
    as_json,
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
from warehouse.events.trajectory import (
    Delivered,
    HarnessFired,
    MessageAdded,
    ModelCalled,
    ToolCalled,
    ToolReturned,
)

HOOKS = {
    "before_agent": "self, state",
    "before_model": "self, request, state",
    "after_model": "self, reply, state",
    "before_tool": "self, call, state",
    "after_tool": "self, view, call, state",
}


def component(hook: str, *body: str) -> str:
    """Return the source of a component with one hook."""
    lines = "".join(f"        {line}\n" for line in body)
    return (
        "from dataclasses import replace\n"
        "from environments.base import Call, Observation\n"
        "from harness.hooks import Block, Middleware, Terminate, Unlock\n"
        "from harness.messages import ModelReply\n\n"
        f"class Own(Middleware):\n    def {hook}({HOOKS[hook]}):\n{lines}"
    )


def with_hook(hook: str, *body: str) -> Bundle:
    return with_middleware(component(hook, *body))


class OnServer:
    """A model on an HTTP server, for one event loop at a time."""

    name = "served"
    weights_id = "w"

    def __init__(self, url: str) -> None:
        self.url = url

    async def complete(self, request: ModelRequest) -> ModelReply:
        async with connection(1) as client:
            model = HttpModel(client, name="m", weights_id="w", url=self.url, body={})
            return await model.complete(request)


class TestEnds:
    def test_an_answer_ends_it(self) -> None:
        on = handmade(["x", "Ana works in Oslo."])
        facts = rollout(SEED, [search("Ana"), submit(" Oslo "), search("Ana")], on)
        assert closing(facts) == ("delivered", "success")
        assert [fact.answer for fact in of(Delivered, facts)] == ["Oslo"]
        assert len(of(ModelCalled, facts)) == 2
        last = of(ToolReturned, facts)[-1]
        assert (last.env_output, last.agent_view, last.ok) == ("submitted", None, True)

    @pytest.mark.parametrize("max_turns", [1, 2, 6, 9])
    def test_the_budget_ends_it(self, max_turns: int) -> None:
        facts = rollout(with_spec(SEED, loop={"max_turns": max_turns}), ["hm"] * 20)
        assert closing(facts) == ("max_turns", "limit_steps")
        assert len(of(ModelCalled, facts)) == max_turns
        assert [fact.turn for fact in of(ModelCalled, facts)] == list(range(1, max_turns + 1))
        assert not of(Delivered, facts)

    def test_an_answer_in_the_last_turn_counts(self) -> None:
        facts = rollout(with_spec(SEED, loop={"max_turns": 2}), [search("the"), submit("x")])
        assert closing(facts) == ("delivered", "success")

    def test_a_scripted_model_may_loop_for_ever_and_does_not(self) -> None:
        facts = rollout(SEED, ScriptedModel("looper", "w"))
        assert closing(facts) == ("max_turns", "limit_steps")
        assert len(of(ToolReturned, facts)) == 6

    def test_a_server_that_refuses_is_infrastructure(self) -> None:
        with ModelServer(chat(search("the")), refusal(401)) as server:
            facts = rollout(SEED, OnServer(server.url))
        assert closing(facts) == ("model_unavailable", "infra_error")
        assert "401" in (facts[-1].error or "")
        assert len(of(ToolReturned, facts)) == 1, "what happened before is kept"

    def test_an_answer_that_is_no_completion_is_infrastructure(self) -> None:
        with ModelServer(Answer(b'{"choices": [{"message": "x"}]}')) as server:
            facts = rollout(SEED, OnServer(server.url))
        assert closing(facts) == ("model_unavailable", "infra_error")
        assert [m.role for m in of(MessageAdded, facts)] == ["system", "user"]

    def test_a_full_context_is_a_limit(self) -> None:
        full = refusal(400, "maximum context length is 10 tokens")
        with ModelServer(chat(search("the")), full) as server:
            facts = rollout(SEED, OnServer(server.url))
        assert closing(facts) == ("context_exceeded", "limit_context")
        assert "10 tokens" in (facts[-1].error or "")

    @pytest.mark.parametrize("hook", HOOKS)
    def test_a_component_may_end_it_at_every_hook(self, hook: str) -> None:
        facts = rollout(with_hook(hook, "return Terminate('enough')"), [search("the")] * 9)
        assert closing(facts) == ("harness: enough", "model_failure")
        assert facts[-1].error is None
        (effect,) = fired(facts, hook)
        assert effect[0] == "terminated"
        assert len(of(ModelCalled, facts)) == (0 if hook in {"before_agent", "before_model"} else 1)

    @pytest.mark.parametrize("hook", HOOKS)
    @pytest.mark.parametrize(
        "crash", ["raise ValueError('no')", "return 5", "raise SystemExit(1)", "return Block(5)"]
    )
    def test_a_component_may_crash_at_every_hook(self, hook: str, crash: str) -> None:
        facts = rollout(with_hook(hook, crash), [search("the")] * 9)
        assert closing(facts) == ("harness_crash", "harness_error")
        assert f"middleware/own.py {hook}: " in (facts[-1].error or "")
        assert said(facts, "task") == [f"Question: {TASK.prompt}"]

    def test_a_crash_in_a_later_turn_keeps_the_earlier_ones(self) -> None:
        bundle = with_hook("before_model", "if state.turn == 3:", "    raise ValueError('third')")
        facts = rollout(bundle, [search("the")] * 9)
        assert closing(facts) == ("harness_crash", "harness_error")
        assert len(of(ToolReturned, facts)) == 2
        assert [effect for effect, _ in fired(facts, "before_model")] == ["none", "none"]

    @pytest.mark.parametrize(
        ("files", "part"),
        [
            ({MANIFEST: "a: ["}, "harness.yaml"),
            ({"prompts/system.md": "{{ nothing }}"}, "prompts/system.md"),
            ({"prompts/task.md": "{{ 1 // 0 }}"}, "prompts/task.md"),
        ],
    )
    def test_a_broken_bundle_ends_before_the_model(self, files: dict[str, str], part: str) -> None:
        facts = rollout(SEED.edited(files), ["x"])
        assert closing(facts) == ("harness_crash", "harness_error")
        assert part in (facts[-1].error or "")
        assert not of(ModelCalled, facts)

    def test_a_template_that_breaks_late_keeps_the_result(self) -> None:
        bundle = SEED.edited({"prompts/result.md": "{{ text if ok else nothing }}"})
        facts = rollout(bundle, [search("the"), search("atlantis")])
        assert closing(facts) == ("harness_crash", "harness_error")
        results = of(ToolReturned, facts)
        assert [result.ok for result in results] == [True, False]
        assert results[1].env_output == "0 matches for 'atlantis'"
        assert results[1].agent_view is None

    def test_code_that_does_not_load_ends_it(self) -> None:
        facts = rollout(with_middleware("1 / 0"), ["x"])
        assert closing(facts) == ("harness_crash", "harness_error")
        assert len(facts) == 1


class TestConversation:
    def test_what_the_model_sees(self) -> None:
        on = handmade(["STAFF", "Ana works in Oslo."], "Where is Ana?")
        model = Recording("  hm ", search("Ana"), search("Bo"), submit("Oslo"))
        facts = rollout(SEED, model, on)
        system = said(facts, "harness")[0]
        assert system.startswith("You solve a task")
        assert model.requests[-1].messages == (
            ChatMessage("system", system),
            ChatMessage("user", "Question: Where is Ana?"),
            ChatMessage("assistant", "hm"),
            ChatMessage("user", "Error: reply with one JSON tool call."),
            ChatMessage("assistant", search("Ana")),
            ChatMessage("user", "Result:\n1 matches for 'Ana':\nL2: Ana works in Oslo."),
            ChatMessage("assistant", search("Bo")),
            ChatMessage("user", "Result:\n0 matches for 'Bo'"),
        )

    def test_the_log_is_what_the_model_saw(self) -> None:
        model = Recording("hm", search("the"), '{"tool": "none"}', submit("x"))
        facts = rollout(SEED, model)
        logged = [(m.role, m.content) for m in of(MessageAdded, facts)]
        seen = [(m.role, m.content) for m in model.requests[-1].messages]
        assert logged[: len(seen)] == seen
        assert [m.author for m in of(MessageAdded, facts)] == [
            "harness", "task", "model", "harness", "model", "environment", "model", "environment",
            "model",
        ]  # fmt: skip
        assert [m.turn for m in of(MessageAdded, facts)] == [0, 0, 1, 1, 2, 2, 3, 3, 4]

    def test_each_request_has_its_own_digest(self) -> None:
        one = rollout(SEED, [search("the"), search("a"), submit("x")])
        digests = [fact.request_digest for fact in of(ModelCalled, one)]
        assert len(set(digests)) == 3
        again = rollout(SEED, [search("the"), search("b"), submit("x")])
        repeated = [fact.request_digest for fact in of(ModelCalled, again)]
        assert repeated[:2] == digests[:2], "the same request has the same digest"
        assert repeated[2] != digests[2]

    def test_limits_and_sampling_reach_the_model(self) -> None:
        bundle = with_spec(SEED, loop={"max_output_tokens": 77, "max_turns": 3})
        model = Recording("a", "b", "c")
        rollout(bundle, model, seed=2**31 - 2)
        assert [r.max_tokens for r in model.requests] == [77] * 3
        assert [r.temperature for r in model.requests] == [0.0] * 3
        assert [r.seed for r in model.requests] == [2**31 - 1, 0, 1]
        assert [r.response_schema for r in model.requests] == [None] * 3

    def test_constrained_calls_carry_the_schema(self) -> None:
        bundle = with_spec(SEED, calls={"constrained": True, "argument_chars": 9})
        model = Recording(submit("x"))
        facts = rollout(bundle, model)
        assert model.requests[0].response_schema == reply_schema(ENV.open(TASK).tools, 9)
        assert CONSTRAINED in [f.component for f in of(HarnessFired, facts)]
        plain = rollout(SEED, [submit("x")])
        assert CONSTRAINED not in [f.component for f in of(HarnessFired, plain)]

    def test_worked_examples_are_marked_as_copied(self) -> None:
        text = "- - {role: user, content: Q1}\n  - {role: assistant, content: A1}\n"
        bundle = with_spec(SEED.edited({"policies/e.yaml": text}), examples=["policies/e.yaml"])
        facts = rollout(bundle, [submit("x")])
        messages = of(MessageAdded, facts)
        assert [m.content for m in messages[1:3]] == ["Q1", "A1"]
        assert [m.copied_context for m in messages] == [False, True, True, False, False]
        assert messages[3].content == f"Question: {TASK.prompt}"

    def test_what_the_bundle_renders_is_said_once(self) -> None:
        text = "- - {role: user, content: Q1}\n"
        bundle = SEED.edited({"policies/e.yaml": text, "lessons/a.md": "x"})
        bundle = with_spec(bundle, examples=["policies/e.yaml"], lessons=["lessons/a.md"])
        facts = rollout(bundle, [search("the"), submit("x")])
        rendered = [f for f in of(HarnessFired, facts) if f.hook == "render"]
        assert [f.component for f in rendered] == [
            "prompts/system.md", "lessons/a.md", "policies/e.yaml",
        ]  # fmt: skip
        assert {(f.turn, f.effect, f.tag) for f in rendered} == {(0, "changed", "does")}

    def test_a_long_result_is_cut_for_the_model_only(self) -> None:
        on = handmade(["x" * 300])
        facts = rollout(with_spec(SEED, loop={"tool_output_chars": 80}), [search("x")], on)
        (returned,) = of(ToolReturned, facts)
        assert len(returned.env_output or "") > 300
        assert returned.agent_view == (
            f"Result:\n{(returned.env_output or '')[:80]}\n... cut after 80 characters"
        )

    def test_a_result_of_the_very_limit_is_not_cut(self) -> None:
        on = handmade(["x" * 80])
        length = len("1 matches for 'x':\nL1: ") + 80
        facts = rollout(with_spec(SEED, loop={"tool_output_chars": length}), [search("x")], on)
        assert "cut" not in said(facts, "environment")[0]

    def test_an_empty_reply_is_told_as_empty(self) -> None:
        facts = rollout(with_spec(SEED, loop={"max_turns": 1}), [""])
        assert [m.content_state for m in of(MessageAdded, facts)] == [
            "text", "text", "empty", "text",
        ]  # fmt: skip


class TestCalls:
    def test_arguments_are_recorded_with_their_state(self) -> None:
        turns = [
            '{"tool": "search", "args": {"pattern": "the"}}',
            '{"name": "scan", "arguments": null}',
            '{"tool": "search", "args": "the"}',
            '{"tool": "nothing", "args": {}}',
            "no call",
        ]
        facts = rollout(SEED, turns)
        made = of(ToolCalled, facts)
        assert [(c.turn, c.call_key, c.name, c.arguments_state) for c in made] == [
            (1, "call-1", "search", "object"),
            (2, "call-2", "scan", "null"),
            (3, "call-3", "search", "non_object"),
            (4, "call-4", "nothing", "object"),
        ]
        assert made[0].arguments_json == made[0].arguments_raw == '{"pattern": "the"}'
        returned = of(ToolReturned, facts)
        assert [r.call_key for r in returned] == [c.call_key for c in made]
        assert [r.error for r in returned] == [None, None, "bad_arguments", "unknown_tool"]

    @pytest.mark.parametrize(
        "turn",
        [
            '{"tool": "submit", "args": {"answer": "\\ud800"}}',
            '{"tool": "read_lines", "args": {"start": NaN, "end": 1e999}}',
            '{"a":' * 3_000,
            '{"tool": "search", "args": {"pattern": ' + "[" * 900 + "]" * 900 + "}}",
            '{"tool": "read_lines", "args": {"start": 1.0, "end": 2.0}}',
            '{"tool": "\\u0000", "args": {"\\u0000": "\\u0000"}}',
            "\0\ufffe\U0010ffff",
        ],
    )
    def test_nothing_a_model_writes_breaks_the_log(self, turn: str) -> None:
        facts = rollout(with_spec(SEED, loop={"max_turns": 1}), [turn])
        assert closing(facts)[1] == "limit_steps"
        as_json(facts).encode()

    def test_no_call_is_answered_by_the_harness(self) -> None:
        facts = rollout(SEED, ["Let me think.", submit("x")])
        assert said(facts, "harness")[1:] == ["Error: reply with one JSON tool call."]
        assert len(of(ToolCalled, facts)) == 1

    def test_only_the_first_call_of_a_reply_is_made(self) -> None:
        facts = rollout(SEED, [search("the") + submit("x"), submit("y")])
        assert [c.name for c in of(ToolCalled, facts)] == ["search", "submit"]


class TestMiddleware:
    def test_a_blocked_call_is_not_made(self) -> None:
        bundle = with_hook(
            "before_tool", "if call.name == 'submit' and state.turn == 1:",
            "    return Block('Read first.', ('evidence',))",
        )  # fmt: skip
        on = handmade(["x"])
        facts = rollout(bundle, [submit("x"), submit("y")], on)
        assert closing(facts) == ("delivered", "success")
        assert on[1].delivered == "y"
        blocked = of(ToolReturned, facts)[0]
        assert (blocked.ok, blocked.error) == (False, "blocked")
        assert blocked.env_output == blocked.agent_view == "Read first."
        assert "Read first." in said(facts, "harness")
        firing = [f for f in of(HarnessFired, facts) if f.effect == "blocked"]
        assert [(f.n_unresolved, f.detail) for f in firing] == [(1, "evidence")]

    def test_a_changed_call_is_the_one_that_runs(self) -> None:
        bundle = with_hook("before_tool", "return Call('search', {'pattern': 'Oslo'})")
        on = handmade(["Ana works in Oslo."])
        facts = rollout(with_spec(bundle, loop={"max_turns": 1}), [search("Lima")], on)
        assert "1 matches for 'Oslo'" in said(facts, "environment")[0]
        assert fired(facts, "before_tool") == [("changed", "does")]

    def test_an_answer_in_the_environments_place(self) -> None:
        bundle = with_hook("before_tool", "return Observation('as before', 'cached')")
        on = handmade(["x"])
        facts = rollout(with_spec(bundle, loop={"max_turns": 1}), [submit("x")], on)
        assert on[1].delivered is None
        assert closing(facts) == ("max_turns", "limit_steps")
        (returned,) = of(ToolReturned, facts)
        assert (returned.env_output, returned.error) == ("as before", "cached")
        assert returned.agent_view == "Result:\nas before"

    def test_a_reply_in_the_models_place(self) -> None:
        bundle = with_hook("before_model", f"return ModelReply({submit('mine')!r})")
        facts = rollout(bundle, ["never asked"])
        assert not of(ModelCalled, facts)
        assert [f.answer for f in of(Delivered, facts)] == ["mine"]
        assert of(ToolCalled, facts)[0].author == "harness"
        assert of(MessageAdded, facts)[-1].author == "harness"

    def test_a_changed_reply_is_what_counts(self) -> None:
        bundle = with_hook("after_model", f"return replace(reply, text={submit('mine')!r})")
        facts = rollout(bundle, ["hm"])
        assert [f.answer for f in of(Delivered, facts)] == ["mine"]
        assert fired(facts, "after_model") == [("changed", "does")]
        assert of(ModelCalled, facts)[0].finish_reason == "replayed"

    def test_a_changed_request_is_sent_and_forgotten(self) -> None:
        bundle = with_hook("before_model", "return replace(request, max_tokens=state.turn)")
        model = Recording("a", "b")
        rollout(with_spec(bundle, loop={"max_turns": 2}), model)
        assert [r.max_tokens for r in model.requests] == [1, 2]

    def test_a_changed_view_is_what_the_model_sees(self) -> None:
        bundle = with_hook("after_tool", "return view.upper()")
        model = Recording(search("Ana"), submit("x"))
        facts = rollout(bundle, model, handmade(["Ana works in Oslo."]))
        assert model.requests[1].messages[-1].content.endswith("L1: ANA WORKS IN OSLO.")
        (first, _) = of(ToolReturned, facts)
        assert (first.env_output or "").endswith("L1: Ana works in Oslo.")
        assert fired(facts, "after_tool") == [("changed", "sees")], "a delivery shows no result"

    @pytest.mark.parametrize("end", ["return Terminate('enough')", "raise ValueError('no')"])
    def test_a_result_is_kept_when_its_hook_ends_the_run(self, end: str) -> None:
        facts = rollout(with_hook("after_tool", end), [search("Ana")], handmade(["Ana is here."]))
        (returned,) = of(ToolReturned, facts)
        assert (returned.env_output or "").endswith("L1: Ana is here.")
        assert (returned.ok, returned.agent_view) == (True, None)

    def test_what_ran_before_a_crash_is_kept(self) -> None:
        first = component("before_tool", "return Call('search', {'pattern': 'changed'})")
        bundle = with_middleware(
            component("before_tool", "raise ValueError('no')"), {}, with_middleware(first)
        )
        facts = rollout(bundle, [search("the")])
        assert closing(facts) == ("harness_crash", "harness_error")
        assert fired(facts, "before_tool") == [("changed", "does")]

    def test_a_component_cannot_lengthen_the_budget(self) -> None:
        bundle = with_hook("before_model", "state.turn = 0", "state.max_turns = 1000")
        facts = rollout(bundle, ["hm"] * 20)
        assert len(of(ModelCalled, facts)) == SEED.spec.loop.max_turns
        assert [fact.turn for fact in of(ModelCalled, facts)] == [1, 2, 3, 4, 5, 6]

    def test_hooks_see_the_state(self) -> None:
        bundle = with_hook(
            "after_tool",
            "calls = [step.call.name for step in state.steps]",
            "return f'{state.turn} {state.prompt} {calls} {[t.name for t in state.tools]}'",
        )
        facts = rollout(with_spec(bundle, loop={"max_turns": 2}), calls(("scan", {}), ("scan", {})))
        assert said(facts, "environment") == [
            f"{n} {TASK.prompt} {['scan'] * n} ['scan', 'search', 'read_lines', 'submit']"
            for n in (1, 2)
        ]

    def test_hooks_run_around_every_turn(self) -> None:
        bundle = SEED
        for hook in HOOKS:
            bundle = with_middleware(component(hook, "return None"), {}, bundle)
        facts = rollout(bundle, [search("the"), "hm", submit("x")])
        order = [(f.turn, f.hook) for f in of(HarnessFired, facts) if f.hook != "render"]
        assert order == [
            (0, "before_agent"),
            (1, "before_model"), (1, "after_model"), (1, "before_tool"), (1, "after_tool"),
            (2, "before_model"), (2, "after_model"),
            (3, "before_model"), (3, "after_model"), (3, "before_tool"),
        ]  # fmt: skip

    def test_a_component_may_look_without_being_seen(self) -> None:
        bundle = with_hook(
            "before_agent", "self.parameters['seen'].append(state.probe(Call('scan', {})).text)"
        )
        bundle = with_spec(
            bundle, middleware=[{"file": "middleware/own.py", "parameters": {"seen": []}}]
        )
        model = Recording(submit("x"))
        facts = rollout(bundle, model)
        probe, submitted = of(ToolCalled, facts)
        assert (probe.author, probe.component, probe.turn) == ("harness", "probe", 0)
        assert (submitted.author, submitted.component) == ("model", None)
        assert len(model.requests[0].messages) == 2


class TestFacts:
    @pytest.mark.parametrize(
        ("bundle", "turns"),
        [
            (SEED, [search("the"), submit("x")]),
            (SEED, ["hm", '{"tool": "scan"}', "hm", search("a"), "", '{"tool": "none"}']),
            (with_hook("before_tool", "return Block('no')"), [search("the"), submit("x")]),
            (with_hook("before_tool", "state.probe(Call('scan', {}))"), [search("the")] * 3),
            (with_hook("after_model", "return 1"), ["hm"]),
            (with_middleware("1 / 0"), ["hm"]),
        ],
    )
    def test_the_laws_of_every_rollout(self, bundle: Bundle, turns: list[str]) -> None:
        on = handmade(["x"])
        facts = rollout(bundle, turns, on)
        closing(facts)
        turns = [fact.turn for fact in facts if hasattr(fact, "turn")]
        assert turns == sorted(turns)
        keys = [fact.call_key for fact in of(ToolCalled, facts)]
        assert len(keys) == len(set(keys))
        returned = [fact.call_key for fact in of(ToolReturned, facts)]
        assert sorted(returned) == sorted(keys), "every call has one result"
        answers = [fact.answer for fact in of(Delivered, facts)]
        assert answers == ([] if on[1].delivered is None else [on[1].delivered])
        assert len(as_json(facts)) > 0

    def test_a_rollout_follows_from_its_arguments(self) -> None:
        for model in ("looper", "silent"):
            one, other = (as_json(rollout(SEED, ScriptedModel(model, "w"))) for _ in range(2))
            assert one == other

    def test_the_environment_is_asked_what_was_recorded(self) -> None:
        """Replaying the recorded calls in a fresh session gives the recorded results."""
        facts = rollout(SEED, [search("the"), '{"tool": "scan"}', "hm", search("the")])
        session = ENV.open(TASK)
        for made, returned in zip(of(ToolCalled, facts), of(ToolReturned, facts), strict=True):
            observation = session.call(Call(made.name, json.loads(made.arguments_json or "")))
            assert observation == Observation(
                returned.env_output or "", returned.error, returned.truncated
            )
