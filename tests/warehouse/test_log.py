"""The event log: one contract, kept by every implementation."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.warehouse.strategies import FACTS, TEXT, TIMES, batches, models, stream
from warehouse.errors import StreamConflict, UnknownEvent
from warehouse.events import FACT_TYPES, Event
from warehouse.events.base import Purpose
from warehouse.events.trajectory import Delivered
from warehouse.log import COMPACT_ABOVE_FILES, DeltaEventLog, EventLog, MemoryEventLog

MakeLog = Callable[[], EventLog]
ODD_TEXTS = {
    "nul": "before\0after",
    "crlf": "a\r\nb\rc\n",
    "emoji": "👩‍👩‍👧 🏳️‍🌈",
    "rtl": "\u202eabc\u202c \u05e9\u05dc\u05d5\u05dd",
    "bom": "\ufeffx",
    "escapes": "\x1b[31mred\x1b[0m \\u0000 \\ \" ' `",
    "noncharacters": "\ufffe\uffff\U0010ffff",
    "megabyte": "x\0é😀" * 131_072,
    "empty": "",
}


def said(*answers: str, stream_id: str = "s/x") -> list[Event]:
    return stream(stream_id, [Delivered(answer=answer) for answer in answers])


def answers(log: EventLog, stream_id: str | None = None) -> list[str]:
    return [event.fact.answer for event in log.read(stream_id)]


class TestContract:
    def test_an_empty_log_has_nothing(self, make_log: MakeLog):
        log = make_log()
        assert list(log.read()) == list(log.read("s/x")) == []
        assert log.head("s/x") == 0
        assert log.append([]) == 0

    def test_events_come_back_as_they_were(self, make_log: MakeLog):
        events = stream(
            "trajectory/t", [Delivered(answer="x")], line_id="l", round=3, purpose="anchor"
        )
        assert make_log().append(events) == 1
        assert list(make_log().read()) == events
        assert [e.event_id for e in make_log().read()] == [e.event_id for e in events]

    def test_events_are_taken_from_any_iterable(self, make_log: MakeLog):
        assert make_log().append(iter(said("a", "b"))) == 2

    def test_the_same_again_is_a_no_op(self, make_log: MakeLog):
        log = make_log()
        assert log.append(said("a", "b")) == 2
        assert log.append(said("a", "b")) == 0
        assert make_log().append(said("a", "b", "c")) == 1
        assert make_log().append([*said("a"), *said("a")]) == 0
        assert answers(make_log()) == ["a", "b", "c"]

    def test_the_same_twice_in_one_batch_is_one(self, make_log: MakeLog):
        assert make_log().append([*said("a"), *said("a", "b")]) == 2
        assert answers(make_log()) == ["a", "b"]

    def test_what_was_read_is_the_same_again(self, make_log: MakeLog):
        """A moment told in another time zone is the same fact, before and after storage."""
        here = datetime(2031, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
        event = dict(said("a")[0])
        assert make_log().append([Event(**event | {"occurred_at": here})]) == 1
        assert make_log().append(list(make_log().read())) == 0
        assert make_log().append([Event(**event | {"occurred_at": here.astimezone(UTC)})]) == 0

    def test_another_fact_at_a_held_position_is_a_conflict(self, make_log: MakeLog):
        make_log().append(said("a", "b"))
        with pytest.raises(StreamConflict, match=r"'s/x' .*'delivered' fact at position 1"):
            make_log().append(said("a", "other"))
        assert answers(make_log()) == ["a", "b"]

    def test_the_same_fact_at_another_time_is_a_conflict(self, make_log: MakeLog):
        make_log().append(said("a"))
        later = said("a")[0].model_copy(update={"occurred_at": datetime(2032, 1, 1, tzinfo=UTC)})
        with pytest.raises(StreamConflict):
            make_log().append([later])

    def test_two_facts_for_one_position_in_a_batch_conflict(self, make_log: MakeLog):
        with pytest.raises(StreamConflict):
            make_log().append([*said("a"), *said("b")])
        assert answers(make_log()) == []

    @pytest.mark.parametrize("position", [1, 2, -1, -7])
    def test_gaps_are_refused(self, make_log: MakeLog, position: int):
        event = said("a")[0].model_copy(update={"position": position})
        with pytest.raises(StreamConflict, match=f"gap: position {position} without"):
            make_log().append([event])
        assert answers(make_log()) == []

    def test_a_gap_inside_a_batch_is_refused(self, make_log: MakeLog):
        one, _, three = said("a", "b", "c")
        with pytest.raises(StreamConflict, match="gap: position 2 without 1"):
            make_log().append([one, three])

    def test_a_refused_batch_leaves_nothing(self, make_log: MakeLog):
        make_log().append(said("a"))
        with pytest.raises(StreamConflict):
            make_log().append([*said("new", stream_id="s/y"), *said("other")])
        assert [e.stream_id for e in make_log().read()] == ["s/x"]

    def test_order_is_by_stream_and_position(self, make_log: MakeLog):
        names = ["s/b", "s/a", "s/é", "s/Z", "s/😀", "s/a/b", "s/\uffff"]
        for name in names:
            make_log().append(list(reversed(said(*map(str, range(12)), stream_id=name))))
        read = [(e.stream_id, e.position) for e in make_log().read()]
        assert read == [(name, i) for name in sorted(names) for i in range(12)]

    def test_one_stream_is_read_alone(self, make_log: MakeLog):
        make_log().append([*said("a", stream_id="s/x"), *said("b", stream_id="s/x/y")])
        assert answers(make_log(), "s/x") == ["a"]
        assert answers(make_log(), "s/x/y") == ["b"]
        assert answers(make_log(), "s") == answers(make_log(), "") == []

    def test_begun_are_the_streams_that_hold_a_fact(self, make_log: MakeLog):
        make_log().append([*said("a", stream_id="s/x"), *said("b", stream_id="s/y")])
        asked = ["s/x", "s/z", "s/x", "s/' or 1=1 --", ""]
        assert make_log().begun(asked) == {"s/x"}
        assert make_log().begun([]) == set()

    def test_head_is_the_next_free_position(self, make_log: MakeLog):
        make_log().append([*said("a", "b"), *said("c", stream_id="s/y")])
        heads = [make_log().head(name) for name in ("s/x", "s/y", "s/z", "s/' or 1=1 --")]
        assert heads == [2, 1, 0, 0]

    @pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
    def test_text_survives_byte_for_byte(self, make_log: MakeLog, text: str):
        make_log().append(said(text, stream_id="s/" + text[:100]))
        assert answers(make_log()) == [text]
        assert answers(make_log(), "s/" + text[:100]) == [text]

    def test_a_surrogate_half_does_not_stop_its_batch(self, make_log: MakeLog):
        assert make_log().append(said("fine", "half \ud83d")) == 2
        assert make_log().append(said("fine", "half \ufffd")) == 0


@contextmanager
def delta_log() -> Iterator[MakeLog]:
    with tempfile.TemporaryDirectory() as folder:
        yield lambda: DeltaEventLog(Path(folder) / "events")


def memory_log():
    log = MemoryEventLog()
    return nullcontext(lambda: log)


BOTH = pytest.mark.parametrize("opened", [memory_log, delta_log])


@BOTH
def test_any_batching_and_interleaving_gives_the_same_log(opened):
    streams = st.lists(st.lists(st.builds(Delivered, answer=TEXT), max_size=6), max_size=4)

    @settings(max_examples=15)
    @given(st.data(), streams)
    def holds(data, facts):
        events = [stream(f"s/{i}", some) for i, some in enumerate(facts)]
        whole = [event for some in events for event in some]
        with opened() as make_log:
            new = [make_log().append(batch) for batch in data.draw(batches(events))]
            assert sum(new) == len(whole)
            assert list(make_log().read()) == whole
            heads = [make_log().head(f"s/{i}") for i in range(len(events))]
            assert heads == [len(some) for some in events]

    holds()


@BOTH
def test_every_fact_is_read_back_by_its_id(opened):
    envelope = {
        "occurred_at": st.none() | TIMES,
        "line_id": st.none() | TEXT,
        "round": st.none() | st.integers(-(2**31), 2**31 - 1),
        "purpose": st.none() | st.sampled_from(Purpose.__args__),
    }
    facts = st.tuples(*map(models, FACT_TYPES))

    @settings(max_examples=10)
    @given(facts, st.fixed_dictionaries(envelope))
    def holds(facts, context):
        events = [e.model_copy(update=context) for e in stream("trajectory/t", facts)]
        events = [Event(**dict(e)) for e in events]  # validated, as everybody else's
        with opened() as make_log:
            assert make_log().append(events) == len(FACT_TYPES)
            read = list(make_log().read("trajectory/t"))
            # Ids cover every field, also NaN, which does not equal itself.
            assert [e.event_id for e in read] == [e.event_id for e in events]
            assert [type(e.fact) for e in read] == list(FACT_TYPES)
            assert make_log().append(read) == 0

    holds()


@settings(max_examples=20)
@given(st.lists(FACTS, min_size=1, max_size=5))
def test_stored_ids_are_the_ids_of_what_is_read(facts):
    with delta_log() as make_log:
        make_log().append(stream("s/x", facts))
        stored = pq.read_table(make_log().files()).sort_by("position")["event_id"].to_pylist()
        assert stored == [event.event_id for event in make_log().read()]


class TestDelta:
    """What only the log on disk has: files, versions, commits."""

    def test_a_batch_is_one_commit_and_a_no_op_is_none(self, tmp_path: Path):
        log = DeltaEventLog(tmp_path / "events")
        assert log.version() == 0
        log.append(said(*"abc"))
        assert log.version() == 1
        assert len(log.files()) == 1
        log.append(said(*"abc"))
        assert log.version() == 1

    def test_the_clock_stamps_what_is_recorded(self, tmp_path: Path, clock):
        log = DeltaEventLog(tmp_path / "events", clock)
        log.append(said("a"))
        assert pq.read_table(log.files())["recorded_at"].to_pylist() == [clock.now]

    def test_nothing_can_be_taken_back(self, tmp_path: Path):
        DeltaEventLog(tmp_path / "events").append(said("a"))
        with pytest.raises(Exception, match="append"):
            DeltaTable(str(tmp_path / "events")).delete()

    def test_many_small_files_are_merged_on_the_way(self, tmp_path: Path):
        log = DeltaEventLog(tmp_path / "events")
        texts = [str(i) for i in range(COMPACT_ABOVE_FILES + 2)]
        held: list[str] = []
        for event in said(*texts):
            log.append([event])
            held = held if len(held) == 10 else log.files()
        assert len(log.files()) < 5
        assert answers(log) == texts
        assert all(Path(file).exists() for file in held)  # a reader that holds them finishes

    def test_compacting_changes_no_fact(self, tmp_path: Path):
        log, other = DeltaEventLog(tmp_path / "events"), DeltaEventLog(tmp_path / "events")
        for event in said(*"abc"):
            log.append([event])
        log.compact()
        assert len(log.files()) == len(other.files()) == 1
        assert answers(other) == [*"abc"]
        assert other.append(said(*"abcd")) == 1

    def test_two_open_logs_see_each_other(self, tmp_path: Path):
        one, two = DeltaEventLog(tmp_path / "events"), DeltaEventLog(tmp_path / "events")
        one.append(said("a"))
        assert two.head("s/x") == 1
        two.append(said("a", "b"))
        assert answers(one) == ["a", "b"]
        with pytest.raises(StreamConflict):
            one.append(said("a", "c"))

    def test_an_event_of_a_newer_release_is_named(self, tmp_path: Path):
        log = DeltaEventLog(tmp_path / "events")
        log.append(stream("s/x", [Delivered(answer="a").model_copy(update={"version": 7})]))
        with pytest.raises(UnknownEvent, match="'delivered' version 7"):
            list(log.read())

    @pytest.mark.parametrize(
        "folder", ["a b", "ü 😀", "100%", "a'b", "kind=x", "a#b&c+d?", "{x,y}"]
    )
    def test_any_folder_holds_a_log(self, tmp_path: Path, folder: str):
        log = DeltaEventLog(tmp_path / folder / "events")
        log.append(said("a"))
        log.append(said("a", "b"))
        assert all(Path(file).is_file() for file in log.files())
        events = list(DeltaEventLog(tmp_path / folder / "events").read())
        assert [event.fact.kind for event in events] == ["delivered", "delivered"]
