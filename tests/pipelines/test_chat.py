"""A chat row becomes facts and nothing of it is lost, whatever shape it is in."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.formats import chat
from pipelines.formats.reader import Record
from warehouse.events import Stream
from warehouse.events.base import Fact
from warehouse.events.trajectory import (
    MessageAdded,
    Scored,
    ToolCalled,
    ToolReturned,
    TrajectoryClosed,
)

LAW = settings(derandomize=True, deadline=None, max_examples=150)


def read(**record: Any) -> Record:
    return chat.read({"messages": [{"role": "user", "content": "Go."}], **record}, "here:1")


def talk(*messages: dict[str, Any]) -> Record:
    return read(messages=list(messages))


def of(record: Record, kind: type[Fact]) -> list[Any]:
    return [fact for fact in record.facts if isinstance(fact, kind)]


def codes(record: Record) -> list[str]:
    return [issue.code for issue in record.issues]


def call(name: str, id: Any = None, arguments: Any = "{}") -> dict[str, Any]:
    made = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return made if id is None else {"id": id, **made}


def calling(*calls: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def result(text: str, **rest: Any) -> dict[str, Any]:
    return {"role": "tool", "content": text, **rest}


def pairs(record: Record) -> list[tuple[str | None, str | None, str]]:
    """Return (called tool, result, rule) of every result, in the order of the results."""
    names = {c.call_key: c.name for c in of(record, ToolCalled)}
    return [(names.get(r.call_key), r.env_output, r.pairing_rule) for r in of(record, ToolReturned)]


def test_an_id_pairs_inside_its_turn() -> None:
    record = talk(
        calling(call("find", "c0", '{"q": "red"}')),
        result("red: 3", tool_call_id="c0"),
        calling(call("look", "c0", '{"q": "blue"}')),
        result("blue: 5", tool_call_id="c0"),
    )
    assert pairs(record) == [("find", "red: 3", "id"), ("look", "blue: 5", "id")]
    assert len({c.call_key for c in of(record, ToolCalled)}) == 2


def test_results_in_the_order_of_completion_pair_by_id() -> None:
    record = talk(
        calling(call("slow", "a"), call("fast", "b")),
        result("fast done", tool_call_id="b"),
        result("slow done", tool_call_id="a"),
    )
    assert pairs(record) == [("fast", "fast done", "id"), ("slow", "slow done", "id")]


def test_an_id_that_two_calls_share_pairs_by_position_and_says_so() -> None:
    record = talk(
        calling(call("ls", "x"), call("pwd", "x")),
        result("a.txt", tool_call_id="x"),
        result("/w", tool_call_id="x"),
    )
    assert pairs(record) == [("ls", "a.txt", "position"), ("pwd", "/w", "position")]


@pytest.mark.parametrize("nothing", [None, ""])
def test_without_ids_the_name_pairs(nothing: str | None) -> None:
    record = talk(
        calling(call("ls", nothing), call("pwd", nothing)),
        result("/w", name="pwd", tool_call_id=nothing),
        result("a.txt", name="ls"),
    )
    assert pairs(record) == [("pwd", "/w", "name"), ("ls", "a.txt", "name")]


def test_a_result_without_an_id_goes_to_the_call_of_its_name() -> None:
    record = talk(calling(call("ls", "a"), call("pwd", "b")), result("/w", name="pwd"))
    assert pairs(record) == [("pwd", "/w", "name")]


def test_a_name_that_two_calls_share_pairs_by_position_and_says_so() -> None:
    record = talk(
        calling(call("ls"), call("ls")), result("one", name="ls"), result("two", name="ls")
    )
    assert [rule for _, _, rule in pairs(record)] == ["position", "position"]
    assert [r.call_key for r in of(record, ToolReturned)] == ["call-1", "call-2"]


def test_with_neither_id_nor_name_the_order_pairs() -> None:
    record = talk(calling(call("ls"), call("pwd")), result("one"), result("two"))
    assert pairs(record) == [("ls", "one", "position"), ("pwd", "two", "position")]


def test_ids_that_are_numbers_pair_too() -> None:
    record = talk(calling(call("ls", 0), call("pwd", 1)), result("/w", tool_call_id=1))
    assert pairs(record) == [("pwd", "/w", "id")]


def test_a_result_of_no_call_is_kept_as_an_orphan_and_noted() -> None:
    record = talk(
        calling(call("ls", "a")),
        result("a.txt", tool_call_id="a"),
        result("whose?", tool_call_id="zz"),
        result("again", tool_call_id="a"),
    )
    assert pairs(record)[1:] == [(None, "whose?", "orphan"), (None, "again", "orphan")]
    assert codes(record) == ["orphan_result", "orphan_result"]


def test_a_call_that_nothing_answers_is_noted_and_not_answered_by_a_later_turn() -> None:
    record = talk(
        calling(call("never", "c")), calling(call("ls")), result("late", tool_call_id="c")
    )
    assert pairs(record) == [(None, "late", "orphan")]
    assert codes(record) == ["unanswered_call", "orphan_result", "unanswered_call"]
    assert record.issues[0].message == "no result for never"
    assert record.issues[0].location == "here:1"


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ({"arguments": {"city": "Oslo"}}, ('{"city": "Oslo"}', '{"city": "Oslo"}', "object")),
        ({"arguments": {}}, ("{}", "{}", "object")),
        ({"arguments": '{"a":1}'}, ('{"a":1}', '{"a": 1}', "string")),
        ({"arguments": '"{\\"a\\":1}"'}, ('"{\\"a\\":1}"', '{"a": 1}', "string2")),
        ({"arguments": ""}, ("", "{}", "empty")),
        ({"arguments": " \n"}, (" \n", "{}", "empty")),
        ({"arguments": '{"cmd": "echo unfin'}, ('{"cmd": "echo unfin', None, "unparsed")),
        ({"arguments": '"half'}, ('"half', None, "unparsed")),
        ({"arguments": '"no object"'}, ('"no object"', None, "unparsed")),
        ({"arguments": '["Oslo"]'}, ('["Oslo"]', None, "non_object")),
        ({"arguments": "7"}, ("7", None, "non_object")),
        ({"arguments": ["Oslo"]}, ('["Oslo"]', None, "non_object")),
        ({"arguments": 7}, ("7", None, "non_object")),
        ({"arguments": None}, (None, None, "null")),
        ({}, (None, None, "missing")),
    ],
)
def test_the_state_of_arguments(function: dict[str, Any], expected: tuple[Any, ...]) -> None:
    assert chat.arguments(function) == expected


@pytest.mark.parametrize("text", ["[" * 100_000, "1" * 5_000, '{"a": ' + "1" * 5_000 + "}"])
def test_arguments_beyond_all_bounds_are_kept_unparsed(text: str) -> None:
    assert chat.arguments({"arguments": text}) == (text, None, "unparsed")


@pytest.mark.parametrize(
    ("message", "text", "state"),
    [
        ({"content": "Hi."}, "Hi.", "text"),
        ({"content": ""}, "", "empty"),
        ({"content": None}, None, "null"),
        ({}, None, "missing"),
        ({"content": []}, "", "empty"),
        (
            {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            "a\nb",
            "parts",
        ),
        ({"content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}, "", "parts"),
        ({"content": {"type": "text", "text": "a"}}, "a", "parts"),
    ],
)
def test_the_state_of_content(message: dict[str, Any], text: str | None, state: str) -> None:
    (added,) = of(talk({"role": "user", **message}), MessageAdded)
    assert (added.content, added.content_state) == (text, state)
    if "content" in message and not isinstance(message["content"], str | None):
        assert json.loads(added.content_json) == message["content"]


@pytest.mark.parametrize(
    ("message", "reasoning", "extra"),
    [
        ({"reasoning_content": "add"}, "add", {}),
        ({"reasoning": "add"}, "add", {}),
        ({"reasoning_content": None, "reasoning": "add"}, "add", {"reasoning_content": None}),
        ({"reasoning_content": "add", "reasoning": "more"}, "add", {"reasoning": "more"}),
        ({"reasoning": {"effort": "low"}}, None, {"reasoning": {"effort": "low"}}),
        ({"refusal": None}, None, {"refusal": None}),
    ],
)
def test_reasoning_is_found_where_it_is_and_nothing_beside_it_is_lost(
    message: dict[str, Any], reasoning: str | None, extra: dict[str, Any]
) -> None:
    (added,) = of(talk({"role": "assistant", "content": "4", **message}), MessageAdded)
    assert added.reasoning == reasoning
    assert json.loads(added.extra or "{}") == extra


def test_an_unknown_role_is_kept_and_noted() -> None:
    record = talk({"role": "narrator", "content": "Once."})
    (added,) = of(record, MessageAdded)
    assert (added.role, added.role_raw) == ("unknown", "narrator")
    assert codes(record) == ["unknown_role"]


def test_turns_count_the_assistant_s_replies() -> None:
    record = talk(
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        calling(call("ls")),
        result("x"),
        {"role": "assistant", "content": "done"},
    )
    assert [m.turn for m in of(record, MessageAdded)] == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("broken", ["all", 7, {"name": "ls"}, [None, "ls", {"function": {}}, {}]])
def test_calls_that_are_none_are_noted_and_the_message_stays(broken: Any) -> None:
    record = talk({"role": "assistant", "content": "x", "tool_calls": broken})
    assert of(record, ToolCalled) == []
    assert set(codes(record)) == {"broken_call"}
    assert len(of(record, MessageAdded)) == 1


@pytest.mark.parametrize(
    ("ending", "raw", "kind"),
    [
        ({}, None, "unknown"),
        ({"is_completed": True, "stop_condition": "done"}, "done", "success"),
        ({"is_completed": True, "is_truncated": True}, None, "limit_tokens"),
        ({"is_completed": True, "is_truncated": True, "error": "boom"}, None, "infra_error"),
        ({"is_completed": False, "is_truncated": False}, None, "unknown"),
        ({"status": "completed"}, None, "unknown"),
    ],
)
def test_how_it_ended(ending: dict[str, Any], raw: str | None, kind: str) -> None:
    (closed,) = of(read(**ending), TrajectoryClosed)
    assert (closed.termination_raw, closed.termination_class) == (raw, kind)


def test_an_error_is_kept_as_it_is_said() -> None:
    (closed,) = of(read(error={"type": "Timeout", "after_s": 9}), TrajectoryClosed)
    assert json.loads(closed.error) == {"type": "Timeout", "after_s": 9}
    (closed,) = of(read(error="sandbox reset failed"), TrajectoryClosed)
    assert closed.error == "sandbox reset failed"


@pytest.mark.parametrize(
    ("record", "value", "trustworthy"),
    [
        ({"reward": 1}, 1.0, True),
        ({"reward": 0.0}, 0.0, True),
        ({"reward": True}, 1.0, True),
        ({"score": 0.5}, 0.5, True),
        ({"reward": None, "score": 0.5}, 0.5, True),
        ({"reward": 0.0, "error": "sandbox reset failed"}, 0.0, False),
        ({"reward": float("inf")}, float("inf"), False),
        ({"reward": -(10**400)}, -float("inf"), False),
    ],
)
def test_a_reward_is_trusted_only_where_nothing_failed(
    record: dict[str, Any], value: float, trustworthy: bool
) -> None:
    (scored,) = of(read(**record), Scored)
    assert (scored.value_num, scored.trustworthy, scored.primary) == (value, trustworthy, True)


@pytest.mark.parametrize("record", [{}, {"reward": None}, {"reward": "1.0"}, {"error": "boom"}])
def test_an_absent_reward_is_no_score(record: dict[str, Any]) -> None:
    found = read(**record)
    assert of(found, Scored) == []
    assert json.loads(found.opened.extra or "{}") == {
        k: v for k, v in record.items() if k != "error"
    }


def test_a_reward_that_is_not_a_number_is_noted_and_not_averaged() -> None:
    record = read(reward=float("nan"))
    (scored,) = of(record, Scored)
    assert scored.value_num != scored.value_num
    assert scored.trustworthy is False
    assert codes(record) == ["non_finite_score"]


def test_metrics_are_scores_beside_the_reward_each_in_its_kind() -> None:
    metrics = {"correct": 1.0, "verdict": "good", "parts": [1, 2], "none": None, "flag": False}
    found = {s.key: s for s in of(read(metrics=metrics), Scored)}
    assert not any(s.primary for s in found.values())
    assert (found["correct"].value_num, found["flag"].value_num) == (1.0, 0.0)
    assert found["verdict"].value_text == "good"
    assert (found["parts"].value_json, found["none"].value_json) == ("[1, 2]", "null")


def test_ids_and_tasks_are_found_in_any_of_their_places() -> None:
    found = read(example_id=0, id="r1", model="m", tools=[{"type": "function"}]).opened
    assert (found.task_id, found.native_id, found.model) == ("0", "r1", "m")
    assert json.loads(found.tools or "") == [{"type": "function"}]
    assert read(tool_defs=[]).opened.tools == "[]"
    assert read(tools=None, tool_defs=[1]).opened.tools == "[1]"


def test_a_completion_follows_its_prompt() -> None:
    prompt = [{"role": "user", "content": "Go."}]
    for completion in ("Gone.", [{"role": "assistant", "content": "Gone."}]):
        record = chat.read({"prompt": prompt, "completion": completion}, "here:1")
        said = [(m.role, m.content) for m in of(record, MessageAdded)]
        assert said == [("user", "Go."), ("assistant", "Gone.")]
        assert record.opened.extra is None


@pytest.mark.parametrize(
    "record",
    [
        7,
        [],
        {},
        {"messages": []},
        {"messages": "hello"},
        {"messages": [{"content": "no role"}]},
        {"messages": [{"role": 7}]},
        {"messages": None, "prompt": [{"role": "user"}]},
        {"prompt": "Go.", "completion": "Gone."},
    ],
)
def test_what_is_no_conversation_is_not_recognized(record: Any) -> None:
    assert not chat.recognizes(record)


# Nothing is lost: from the facts the row can be rebuilt, and no row at all breaks the reader.

texts = st.text(max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
ids = st.sampled_from(["a", "b", "c"])
calls_made = st.builds(
    lambda name, id, function: (
        {"type": "function", "function": {"name": name, **function}} | ({"id": id} if id else {})
    ),
    texts,
    st.none() | ids,
    st.just({}) | st.fixed_dictionaries({"arguments": plain}),
)
content = st.just({}) | st.fixed_dictionaries({"content": plain.filter(lambda v: v != [])})
messages_said = st.builds(
    lambda role, content, calls, rest: (
        {**rest, "role": role, **content} | ({"tool_calls": calls} if calls is not None else {})
    ),
    st.sampled_from(["system", "user", "assistant", "tool", "odd"]),
    content,
    st.none() | st.lists(calls_made, max_size=3),
    st.dictionaries(
        st.sampled_from(["name", "tool_call_id", "reasoning", "reasoning_content", "x"]),
        plain,
        max_size=3,
    ),
)
known = st.sampled_from(
    "id example_id reward score metrics error stop_condition is_truncated is_completed model tools "
    "tool_defs completion info".split()
)
records = st.builds(
    lambda talk, rest: {**rest, "messages": talk},
    st.lists(messages_said, min_size=1, max_size=5),
    st.dictionaries(known, plain, max_size=5),
)


def rebuilt(record: Record) -> list[dict[str, Any]]:
    """Return the messages that the facts hold, in the shape of the source."""
    found: list[dict[str, Any]] = []
    for fact in record.facts:
        if isinstance(fact, MessageAdded):
            message = {**json.loads(fact.extra or "{}"), "role": fact.role_raw}
            if fact.reasoning is not None:
                message["reasoning_of"] = fact.reasoning
            if fact.content_state != "missing":
                parts = fact.content_json
                message["content"] = fact.content if parts is None else json.loads(parts)
            found.append(message)
        elif isinstance(fact, ToolCalled):
            function: dict[str, Any] = {"name": fact.name}
            raw = fact.arguments_raw
            if fact.arguments_state == "null":
                function["arguments"] = None
            elif fact.arguments_state != "missing":
                function["arguments"] = raw
            made = {"id": fact.id_raw, "function": function}
            found[-1].setdefault("tool_calls", []).append(made)
    return found


def comparable(message: dict[str, Any]) -> dict[str, Any]:
    """Return a source message as `rebuilt` can say it."""
    same = dict(message)
    key = next((k for k in ("reasoning_content", "reasoning") if isinstance(same.get(k), str)), "")
    if key:
        same["reasoning_of"] = same.pop(key)
    made = []
    for call in same.pop("tool_calls", []):
        function = dict(call["function"])
        if "arguments" in function and not isinstance(function["arguments"], str | None):
            function["arguments"] = json.dumps(function["arguments"], ensure_ascii=False)
        made.append({"id": call.get("id"), "function": function})
    return {**same, **({"tool_calls": made} if made else {})}


@LAW
@given(records)
def test_from_the_facts_the_row_can_be_rebuilt(source: dict[str, Any]) -> None:
    record = chat.read(json.loads(json.dumps(source)), "here:1")
    assert rebuilt(record) == [comparable(m) for m in source["messages"]]
    assert sum(1 for m in source["messages"] if m["role"] == "tool") == len(
        of(record, ToolReturned)
    )
    extra = json.loads(record.opened.extra or "{}")
    used = source.keys() - extra.keys() - {"messages"}
    assert extra == {key: source[key] for key in extra}
    (closed,) = of(record, TrajectoryClosed)
    scores = {s.key: s for s in of(record, Scored)}
    for key in used:
        value = source[key]
        if key in {"reward", "score"}:
            assert scores[key].value_num == value
        elif key == "metrics":
            assert set(value) <= scores.keys()
        elif key == "error":
            said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            assert closed.error == said
        elif key == "stop_condition":
            assert closed.termination_raw == value
        elif key == "model":
            assert record.opened.model == value
        else:
            assert key in {"tools", "tool_defs"}
            assert json.loads(record.opened.tools or "null") == value


@LAW
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from("content tool_calls tool_call_id name reasoning".split()), values
        ).map(lambda m: {**m, "role": "assistant"}),
        min_size=1,
        max_size=4,
    ),
    st.dictionaries(known, values, max_size=6),
)
def test_no_row_breaks_the_reader_or_the_log(
    talk: list[dict[str, Any]], rest: dict[str, Any]
) -> None:
    source = {**rest, "messages": talk}
    assert chat.recognizes(source)
    record = chat.read(source, "here:1")
    events = list(Stream("trajectory/x", lambda: None).all([record.opened, *record.facts]))
    assert all(event.event_id and event.payload for event in events)


@LAW
@given(records)
def test_every_result_is_paired_once_and_with_a_call_of_its_turn(source: dict[str, Any]) -> None:
    record = chat.read(source, "here:1")
    made = {c.call_key: c for c in of(record, ToolCalled)}
    answered = [r for r in of(record, ToolReturned) if r.call_key is not None]
    assert len({r.call_key for r in answered}) == len(answered)
    for found in answered:
        assert made[found.call_key].turn == found.turn
        assert found.pairing_rule in {"id", "name", "position"}
        if found.pairing_rule == "id":
            assert made[found.call_key].id_raw == found.id_raw
    unpaired = [r for r in of(record, ToolReturned) if r.call_key is None]
    assert {r.pairing_rule for r in unpaired} <= {"orphan"}
    assert codes(record).count("orphan_result") == len(unpaired)
