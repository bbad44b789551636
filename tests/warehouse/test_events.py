"""Facts and events: what is written is read back, ids are content, old versions are lifted."""

import json
import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.warehouse.strategies import FACTS, TIMES, models
from warehouse.errors import UnknownEvent
from warehouse.events import FACT_TYPES, UPCASTERS, Event, Stream, read_fact
from warehouse.events.batch import DiagnosisMade
from warehouse.events.line import CandidateJudged
from warehouse.events.trajectory import Delivered, MessageAdded, Scored
from warehouse.ids import canonical_json

NOON = datetime(2031, 1, 1, 12, tzinfo=UTC)
every_fact = pytest.mark.parametrize("cls", FACT_TYPES, ids=lambda cls: cls.__name__)


def event(fact, **given) -> Event:
    return Event(**{"stream_id": "s/x", "position": 0, "occurred_at": NOON, "fact": fact, **given})


def turned(value):
    """Return a JSON value with the keys of every object in the opposite order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(item) for item in value] if isinstance(value, list) else value


def spelled(fact) -> str:
    """Return a fact's text, in which NaN equals itself and 1, 1.0 and True differ."""

    def settled(value):
        if isinstance(value, dict):
            return sorted((key, settled(item)) for key, item in value.items())
        return [type(value), *map(settled, value)] if isinstance(value, list | tuple) else value

    return repr(settled(fact.model_dump()))


def again(fact):
    """Return the fact that is read from what is written for `fact`."""
    written = event(fact)
    return read_fact(written.fact.kind, written.fact.version, written.payload)


def test_kinds_are_named_after_their_classes():
    snake = {
        cls: "".join(f"_{c.lower()}" if c.isupper() else c for c in cls.__name__)[1:]
        for cls in FACT_TYPES
    }
    assert snake == {cls: cls.model_fields["kind"].default for cls in FACT_TYPES}


@every_fact
def test_what_is_written_is_read_back(cls):
    @settings(max_examples=25)
    @given(models(cls))
    def holds(fact):
        assert spelled(again(fact)) == spelled(fact)

    holds()


@every_fact
def test_payload_is_standard_json_without_the_tags_that_have_columns(cls):
    @settings(max_examples=10)
    @given(models(cls))
    def holds(fact):
        def refuse(constant):
            raise AssertionError(f"{constant} is no JSON")

        body = json.loads(event(fact).payload, parse_constant=refuse)
        assert body.keys() == cls.model_fields.keys() - {"kind", "version"}

    holds()


@every_fact
def test_id_does_not_depend_on_the_order_of_fields(cls):
    @settings(max_examples=10)
    @given(models(cls))
    def holds(fact):
        body = json.dumps(turned(json.loads(event(fact).payload)))
        assert event(read_fact(fact.kind, fact.version, body)).event_id == event(fact).event_id

    holds()


@every_fact
def test_id_changes_with_every_field(cls):
    @settings(max_examples=25)
    @given(models(cls), models(cls))
    def holds(fact, other):
        mine, theirs = fact.model_dump(mode="json"), other.model_dump(mode="json")
        for name in mine:
            mixed = fact.model_copy(update={name: getattr(other, name)})
            same = canonical_json(mine[name]) == canonical_json(theirs[name])
            assert (event(mixed).event_id == event(fact).event_id) == same, name

    holds()


@given(FACTS, FACTS)
def test_facts_of_other_kinds_have_other_ids(one, other):
    if one.kind != other.kind:
        assert event(one).event_id != event(other).event_id


@pytest.mark.parametrize(
    "changed",
    [
        {"stream_id": "s/y"},
        {"position": 1},
        {"occurred_at": NOON + timedelta(microseconds=1)},
        {"occurred_at": None},
        {"trajectory_id": "t"},
        {"line_id": "l"},
        {"round": 0},
        {"purpose": "collect"},
    ],
    ids=str,
)
def test_id_changes_with_the_envelope(changed):
    fact = Delivered(answer="x")
    assert event(fact, **changed).event_id != event(fact).event_id


def test_id_is_pinned():
    fact = MessageAdded(turn=0, role="user", role_raw="user", author="task", content="é")
    held = event(fact, stream_id="trajectory/t", trajectory_id="t", purpose="collect")
    assert held.event_id == "b2:f97824af539fab213f8309dd77c333f1"


@given(TIMES)
def test_one_moment_has_one_id_in_every_time_zone(time):
    here = event(Delivered(answer="x"), occurred_at=time)
    there = event(Delivered(answer="x"), occurred_at=time.astimezone(timezone(timedelta(hours=-7))))
    assert here.event_id == there.event_id
    assert here.occurred_at == time.astimezone(UTC)
    assert here.occurred_at.tzinfo == UTC


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(ValidationError, match="timezone"):
        event(Delivered(answer="x"), occurred_at=datetime(2031, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("written", "kept"),
    [("a\ud83db", "a\ufffdb"), ("\udcb2", "\ufffd"), ("\ud83d\ude00", "😀"), ("é😀", "é😀")],
)
def test_surrogate_halves_are_kept_as_text(written, kept):
    held = event(Delivered(answer=written))
    assert again(held.fact) == Delivered(answer=kept)
    assert held.event_id == event(Delivered(answer=kept)).event_id


def test_numbers_keep_their_kind_in_figures():
    judged = CandidateJudged(
        candidate_id="c",
        accepted=True,
        retained=False,
        outcome="accepted",
        reason="",
        policy="strict",
        figures={"a": math.nan, "b": -math.inf, "c": 1, "d": 1.0, "e": True, "f": None, "g": "x"},
    )
    assert list(map(repr, again(judged).figures.values())) == "nan -inf 1 1.0 True None 'x'".split()


def test_free_form_fields_keep_the_names_of_non_finite_numbers():
    made = DiagnosisMade(
        harness_id="h",
        weights_id="w",
        split="development",
        lever="done",
        branch="b",
        reason="",
        next_command="",
        figures={"sigma": math.nan, "bounds": [-math.inf, 1.0]},
    )
    assert again(made).figures == {"sigma": "NaN", "bounds": ["-Infinity", 1.0]}


@pytest.mark.parametrize(
    ("kind", "version", "body", "named"),
    [
        ("dreamt", 1, {"answer": "x"}, "'dreamt' version 1"),
        ("delivered", 2, {"answer": "x"}, "'delivered' version 2"),
        ("delivered", 0, {"answer": "x"}, "'delivered' version 0"),
        ("delivered", 1, {"answer": "x", "mood": "good"}, "'mood'"),
        ("delivered", 1, {}, "'answer'"),
        ("delivered", 1, {"answer": 3}, "'answer'"),
    ],
    ids=["kind", "newer", "older", "unknown field", "missing field", "type"],
)
def test_what_no_reader_knows_is_named(kind, version, body, named):
    with pytest.raises(UnknownEvent, match=named) as caught:
        read_fact(kind, version, json.dumps(body))
    assert "newer release" in str(caught.value)


def test_a_fact_of_another_version_cannot_be_made():
    """It could be written and never be read again."""
    with pytest.raises(ValidationError, match="this release knows version 1"):
        Delivered(version=2, answer="x")


def test_old_versions_are_lifted_step_by_step(monkeypatch):
    monkeypatch.setitem(
        UPCASTERS, ("scored", -1), lambda b: {"by": b["judge"], "value": b["value"]}
    )
    monkeypatch.setitem(
        UPCASTERS, ("scored", 0), lambda b: {"scorer": b["by"], "value_num": b["value"]}
    )
    lifted = Scored(scorer="s", value_num=0.5)
    assert read_fact("scored", -1, '{"judge": "s", "value": 0.5}') == lifted
    assert read_fact("scored", 0, '{"by": "s", "value": 0.5}') == lifted
    assert read_fact("scored", 1, '{"scorer": "s", "value_num": 0.5}') == lifted


def test_a_lift_that_forgets_a_field_is_told(monkeypatch):
    monkeypatch.setitem(UPCASTERS, ("delivered", 0), lambda body: {})
    with pytest.raises(UnknownEvent, match="'answer'"):
        read_fact("delivered", 0, '{"text": "x"}')


def test_stream_numbers_from_its_start_and_carries_its_context(clock):
    events = Stream("trajectory/t", clock, start=3, line_id="l", round=2, purpose="anchor")
    one, two = events.all([Delivered(answer="1"), Delivered(answer="2")])
    assert [one.position, two.position, events.position] == [3, 4, 5]
    assert one.occurred_at < two.occurred_at
    context = one.model_dump(include={"trajectory_id", "line_id", "round", "purpose"})
    assert context == {"trajectory_id": "t", "line_id": "l", "round": 2, "purpose": "anchor"}


def test_only_trajectory_streams_name_a_trajectory(clock):
    assert Stream("source/abc/d", clock).add(Delivered(answer="")).trajectory_id is None
    assert Stream("trajectory/a/b", clock).add(Delivered(answer="")).trajectory_id == "a/b"


@given(st.sampled_from(FACT_TYPES).flatmap(models))
def test_facts_cannot_be_edited(fact):
    with pytest.raises(ValidationError, match="frozen"):
        fact.kind = "other"
