"""Content ids: the same content has the same id, and canonical text is standard JSON."""

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from tests.warehouse.strategies import JSON
from warehouse.ids import bare, bytes_id, canonical_json, content_id, files_id


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


@given(JSON)
def test_canonical_json_is_json_of_the_same_value(value):
    assert repr(json.loads(canonical_json({"v": value}))) == repr(
        json.loads(json.dumps({"v": value}, sort_keys=True))
    )


@given(st.recursive(st.floats(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_numbers_that_json_lacks_become_their_names(value):
    json.loads(canonical_json(value), parse_constant=refuse)


def test_names_of_non_finite_numbers():
    value = {"a": math.nan, "b": [math.inf, (-math.inf, 1.5)]}
    assert canonical_json(value) == '{"a":"NaN","b":["Infinity",["-Infinity",1.5]]}'


@given(st.dictionaries(st.text(), JSON), st.randoms(use_true_random=False))
def test_order_of_keys_does_not_matter(value, random):
    shuffled = list(value.items())
    random.shuffle(shuffled)
    assert content_id(dict(shuffled)) == content_id(value)


def test_ids_are_pinned():
    """An id outlives every release: a lake written today is read by ids computed then."""
    assert bytes_id(b"") == "b2:cae66941d9efbd404e4d88758ea67670"
    assert content_id({"b": [1, None, "é"], "a": 0.5}) == "b2:7ebb53a08bfe09c781a8c31678ea5b3d"


def test_files_have_one_id_in_any_order_and_another_when_one_moves():
    files = {"a.md": b"1", "b/c.md": b"2"}
    assert files_id(files) == files_id(dict(reversed(files.items())))
    assert files_id(files) != files_id({"a.md": b"2", "b/c.md": b"1"})
    assert files_id(files) != files_id({"a.md": b"1", "c.md": b"2"})


def test_bytes_that_are_no_text_still_have_ids():
    """File names may hold undecodable bytes; two of them are two names."""
    assert content_id("a\udcb2") != content_id("a\udcb3")


def test_bare_drops_the_tag():
    assert bare("b2:00ff") == "00ff"
    assert bare("00ff") == "00ff"
