"""OpenAI-style chat: rows with `messages`, or with `prompt` and `completion` (verifiers, prime-rl).

Kept as columns: roles, text, reasoning, tool calls with their results, tools, ids, reward and
metrics, how it ended. Everything else of a row stays in `extra`, as JSON text.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from pipelines.formats.reader import Reader, Record
from warehouse.events.base import Fact
from warehouse.events.source import IssueNoted
from warehouse.events.trajectory import (
    ArgumentsState,
    ContentState,
    MessageAdded,
    PairingRule,
    Role,
    Scored,
    TerminationClass,
    ToolCalled,
    ToolReturned,
    TrajectoryClosed,
    TrajectoryOpened,
)

_TASK_KEYS = ("task_id", "example_id", "task")
_ID_KEYS = ("trajectory_id", "id", "uuid")
_REWARD_KEYS = ("reward", "score")
_TOOLS_KEYS = ("tools", "tool_defs")
_REASONING_KEYS = ("reasoning_content", "reasoning")


def recognizes(record: Any) -> bool:  # noqa: ANN401
    """Whether a record holds a conversation: objects with a role under `messages` or `prompt`."""
    if not isinstance(record, dict):
        return False
    talk = record.get("messages", record.get("prompt"))
    return isinstance(talk, list) and bool(talk) and all(_is_message(m) for m in talk)


def read(record: dict[str, Any], location: str) -> Record:
    """Return one row as facts."""
    issues: list[IssueNoted] = []
    rest = dict(record)
    talk = _Talk(issues, location)
    for message in _messages(rest):
        talk.add(message)
    talk.close_turn()
    tools = next((rest.pop(k) for k in _TOOLS_KEYS if record.get(k) is not None), None)
    model = rest.pop("model") if isinstance(record.get("model"), str) else None
    ending = list(_ending(rest, issues, location))
    opened = TrajectoryOpened(
        source="import",
        format="chat",
        task_id=_first(record, _TASK_KEYS),
        native_id=_first(record, _ID_KEYS),
        model=model,
        tools=None if tools is None else _text(tools),
        extra=_text(rest) if rest else None,
    )
    return Record(opened, [*talk.facts, *ending], issues)


READER = Reader("chat", recognizes, read)


class _Talk:
    """Turns messages into facts; pairs each result with a call of the same turn."""

    def __init__(self, issues: list[IssueNoted], location: str) -> None:
        self.facts: list[Fact] = []
        self._issues = issues
        self._location = location
        self._turn = 0
        self._n_calls = 0
        self._made: list[ToolCalled] = []  # in this turn
        self._open: list[ToolCalled] = []

    def add(self, message: Mapping[str, Any]) -> None:
        """Add one message with the calls it makes, or the result it is."""
        role = str(message["role"])
        if role == "assistant":
            self.close_turn()
            self._turn += 1
        text, state, parts = _content(message)
        rest = {key: value for key, value in message.items() if key not in {"role", "content"}}
        told = next((key for key in _REASONING_KEYS if isinstance(rest.get(key), str)), "")
        reasoning = rest.pop(told, None)
        calls = rest.pop("tool_calls") if isinstance(rest.get("tool_calls"), list) else []
        if rest.get("tool_calls"):
            self._note("error", "broken_call", f"no list of calls: {_cut(rest['tool_calls'])}")
        known: Role = role if role in get_args(Role) else "unknown"  # type: ignore[assignment]
        if known == "unknown":
            self._note("warning", "unknown_role", f"role {role!r} is kept as it is")
        self.facts.append(
            MessageAdded(
                turn=self._turn,
                role=known,
                role_raw=role,
                author="import",
                content=text,
                content_state=state,
                content_json=parts,
                reasoning=reasoning,
                extra=_text(rest) if rest else None,
            )
        )
        for call in calls:
            self._call(call)
        if role == "tool":
            self._result(message, text)

    def close_turn(self) -> None:
        """Leave the calls that nothing answered as they are: unanswered."""
        if self._open:
            names = ", ".join(call.name for call in self._open)
            self._note("warning", "unanswered_call", f"no result for {names}")
        self._open, self._made = [], []

    def _call(self, call: Any) -> None:  # noqa: ANN401
        function = call.get("function", call) if isinstance(call, dict) else {}
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            self._note("error", "broken_call", f"a tool call without a name: {_cut(call)}")
            return
        self._n_calls += 1
        raw, parsed, state = arguments(function)
        called = ToolCalled(
            turn=self._turn,
            call_key=f"call-{self._n_calls}",
            id_raw=_id(call.get("id")),
            name=function["name"],
            arguments_raw=raw,
            arguments_json=parsed,
            arguments_state=state,
            author="import",
        )
        self._open.append(called)
        self._made.append(called)
        self.facts.append(called)

    def _result(self, message: Mapping[str, Any], text: str | None) -> None:
        id_raw = _id(message.get("tool_call_id"))
        call, rule = self._paired(id_raw, message.get("name"))
        if call is None:
            self._note("warning", "orphan_result", f"no open call for result {id_raw!r}")
        else:
            self._open.remove(call)
        self.facts.append(
            ToolReturned(
                turn=self._turn,
                call_key=call.call_key if call else None,
                id_raw=id_raw,
                env_output=text,
                agent_view=text,
                ok=None,
                pairing_rule=rule,
            )
        )

    def _paired(
        self,
        id_raw: str | None,
        name: Any,  # noqa: ANN401
    ) -> tuple[ToolCalled | None, PairingRule]:
        """Return the open call of this turn that a result belongs to, and by which rule.

        An id or a name that several calls of the turn share tells nothing: then order decides.
        """
        if id_raw:
            same = [call for call in self._open if call.id_raw == id_raw]
            alone = sum(call.id_raw == id_raw for call in self._made) == 1
            return (same[0], "id" if alone else "position") if same else (None, "orphan")
        named = [call for call in self._open if call.name == name]
        alone = sum(call.name == name for call in self._made) == 1
        if named:
            return named[0], "name" if alone else "position"
        return (self._open[0], "position") if self._open else (None, "orphan")

    def _note(self, severity: str, code: str, message: str) -> None:
        self._issues.append(_issue(severity, code, self._location, message))


def arguments(function: Mapping[str, Any]) -> tuple[str | None, str | None, ArgumentsState]:
    """Return a call's arguments as (raw text, JSON text of the object, state)."""
    if "arguments" not in function:
        return None, None, "missing"
    given = function["arguments"]
    if given is None:
        return None, None, "null"
    if isinstance(given, dict):
        return _text(given), _text(given), "object"
    if not isinstance(given, str):
        return _text(given), None, "non_object"
    if not given.strip():
        return given, "{}", "empty"
    try:
        value = json.loads(given)
        doubled = isinstance(value, str)
        value = json.loads(value) if doubled else value
    except (ValueError, RecursionError):  # no JSON, or a number or nesting beyond all bounds
        return given, None, "unparsed"
    if not isinstance(value, dict):
        return given, None, "non_object"
    return given, _text(value), "string2" if doubled else "string"


def _messages(rest: dict[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a record's messages, and take what was read whole out of `rest`."""
    if "messages" in rest:
        yield from rest.pop("messages")
        return
    yield from rest.pop("prompt")
    completion = rest.get("completion")
    if isinstance(completion, str):
        yield {"role": "assistant", "content": rest.pop("completion")}
    elif isinstance(completion, list):
        yield from (m for m in completion if _is_message(m))
        if all(_is_message(m) for m in completion):
            del rest["completion"]


def _is_message(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, dict) and isinstance(value.get("role"), str)


def _content(message: Mapping[str, Any]) -> tuple[str | None, ContentState, str | None]:
    """Return (text, state, JSON text of the parts) of a message's content."""
    if "content" not in message:
        return None, "missing", None
    content = message["content"]
    if content is None:
        return None, "null", None
    if isinstance(content, str):
        return content, "text" if content else "empty", None
    parts = content if isinstance(content, list) else [content]
    texts = [p["text"] for p in parts if isinstance(p, dict) and isinstance(p.get("text"), str)]
    return "\n".join(texts), "parts" if parts else "empty", _text(content)


def _ending(rest: dict[str, Any], issues: list[IssueNoted], location: str) -> Iterator[Fact]:
    """Yield how the run ended and how it was scored; take what was read whole out of `rest`."""
    error = rest.pop("error") if rest.get("error") else None
    raw = rest.pop("stop_condition") if isinstance(rest.get("stop_condition"), str) else None
    kind: TerminationClass = "unknown"
    if error:
        kind = "infra_error"
    elif rest.get("is_truncated") is True:
        kind = "limit_tokens"
    elif rest.get("is_completed") is True:
        kind = "success"
    yield TrajectoryClosed(
        termination_raw=raw,
        termination_class=kind,
        error=error if isinstance(error, str) else _text(error) if error else None,
    )
    key = next((k for k in _REWARD_KEYS if _number(rest.get(k)) is not None), None)
    reward = _number(rest.pop(key)) if key else None
    if key and reward is not None:
        if not math.isfinite(reward):
            issues.append(_issue("warning", "non_finite_score", location, f"{key} is {reward}"))
        yield Scored(
            scorer="import",
            key=key,
            value_num=reward,
            trustworthy=not error and math.isfinite(reward),
        )
    metrics = rest.pop("metrics") if isinstance(rest.get("metrics"), dict) else {}
    for name, value in sorted(metrics.items()):
        number = _number(value)
        yield Scored(
            scorer="import",
            key=name,
            primary=False,
            value_num=number,
            value_text=value if isinstance(value, str) else None,
            value_json=_text(value) if number is None and not isinstance(value, str) else None,
        )


def _number(value: Any) -> float | None:  # noqa: ANN401
    if not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _id(value: Any) -> str | None:  # noqa: ANN401
    """Return an id as text; an empty one is none."""
    return str(value) if isinstance(value, str | int) and value != "" else None


def _first(record: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    return next((str(record[k]) for k in keys if isinstance(record.get(k), str | int)), None)


def _text(value: Any) -> str:  # noqa: ANN401
    return json.dumps(value, ensure_ascii=False)


def _cut(value: Any) -> str:  # noqa: ANN401
    return _text(value)[:120]


def _issue(severity: str, code: str, location: str, message: str) -> IssueNoted:
    return IssueNoted.model_validate(
        {"severity": severity, "code": code, "location": location, "message": message}
    )
