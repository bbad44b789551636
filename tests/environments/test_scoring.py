"""docqa's scorer: what counts as the answer, and what does not."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from environments.base import Call, Score
from environments.docqa.scoring import WRONG_FORM, contains, plain, score
from environments.docqa.session import DocSession
from environments.docqa.world import CODE, NUMBER, WORDS, Draft
from tests.environments.contract import LAW

NUMBERS = st.integers(0, 9999).map(str)
NAMES = st.lists(
    st.from_regex(r"[A-Z][a-z]{1,8}", fullmatch=True), min_size=1, max_size=3
).map(" ".join)  # fmt: skip
OUTER = st.text(alphabet=" .,;:!?\"'\n\t", max_size=5)


def judged(gold: str, answer: str, form: str) -> Score:
    """Score an answer to a question that one line answers and that has been read."""
    session = DocSession(Draft({"a.txt": ["proof"]}, "?", gold, form, ["proof"], ["proof"]))
    session.call(Call("search", {"pattern": "proof"}))
    assert session.call(Call("submit", {"answer": answer})).ok
    return score(session)


def value(gold: str, answer: str, form: str = NUMBER) -> float:
    return judged(gold, answer, form).value


@LAW
@given(NAMES, OUTER, OUTER, st.data())
def test_the_answer_counts_in_any_case_and_dress(
    gold: str, before: str, after: str, data: st.DataObject
) -> None:
    dressed = data.draw(st.sampled_from([gold, gold.upper(), gold.lower(), gold.swapcase()]))
    got = judged(gold, before + dressed + after, WORDS)
    form = next(check.passed for check in got.checks if check.name == "form")
    assert got.value == (1.0 if form else WRONG_FORM)
    if not re.search(r"[^.\s]", before + after):
        assert got.value == (1.0 if not before.strip() else WRONG_FORM)


@LAW
@given(NUMBERS, OUTER, OUTER)
def test_a_number_counts_in_any_dress(gold: str, before: str, after: str) -> None:
    answer = before + gold + after
    assert value(gold, answer) == (1.0 if before.strip() + after.strip(". \n\t") == "" else 0.5)


@LAW
@given(NUMBERS, NUMBERS, st.sampled_from([" ", ", ", " or ", "/", "-", " - ", "\n"]), st.booleans())
def test_another_number_beside_the_answer_does_not_count(
    gold: str, rival: str, between: str, first: bool
) -> None:
    assume(gold != rival)
    answer = f"{gold}{between}{rival}" if first else f"{rival}{between}{gold}"
    assert value(gold, answer) == 0.0


@LAW
@given(NUMBERS, st.text("0123456789abcXYZ_", min_size=1, max_size=4), st.booleans())
def test_part_of_a_longer_word_or_number_does_not_count(gold: str, more: str, ahead: bool) -> None:
    answer = more + gold if ahead else gold + more
    assume(plain(answer) != gold)
    assert value(gold, answer) == 0.0


@LAW
@given(NAMES, st.from_regex(r"[a-z]{1,4}", fullmatch=True), st.booleans())
def test_part_of_a_longer_name_does_not_count(gold: str, more: str, ahead: bool) -> None:
    answer = more + gold if ahead else gold + more
    assume(gold.lower() not in re.split(r"\W", answer.lower()))
    assert value(gold, answer, WORDS) == 0.0


@LAW
@given(st.text(max_size=400), NUMBERS)
def test_an_answer_without_the_gold_scores_nothing(answer: str, gold: str) -> None:
    assume(gold not in plain(answer))
    assert value(gold, answer, CODE) == 0.0


@LAW
@given(st.text(max_size=200), NAMES | NUMBERS)
def test_a_score_is_one_of_three(answer: str, gold: str) -> None:
    got = judged(gold, answer, WORDS)
    passed = {check.name: check.passed for check in got.checks}
    assert got.value in {0.0, WRONG_FORM, 1.0}
    assert (got.value > 0) == passed["value"]
    assert got.value < 1.0 or passed["form"]


@LAW
@given(st.text(max_size=100))
def test_plain_text_stays_plain(text: str) -> None:
    assert plain(plain(text)) == plain(text)


@pytest.mark.parametrize(
    ("gold", "answer", "expected"),
    [
        ("12", "12", 1.0),
        ("12", " 12. ", 1.0),
        ("12", "It is 12", 0.5),
        ("12", "bay-12", 0.5),
        ("12", "１２", 1.0),  # noqa: RUF001 - full-width digits are digits
        ("12", "112", 0.0),
        ("12", "120", 0.0),
        ("12", "12.5", 0.0),
        ("12", "1.12", 0.0),
        ("12", "-12", 0.0),
        ("12", "- 12", 0.5),
        ("12", "012", 0.0),
        ("12", "12 of 30", 0.0),
        ("12", "1 2", 0.0),
        ("12", "twelve", 0.0),
        ("12", "", 0.0),
        ("12", "12 " * 50_000, 0.5),
        ("12", "x" * 200_000, 0.0),
        ("12", "0" * 200_000 + "12", 0.0),
    ],
)
def test_numbers_by_example(gold: str, answer: str, expected: float) -> None:
    assert value(gold, answer) == expected


@pytest.mark.parametrize(
    ("gold", "answer", "form", "expected"),
    [
        ("Oslo", "OSLO.", WORDS, 1.0),
        ("Oslo", "the city is Oslo", WORDS, 0.5),
        ("Oslo", "Oslo!", WORDS, 0.5),
        ("Oslo", "Oslos", WORDS, 0.0),
        ("Oslo", "Os lo", WORDS, 0.0),
        ("Ana Moss", "ana  moss", WORDS, 1.0),
        ("Ana Moss", "Ana", WORDS, 0.0),
        ("Ana Moss", "Moss Ana", WORDS, 0.0),
        ("v1.2.13", "V1.2.13", CODE, 1.0),
        ("v1.2.13", "v1.2.1", CODE, 0.0),
        ("v1.2.1", "v1.2.13", CODE, 0.0),
        ("v1.2.1", "v1.2.1.4", CODE, 0.0),
        ("v1.2.1", "1.2.1", CODE, 0.0),
        ("R/417", "R/417", r"R/\d+", 1.0),
        ("R/417", "r/417", r"R/\d+", 0.5),
        ("R/417", "417", r"R/\d+", 0.0),
        ("#/417", "#/417", r"#/\d+", 1.0),
        ("not stated", "Not stated.", r"\d+|not stated", 0.5),
        ("not stated", "not stated", r"\d+|not stated", 1.0),
        ("not stated", "stated", r"\d+|not stated", 0.0),
    ],
)
def test_words_by_example(gold: str, answer: str, form: str, expected: float) -> None:
    assert value(gold, answer, form) == expected


def test_contains_has_no_rivals_among_words() -> None:
    assert contains("Oslo, room 4", "Oslo")


def test_the_checks_say_what_was_wrong() -> None:
    draft = Draft({"a.txt": ["one", "two"]}, "?", "12", NUMBER, ["one", "two"], ["one", "two"])
    session = DocSession(draft)
    session.call(Call("search", {"pattern": "one"}))
    session.call(Call("submit", {"answer": "about 12"}))
    judgement = score(session)
    assert judgement.value == 0.5
    assert [(c.name, c.passed, c.detail) for c in judgement.checks] == [
        ("delivered", True, None),
        ("value", True, None),
        ("form", False, None),
        ("evidence_read", False, "1 of 2 proving lines were never shown"),
    ]


def test_unread_evidence_costs_nothing() -> None:
    session = DocSession(Draft({"a.txt": ["one"]}, "?", "12", NUMBER, ["one"], ["one"]))
    session.call(Call("submit", {"answer": "12"}))
    judgement = score(session)
    assert judgement.value == 1.0
    assert [c.passed for c in judgement.checks] == [True, True, True, False]
