"""Hypothesis strategies for every fact, and for logs of them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic import BaseModel

from warehouse.events import FACT_TYPES, Event, Stream
from warehouse.events.base import Fact

TEXT = st.text(max_size=20) | st.sampled_from(
    ["", "\0", "a\r\nb", "👩‍👩‍👧", "\u202eabc\u202c", "null", '{"a": 1}', "it's", "\\u0000", "NaN"]
)
INT = st.integers(-(2**63), 2**63 - 1)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | INT | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
"""What a free-form field may hold; JSON has no NaN, so there it would read back as its name."""

_PLAIN = {str: TEXT, int: INT, float: st.floats(), bool: st.booleans(), type(None): st.none()}


def values_of(annotation: Any) -> st.SearchStrategy[Any]:
    """Return values of a field's type, unusual ones included."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return JSON
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if origin is Annotated:
        return values_of(arguments[0])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values_of, arguments))
    if origin is dict:
        return st.dictionaries(TEXT, values_of(arguments[1]), max_size=3)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return models(annotation)
    assert origin in {Union, UnionType}, annotation
    return st.one_of(*map(values_of, arguments))


def models(cls: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Return instances of a model with every field drawn, also those that have defaults."""
    fields = {
        name: values_of(field.annotation)
        for name, field in cls.model_fields.items()
        if name not in {"kind", "version"}
    }
    return st.builds(cls, **fields)


FACTS: st.SearchStrategy[Fact] = st.one_of(*map(models, FACT_TYPES))
TIMES = st.datetimes(
    min_value=datetime(1970, 1, 1),  # noqa: DTZ001 - Hypothesis wants naive bounds
    max_value=datetime(2100, 1, 1),  # noqa: DTZ001
    timezones=st.timezones(),
)


def stream(stream_id: str, facts: Sequence[Fact], **context: Any) -> list[Event]:
    """Return facts as the events of one stream, all of one moment."""
    events = Stream(stream_id, lambda: datetime(2031, 1, 1, tzinfo=UTC), **context)
    return list(events.all(facts))


@st.composite
def batches(draw: st.DrawFn, streams: Sequence[Sequence[Event]]) -> list[list[Event]]:
    """Return the streams' events, interleaved and cut into batches at random.

    A stream's events keep their order from batch to batch; inside a batch they may be in any.
    Some batches say again what an earlier one said.
    """
    left = [list(events) for events in streams if events]
    said: list[Event] = []
    cut: list[list[Event]] = []
    while left:
        batch: list[Event] = []
        for _ in range(draw(st.integers(1, 6))):
            if left:
                events = left[draw(st.integers(0, len(left) - 1))]
                batch.append(events.pop(0))
                left = [rest for rest in left if rest]
        again = draw(st.lists(st.sampled_from(said), max_size=2)) if said else []
        said += batch
        cut.append(draw(st.permutations([*batch, *again])))
    return cut
