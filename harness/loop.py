"""The loop: one rollout of one task under one bundle, as facts."""

from collections.abc import AsyncIterator
from typing import Any

from environments.base import Call, Observation, Session, Task
from harness.bundle import Bundle
from harness.calls import parse_call, reply_schema
from harness.fire import Firing, Hooks
from harness.hooks import Block, Hook, State, Step, Terminate
from harness.load import load_middleware
from harness.messages import Model, ModelReply, ModelRequest
from harness.render import examples, opening, render
from harness.transcript import PROBE, Transcript, plain_call
from warehouse.errors import BadBundle, ContextExceeded, HarnessCrash, ModelUnavailable
from warehouse.events.base import Fact
from warehouse.events.trajectory import Author, TerminationClass, TrajectoryClosed

CONSTRAINED = "harness.yaml#calls.constrained"
"""The component under which constrained decoding is noted."""


async def run(
    task: Task, session: Session, bundle: Bundle, model: Model, *, temperature: float, seed: int
) -> AsyncIterator[Fact]:
    """Yield what one attempt does, turn by turn; the last fact is a `TrajectoryClosed`.

    A crash of the bundle's code or a silent model server ends the attempt and is told in that last
    fact; neither is raised.
    """
    log = Transcript()
    try:
        attempt = _Attempt(task, session, bundle, model, log, temperature, seed)
        closed = attempt.open()
        while closed is None:
            closed = await attempt.turn()
            for fact in log.drain():
                yield fact
    except (HarnessCrash, BadBundle) as crash:
        closed = _closed("harness_crash", "harness_error", str(crash))
    except ContextExceeded as full:
        closed = _closed("context_exceeded", "limit_context", str(full))
    except ModelUnavailable as gone:
        closed = _closed("model_unavailable", "infra_error", str(gone))
    for fact in log.drain():
        yield fact
    yield closed


class _Attempt:
    """The state of one run: who talks to whom."""

    def __init__(
        self,
        task: Task,
        session: Session,
        bundle: Bundle,
        model: Model,
        log: Transcript,
        temperature: float,
        seed: int,
    ) -> None:
        self.task = task
        self.session = session
        self.bundle = bundle
        self.spec = bundle.spec
        self.model = model
        self.log = log
        self.temperature = temperature
        self.seed = seed
        self.hooks = Hooks(load_middleware(bundle))
        self.state = State(task.prompt, session.tools, self.spec.loop.max_turns, self._probe)

    def open(self) -> TrajectoryClosed | None:
        """Set the conversation up: opening, worked examples, the task."""
        prompts = self.spec.prompts
        start = opening(self.bundle, self.session.tools)
        self.log.say(start.role, start.content, "harness")
        self._rendered(prompts.system, *self.spec.lessons)
        for message in examples(self.bundle):
            self.log.say(message.role, message.content, "harness", copied=True)
        self._rendered(*self.spec.examples)
        if self.spec.calls.constrained:
            self._rendered(CONSTRAINED)
        self.log.say("user", render(self.bundle, prompts.task, prompt=self.task.prompt), "task")
        answer = self._fire("before_agent", self.state)
        return _stopped(answer) if isinstance(answer, Terminate) else None

    async def turn(self) -> TrajectoryClosed | None:
        """One model reply and the call it holds; return how the attempt ended, if it did."""
        self.log.turn += 1
        self.state.turn = self.log.turn
        reply, author = await self._reply()
        if isinstance(reply, Terminate):
            return _stopped(reply)
        stopped = self._act(reply, author)
        if stopped is not None:
            return _stopped(stopped)
        if self.session.delivered is not None:
            self.log.delivered(self.session.delivered)
            return _closed("delivered", "success")
        if self.log.turn >= self.spec.loop.max_turns:
            return _closed("max_turns", "limit_steps")
        return None

    async def _reply(self) -> tuple[ModelReply | Terminate, Author]:
        """Ask the model, with the hooks around it; say also who wrote the reply."""
        calls = self.spec.calls
        request = ModelRequest(
            messages=tuple(self.log.messages),
            max_tokens=self.spec.loop.max_output_tokens,
            temperature=self.temperature,
            seed=(self.seed + self.log.turn) % 2**31,
            response_schema=reply_schema(self.session.tools, calls.argument_chars)
            if calls.constrained
            else None,
        )
        before = self._fire("before_model", request, self.state)
        if isinstance(before, Terminate):
            return before, "harness"
        if isinstance(before, ModelReply):
            self.log.say("assistant", before.text, "harness")
            return before, "harness"
        reply = await self.model.complete(before)
        self.log.answered(before, reply, self.model.name)
        after = self._fire("after_model", reply, self.state)
        if isinstance(after, ModelReply):
            self.log.say("assistant", after.text.strip(), "model")
        return after, "model"

    def _act(self, reply: ModelReply, author: Author) -> Terminate | None:
        """Make the call that a reply holds, with the hooks around it."""
        parsed = parse_call(reply.text)
        if parsed is None:
            self.log.say("user", render(self.bundle, self.spec.prompts.no_call), "harness")
            return None
        key = self.log.called(parsed, author)
        before = self._fire("before_tool", parsed.call, self.state)
        match before:
            case Terminate():
                return before
            case Block():
                self.log.returned(key, Observation(before.text, "blocked"), before.text)
                self.log.say("user", before.text, "harness")
                return None
            case Observation():
                observation, call = before, parsed.call
            case _:
                call = before
                observation = self.session.call(call)
        self.state.steps.append(Step(call, observation))
        if self.session.delivered is not None:
            self.log.returned(key, observation, None)
            return None
        view: Any = None
        try:
            view = self._fire("after_tool", self._view(observation), call, self.state)
        finally:  # the environment did answer, whatever the component does then
            self.log.returned(key, observation, view if isinstance(view, str) else None)
        if isinstance(view, Terminate):
            return view
        self.log.say("user", view, "environment")
        return None

    def _fire(self, hook: Hook, value: Any, *context: object) -> Any:  # noqa: ANN401
        """Pass `value` through a hook; what ran is noted even when a component crashes."""
        try:
            return self.hooks.fire(hook, value, *context)
        finally:
            self.log.fired(self.hooks.drain())

    def _view(self, observation: Observation) -> str:
        limit = self.spec.loop.tool_output_chars
        text = observation.text
        if len(text) > limit:
            text = f"{text[:limit]}\n... cut after {limit} characters"
        return render(self.bundle, self.spec.prompts.result, text=text, ok=observation.ok)

    def _probe(self, call: Call) -> Observation:
        """Make a call for a component; the model sees neither call nor result."""
        key = self.log.called(plain_call(call), "harness", PROBE)
        observation = self.session.call(call)
        self.log.returned(key, observation, None)
        return observation

    def _rendered(self, *paths: str) -> None:
        self.log.fired([Firing(path, "render", "changed", "does") for path in paths])


def _stopped(stop: Terminate) -> TrajectoryClosed:
    return _closed(f"harness: {stop.reason}", "model_failure")


def _closed(raw: str, kind: TerminationClass, error: str | None = None) -> TrajectoryClosed:
    return TrajectoryClosed(termination_raw=raw, termination_class=kind, error=error)
