"""What every environment offers: tasks, sessions with tools, a score, a reference, a baseline."""

import inspect
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, get_type_hints

import jsonschema
from pydantic import ConfigDict, create_model

from warehouse.events.trajectory import ScoreCheck

SPLITS = ("development", "held-out", "out-of-domain")


@dataclass(frozen=True, slots=True)
class Task:
    """One task as a harness may see it; the answer stays inside the environment.

    `content_id` is the hash of everything that defines the task, the hidden parts included.
    """

    task_id: str
    suite: str
    split: str
    family: str
    prompt: str
    content_id: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: a name and arguments as plain JSON values."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Observation:
    """What the environment answered; `error` is a short canonical code, None on success."""

    text: str
    error: str | None = None
    truncated: bool = False

    @property
    def ok(self) -> bool:
        """Whether the call did what it was asked."""
        return self.error is None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it: name, one-line description, JSON schema of its arguments.

    A tool that `delivers` hands in the answer and ends the task.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    delivers: bool = False

    def as_function(self) -> dict[str, Any]:
        """Return the tool in OpenAI's function format."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": dict(self.parameters),
            },
        }


@dataclass(frozen=True, slots=True)
class Score:
    """A score in [0, 1], higher is better, and the checks it was made of."""

    value: float
    checks: Sequence[ScoreCheck] = field(default_factory=tuple)


class Session(Protocol):
    """One attempt at one task. Calls with the same arguments in the same order give the same."""

    @property
    def tools(self) -> Sequence[ToolSpec]:
        """The tools, in the order they are shown."""
        ...

    @property
    def delivered(self) -> str | None:
        """The answer handed in, None before that."""
        ...

    def call(self, call: Call) -> Observation:
        """Run one call; a wrong call is an observation with an error, never an exception."""
        ...


class Environment(Protocol):
    """A world of tasks. Scoring reads a finished session and nothing else."""

    name: str
    version: str

    def tasks(self, split: str, limit: int | None = None) -> Sequence[Task]:
        """Return a split's tasks (the first `limit`), families in turn.

        Raises:
            BadInput: the split is not one of `SPLITS`, or holds fewer tasks than asked for.
        """
        ...

    def open(self, task: Task) -> Session:
        """Start a fresh session."""
        ...

    def score(self, session: Session) -> Score:
        """Judge a session; an undelivered one scores 0."""
        ...

    def reference(self, task: Task) -> Sequence[Call]:
        """Return calls that score 1.0: a proof that the task can be solved, never a prompt."""
        ...

    def baseline(self, task: Task, rng: random.Random) -> Sequence[Call]:
        """Return the calls of an agent that acts at random."""
        ...


def tool_spec(function: Callable[..., Any], *, delivers: bool = False) -> ToolSpec:
    """Derive a tool's schema from a typed function; its docstring's first line describes it."""
    hints = get_type_hints(function)
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in {"self", "session"}:
            continue
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], default)
    model = create_model(
        str(getattr(function, "__name__", "tool")), __config__=ConfigDict(extra="forbid"), **fields
    )
    schema = model.model_json_schema()
    for prop in schema.get("properties", {}).values():
        prop.pop("title", None)
    return ToolSpec(
        name=model.__name__,
        description=(inspect.getdoc(function) or "").partition("\n")[0].rstrip("."),
        parameters={
            "type": "object",
            "properties": schema.get("properties", {}),
            "required": schema.get("required", []),
            "additionalProperties": False,
        },
        delivers=delivers,
    )


def argument_problem(spec: ToolSpec, arguments: Mapping[str, Any]) -> str | None:
    """Return the first reason why `arguments` break the tool's schema, or None."""
    validator = jsonschema.Draft202012Validator(dict(spec.parameters))
    try:
        problem = jsonschema.exceptions.best_match(validator.iter_errors(dict(arguments)))
    except RecursionError:
        return "the arguments are nested too deeply"
    if problem is None:
        return None
    where = ".".join(str(part) for part in problem.absolute_path)
    return f"{where}: {problem.message}" if where else problem.message


def run_calls(session: Session, calls: Iterable[Call]) -> list[Observation]:
    """Run calls until one delivers; return what the environment answered to each."""
    seen: list[Observation] = []
    for call in calls:
        if session.delivered is not None:
            break
        seen.append(session.call(call))
    return seen
