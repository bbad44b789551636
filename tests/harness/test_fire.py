"""Hooks: their order, what a component may answer, and the effect that is stamped on it."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from environments.base import Call, Observation
from harness.fire import Firing, Hooks
from harness.hooks import Block, Middleware, State, Terminate, Unlock
from harness.messages import ChatMessage, ModelReply, ModelRequest
from warehouse.errors import HarnessCrash

CALL = Call("search", {"pattern": "x"})
REPLY = ModelReply("text")
REQUEST = ModelRequest((ChatMessage("user", "Hi"),), 40, 0.0, 1, {"type": "object"})
STATE = State("prompt", (), 6, lambda call: Observation("probed"))
HOOKS = ("before_agent", "before_model", "after_model", "before_tool", "after_tool")
INPUT: dict[str, Any] = {
    "before_agent": STATE,
    "before_model": REQUEST,
    "after_model": REPLY,
    "before_tool": CALL,
    "after_tool": "view",
}
CONTEXT: dict[str, tuple[Any, ...]] = dict.fromkeys(HOOKS, (STATE,)) | {
    "before_agent": (),
    "after_tool": (CALL, STATE),
}
INSTEAD = "answered in the model's place"


def answering(hook: str, answer: Any, log: list[str] | None = None, name: str = "") -> Middleware:
    """Return a component whose one hook returns `answer`, or what it computes."""

    def run(self: Middleware, value: Any, *context: Any) -> Any:
        if log is not None:
            log.append(name)
        return answer(value, *context) if callable(answer) else answer

    return type("Own", (Middleware,), {hook: run})({})


def fire(hook: str, *answers: Any) -> tuple[Any, list[Firing]]:
    """Fire a hook of components that answer so; return the outcome and what was stamped."""
    components = [(f"middleware/{i}.py", answering(hook, a)) for i, a in enumerate(answers)]
    hooks = Hooks(components)
    outcome = hooks.fire(hook, INPUT[hook], *CONTEXT[hook])
    return outcome, hooks.drain()


def stamped(hook: str, answer: Any) -> tuple[str, str, str | None, int]:
    _, (firing,) = fire(hook, answer)
    assert (firing.component, firing.hook) == ("middleware/0.py", hook)
    return firing.effect, firing.tag, firing.detail, firing.n_unresolved


class TestOrder:
    @pytest.mark.parametrize(
        ("hook", "expected"),
        [
            ("before_agent", "abc"), ("before_model", "abc"), ("before_tool", "abc"),
            ("after_model", "cba"), ("after_tool", "cba"),
        ],
    )  # fmt: skip
    def test_before_runs_first_to_last_and_after_last_to_first(
        self, hook: str, expected: str
    ) -> None:
        log: list[str] = []
        hooks = Hooks([(name, answering(hook, None, log, name)) for name in "abc"])
        hooks.fire(hook, INPUT[hook], *CONTEXT[hook])
        assert "".join(log) == expected
        assert [firing.component for firing in hooks.drain()] == list(expected)

    def test_each_change_is_handed_on(self) -> None:
        outcome, firings = fire("after_tool", *(lambda view, *_, m=m: view + m for m in "abc"))
        assert outcome == "viewcba"
        assert [firing.effect for firing in firings] == ["changed"] * 3

    def test_only_components_that_define_the_hook_run(self) -> None:
        hooks = Hooks([("idle.py", Middleware({})), ("own.py", answering("after_tool", None))])
        hooks.fire("after_tool", "view", CALL, STATE)
        hooks.fire("before_tool", CALL, STATE)
        assert [firing.component for firing in hooks.drain()] == ["own.py"]

    def test_what_was_drained_is_gone(self) -> None:
        hooks = Hooks([("own.py", answering("before_tool", None))])
        hooks.fire("before_tool", CALL, STATE)
        assert len(hooks.drain()) == 1
        assert hooks.drain() == []

    @pytest.mark.parametrize("stop", [Block("no"), Terminate("no"), Observation("instead")])
    def test_what_stands_in_its_place_ends_the_chain(self, stop: object) -> None:
        outcome, firings = fire("before_tool", None, stop, Call("never", {}))
        assert outcome is stop
        assert len(firings) == 2

    def test_an_unlock_lets_the_chain_go_on(self) -> None:
        outcome, firings = fire("before_tool", Unlock("tired"), Block("no"))
        assert outcome == Block("no")
        assert [firing.effect for firing in firings] == ["unlocked", "blocked"]


class TestStamps:
    @pytest.mark.parametrize(
        ("hook", "answer", "effect", "tag", "detail"),
        [
            *((hook, None, "none", "sees" if hook == "after_tool" else "does", None)
              for hook in HOOKS),
            *((hook, Terminate("enough"), "terminated", "sees" if hook == "after_tool" else "does",
               "enough") for hook in HOOKS),
            ("before_model", REQUEST, "none", "does", None),
            ("before_model", replace(REQUEST, max_tokens=41), "changed", "does", None),
            ("before_model", replace(REQUEST, messages=()), "changed", "sees", None),
            ("before_model", REPLY, "changed", "does", INSTEAD),
            ("after_model", ModelReply("text"), "none", "does", INSTEAD),
            ("after_model", ModelReply("other"), "changed", "does", INSTEAD),
            ("before_tool", Call("search", {"pattern": "x"}), "none", "does", None),
            ("before_tool", Call("search", {"pattern": "y"}), "changed", "does", None),
            ("before_tool", Observation("x"), "changed", "sees",
             "answered in the environment's place"),
            ("before_tool", Block("no"), "blocked", "does", None),
            ("before_tool", Unlock("tired"), "unlocked", "does", "tired"),
            ("after_tool", "view", "none", "sees", None),
            ("after_tool", "other", "changed", "sees", None),
        ],
    )  # fmt: skip
    def test_effect_tag_and_detail(
        self, hook: str, answer: Any, effect: str, tag: str, detail: str | None
    ) -> None:
        assert stamped(hook, answer) == (effect, tag, detail, 0)

    @pytest.mark.parametrize("kind", [Block, Unlock])
    def test_open_items_are_counted_and_named(self, kind: type) -> None:
        _, _, detail, n = stamped("before_tool", kind("text", ("a", "b")))
        assert (detail, n) == ("a; b", 2)


class TestForgery:
    @pytest.mark.parametrize("hook", HOOKS)
    @pytest.mark.parametrize(
        "answer",
        [
            STATE, REQUEST, REPLY, CALL, "view", Block("x"), Unlock("x"), Terminate("x"),
            Observation("x"), "changed", True, 0, {}, [CALL], ("changed", CALL), object, OSError(),
            Firing("other.py", "before_tool", "changed", "does"),
        ],
        ids=lambda value: type(value).__name__,
    )  # fmt: skip
    def test_a_hook_takes_only_the_answers_it_names(self, hook: str, answer: object) -> None:
        allowed = {
            "before_agent": (Terminate,),
            "before_model": (ModelRequest, ModelReply, Terminate),
            "after_model": (ModelReply, Terminate),
            "before_tool": (Call, Observation, Block, Unlock, Terminate),
            "after_tool": (str, Terminate),
        }[hook]
        hooks = Hooks([("own.py", answering(hook, lambda *_: answer))])
        if type(answer) in allowed:
            hooks.fire(hook, INPUT[hook], *CONTEXT[hook])
            assert len(hooks.drain()) == 1
        else:
            with pytest.raises(HarnessCrash, match=rf"own\.py {hook}: TypeError: returned .*None"):
                hooks.fire(hook, INPUT[hook], *CONTEXT[hook])
            assert hooks.drain() == [], "what did not count leaves no stamp"

    def test_a_subclass_cannot_say_that_it_changed_nothing(self) -> None:
        class Sly(Call):
            __slots__ = ()

            def __eq__(self, other: object) -> bool:
                return True

            __hash__ = None

        with pytest.raises(HarnessCrash, match="TypeError"):
            fire("before_tool", Sly("submit", {"answer": "forged"}))

    def test_writing_into_a_call_changes_nothing(self) -> None:
        def write(call: Call, state: State) -> None:
            call.arguments["pattern"] = "forged"

        given = Call("search", {"pattern": "x", "deep": [1]})
        hooks = Hooks([("own.py", answering("before_tool", write))])
        outcome = hooks.fire("before_tool", given, STATE)
        assert outcome == given == Call("search", {"pattern": "x", "deep": [1]})
        assert [firing.effect for firing in hooks.drain()] == ["none"]

    def test_writing_into_a_request_changes_nothing(self) -> None:
        def write(request: ModelRequest, state: State) -> None:
            request.response_schema.clear()

        outcome, (firing,) = fire("before_model", write)
        assert outcome.response_schema == {"type": "object"}
        assert firing.effect == "none"

    def test_what_is_written_and_returned_is_a_change(self) -> None:
        def write(call: Call, state: State) -> Call:
            call.arguments["pattern"] = "y"
            return call

        outcome, (firing,) = fire("before_tool", write)
        assert outcome == Call("search", {"pattern": "y"})
        assert firing.effect == "changed"
        assert CALL.arguments == {"pattern": "x"}


class TestCrashes:
    @pytest.mark.parametrize("hook", HOOKS)
    @pytest.mark.parametrize(
        "crash", [ValueError("no"), SystemExit(3), RecursionError(), KeyError(1)]
    )
    def test_a_crash_names_file_hook_and_error(self, hook: str, crash: BaseException) -> None:
        def run(*_: object) -> None:
            raise crash

        with pytest.raises(HarnessCrash, match=rf"middleware/0\.py {hook}: {type(crash).__name__}"):
            fire(hook, run)

    def test_an_interrupt_is_no_crash(self) -> None:
        def run(*_: object) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fire("before_tool", run)

    def test_what_ran_before_a_crash_is_kept(self) -> None:
        hooks = Hooks(
            [("a.py", answering("before_tool", None)), ("b.py", answering("before_tool", 5))]
        )
        with pytest.raises(HarnessCrash):
            hooks.fire("before_tool", CALL, STATE)
        assert [firing.component for firing in hooks.drain()] == ["a.py"]

    @pytest.mark.parametrize(
        ("hook", "answer"),
        [
            ("before_model", replace(REQUEST, messages=({"role": "user", "content": "x"},))),
            ("before_model", replace(REQUEST, messages=None)),
            ("before_model", ModelReply(None)),
            ("after_model", ModelReply(5)),
            ("before_tool", Call(5, {})),
            ("before_tool", Call("search", None)),
            ("before_tool", Call("search", [1])),
            ("before_tool", Observation(None)),
            ("before_tool", Block(5)),
            ("before_tool", Block("x", 5)),
            ("before_tool", Block("x", (1, 2))),
            ("before_tool", Unlock(None)),
            ("after_tool", Terminate(None)),
        ],
    )
    def test_an_answer_of_the_wrong_parts_is_a_crash(self, hook: str, answer: object) -> None:
        with pytest.raises(HarnessCrash, match="TypeError"):
            fire(hook, answer)

    def test_an_asynchronous_hook_is_a_crash(self) -> None:
        async def run(value: object) -> None: ...

        waiting = run(None)
        with pytest.raises(HarnessCrash, match="coroutine"):
            fire("before_tool", lambda *_: waiting)
        asyncio.run(waiting)
