"""Quality suites: every bad row is named, and what cannot be evaluated is a failure."""

import polars as pl
import pytest

from warehouse.quality import Expectation, Suite, validate

# Great Expectations imports modules of the standard library that are on their way out.
pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

FRAME = pl.DataFrame(
    {
        "id": ["a", "b", "b", None],
        "n": [1, 20, None, -3],
        "text": ["fine", "sk-1", "ok", "sk-2"],
        "good": [True, False, True, True],
    }
)


def expect(name: str, kind: str, **arguments: object) -> Expectation:
    return Expectation(name, kind, arguments)


PRESENT = expect("the id is there", "ExpectColumnValuesToNotBeNull", column="id")
SMALL = expect("n is small", "ExpectColumnValuesToBeBetween", column="n", min_value=0, max_value=10)
UNIQUE = expect("the id is unique", "ExpectColumnValuesToBeUnique", column="id")
GOOD = expect("it is good", "ExpectColumnValuesToBeInSet", column="good", value_set=[True])
SECRET = expect("no key", "ExpectColumnValuesToNotMatchRegex", column="text", regex="sk-")


def test_every_bad_row_is_named_with_all_that_it_breaks():
    verdict = validate(FRAME, Suite("s", (PRESENT, SMALL, UNIQUE, GOOD, SECRET)))
    assert (verdict.suite, verdict.n_rows, verdict.batch) == ("s", 4, ())
    assert {row: sorted(names) for row, names in verdict.rows.items()} == {
        1: ["it is good", "n is small", "no key", "the id is unique"],
        2: ["the id is unique"],
        3: ["n is small", "no key", "the id is there"],
    }


def test_a_good_frame_breaks_nothing():
    verdict = validate(FRAME.head(1), Suite("s", (PRESENT, SMALL, UNIQUE, GOOD, SECRET)))
    assert (dict(verdict.rows), verdict.batch) == ({}, ())


def test_more_bad_rows_than_a_report_shows_are_all_named():
    many = pl.DataFrame({"id": [None if i % 2 else str(i) for i in range(1000)]})
    verdict = validate(many, Suite("s", (PRESENT,)))
    assert list(verdict.rows) == list(range(1, 1000, 2))


def test_rows_are_named_also_where_most_would_do():
    """An expectation that tolerates some bad rows still names them."""
    mostly = expect("n", "ExpectColumnValuesToNotBeNull", column="n", mostly=0.5)
    verdict = validate(FRAME, Suite("s", (mostly,)))
    assert (dict(verdict.rows), verdict.batch) == ({2: ["n"]}, ())


@pytest.mark.parametrize(
    "unsound",
    [
        expect("e", "ExpectColumnValuesToNotBeNull", column="nowhere"),
        expect("e", "ExpectColumnValuesToMatchRegex", column="text", regex="("),
    ],
    ids=["no such column", "no such regex"],
)
def test_what_cannot_be_evaluated_fails_the_batch(unsound: Expectation):
    verdict = validate(FRAME, Suite("s", (PRESENT, unsound)))
    assert verdict.batch == ("e (could not be evaluated)",)
    assert dict(verdict.rows) == {3: ["the id is there"]}


@pytest.mark.parametrize(("n_rows", "batch"), [(0, ("few",)), (2, ()), (4, ("few",))])
def test_what_points_at_no_row_fails_the_batch(n_rows: int, batch: tuple[str, ...]):
    few = expect("few", "ExpectTableRowCountToBeBetween", min_value=1, max_value=3)
    assert validate(FRAME.head(n_rows), Suite("s", (few,))).batch == batch


def test_an_empty_frame_has_no_bad_row():
    verdict = validate(FRAME.head(0), Suite("s", (PRESENT, SMALL, SECRET)))
    assert (verdict.n_rows, dict(verdict.rows), verdict.batch) == (0, {}, ())
