"""What the harness tests share: bundles with a component, handmade documents, one rollout."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, TypeVar

import yaml
from hypothesis import settings
from hypothesis import strategies as st

from environments.base import Call, Task
from environments.docqa import DocQA
from environments.docqa.session import DocSession
from environments.docqa.world import NUMBER, Draft
from harness.bundle import MANIFEST, Bundle
from harness.calls import call_text
from harness.loop import run
from harness.messages import Model, ModelReply, ModelRequest
from harness.models.replay import ReplayModel
from warehouse.events.base import Fact
from warehouse.events.trajectory import HarnessFired, MessageAdded, TrajectoryClosed

LAW = settings(derandomize=True, deadline=None, max_examples=200)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)  # fmt: skip
SEED = Bundle.shipped("seed")
ENV = DocQA()
TASK = ENV.tasks("development", 1)[0]
NOON = datetime(2031, 1, 1, 12, tzinfo=UTC)

F = TypeVar("F", bound=Fact)


def component(name: str) -> str:
    """Return the source of a component that ships with the harness."""
    return (files("harness") / "components" / f"{name}.py").read_text(encoding="utf-8")


def with_middleware(
    source: str, parameters: Mapping[str, Any] | None = None, bundle: Bundle = SEED
) -> Bundle:
    """Return a bundle with one more component; a single word names a shipped one."""
    path = f"middleware/{source}.py" if source.isidentifier() else "middleware/own.py"
    while path in bundle.files:
        path = path.replace(".py", "_2.py")
    code = component(source) if source.isidentifier() else source
    part = {"file": path, "parameters": dict(parameters or {})}
    return with_spec(
        bundle.edited({path: code}),
        middleware=[*yaml.safe_load(bundle.text(MANIFEST)).get("middleware", []), part],
    )


def with_spec(bundle: Bundle, **fields: Any) -> Bundle:
    """Return a bundle whose `harness.yaml` has these fields; dictionaries are merged."""
    manifest = yaml.safe_load(bundle.text(MANIFEST))
    for name, value in fields.items():
        merge = isinstance(value, dict) and isinstance(manifest.get(name), dict)
        manifest[name] = {**manifest[name], **value} if merge else value
    return bundle.edited({MANIFEST: yaml.safe_dump(manifest, sort_keys=False)})


def handmade(
    lines: Sequence[str], question: str = "Where is Ana? Answer with the city only."
) -> tuple[Task, DocSession]:
    """Return a task over one short file, and a session of it."""
    draft = Draft({"a.txt": lines}, question, "42", NUMBER, [], [])
    return Task("handmade", "docqa", "development", "handmade", question, ""), DocSession(draft)


def calls(*made: tuple[str, Mapping[str, Any]]) -> list[str]:
    """Return model turns, one call each."""
    return [call_text(Call(name, arguments)) for name, arguments in made]


def search(pattern: str) -> str:
    """Return a model turn that searches."""
    return call_text(Call("search", {"pattern": pattern}))


def submit(answer: str) -> str:
    """Return a model turn that hands in an answer."""
    return call_text(Call("submit", {"answer": answer}))


class Recording(ReplayModel):
    """A replay that keeps what it was asked."""

    def __init__(self, *turns: str) -> None:
        super().__init__(turns, "none")
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        """See `Model.complete`."""
        self.requests.append(request)
        return await super().complete(request)


def rollout(
    bundle: Bundle,
    model: Model | Sequence[str],
    on: tuple[Task, DocSession] | None = None,
    seed: int = 1,
) -> list[Fact]:
    """Run one task under a bundle; a list of turns stands for a model that says them."""
    task, session = on or (TASK, ENV.open(TASK))
    speaks = Recording(*model) if isinstance(model, Sequence) else model

    async def facts() -> list[Fact]:
        found = run(task, session, bundle, speaks, temperature=0.0, seed=seed)
        return [fact async for fact in found]

    return asyncio.run(facts())


def of(kind: type[F], facts: Sequence[Fact]) -> list[F]:
    """Return the facts of one kind."""
    return [fact for fact in facts if isinstance(fact, kind)]


def closing(facts: Sequence[Fact]) -> tuple[str | None, str]:
    """Return how a rollout ended; it ends once, and last."""
    assert [isinstance(fact, TrajectoryClosed) for fact in facts].count(True) == 1
    closed = facts[-1]
    assert isinstance(closed, TrajectoryClosed)
    return closed.termination_raw, closed.termination_class


def fired(facts: Sequence[Fact], hook: str) -> list[tuple[str, str]]:
    """Return (effect, tag) of every firing at a hook."""
    return [(f.effect, f.tag) for f in of(HarnessFired, facts) if f.hook == hook]


def said(facts: Sequence[Fact], *authors: str) -> list[str]:
    """Return what was said by these authors, in order."""
    return [m.content or "" for m in of(MessageAdded, facts) if m.author in authors]


def as_json(facts: Sequence[Fact]) -> str:
    """Return facts as JSON text: what cannot be recorded raises here."""
    dumped = [fact.model_dump(mode="json") for fact in facts]
    return json.dumps(dumped, ensure_ascii=False, allow_nan=False)
