"""docqa under the environment contract, and what is docqa's own: tools, families, documents."""

import random
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments import ENVIRONMENTS, open_suite
from environments.base import SPLITS, Call, Environment, run_calls
from environments.docqa import SIZES, DocQA
from environments.docqa.families import FAMILIES, families_of
from environments.docqa.lexicon import DEPARTMENTS, DEPOTS, PEOPLE, THINGS, share
from environments.docqa.session import SHOWN_LINES, SHOWN_MATCHES, DocSession
from environments.docqa.world import LEVELS, NUMBER, Draft, Words, distractors, page, world_rng
from tests.environments.contract import LAW, EnvironmentContract
from warehouse.errors import BadInput


class TestContract(EnvironmentContract):
    checks = ("delivered", "value", "form", "evidence_read")

    def make(self, world: int) -> Environment:
        return DocQA(world)


def drafts(family: str, n: int, level: int = 1, split: str | None = None) -> list[Draft]:
    home = split or next(s for s in SPLITS if family in families_of(s))
    made = []
    for index in range(n):
        rng = world_rng(0, home, family, index)
        made.append(FAMILIES[family].make(rng, Words(rng, home), level))
    return made


def session(*lines: str, **files: Sequence[str]) -> DocSession:
    shown = {f"{name}.txt": text for name, text in files.items()} or {"a.txt": lines}
    return DocSession(Draft(shown, "?", "42", NUMBER, [], []))


class TestSuites:
    def test_a_suite_is_opened_by_name_and_world(self) -> None:
        assert open_suite("docqa").name == "docqa"
        assert open_suite("docqa@0").name == "docqa"
        assert open_suite("docqa@7").name == "docqa@7"

    @pytest.mark.parametrize("name", ["docqa@x", "docqa@-1", "docqa@1.5", "docqa@7@8"])
    def test_a_world_is_a_whole_number(self, name: str) -> None:
        with pytest.raises(BadInput, match="is no world seed"):
            open_suite(name)

    @pytest.mark.parametrize("name", ["", "tau", "DocQA", "@7"])
    def test_an_unknown_suite_names_the_known_ones(self, name: str) -> None:
        with pytest.raises(BadInput, match=r"not known.*docqa"):
            open_suite(name)

    def test_every_suite_opens(self) -> None:
        for name in ENVIRONMENTS:
            assert open_suite(name).name == name


class TestFamilies:
    @pytest.mark.parametrize("family", FAMILIES)
    def test_a_family_asks_in_at_least_three_forms(self, family: str) -> None:
        """Entities aside, a question is a form: what stays when names and numbers are masked."""
        forms = {form_of(draft) for draft in drafts(family, 60)}
        assert len(forms) >= 3

    @pytest.mark.parametrize("family", FAMILIES)
    def test_answers_vary(self, family: str) -> None:
        answers = {draft.answer for draft in drafts(family, 30)}
        assert len(answers) >= 4

    @pytest.mark.parametrize("family", FAMILIES)
    def test_levels_grow(self, family: str) -> None:
        """A higher level has longer documents."""
        lengths = [
            sum(len(lines) for draft in drafts(family, 10, level) for lines in draft.files.values())
            for level in LEVELS
        ]
        assert lengths == sorted(lengths)
        assert lengths[0] * 2 < lengths[-1]

    def test_distractors_grow_with_the_level(self) -> None:
        amounts = [distractors(level) for level in LEVELS]
        assert amounts == sorted(set(amounts))

    @pytest.mark.parametrize(
        ("family", "rival"),
        [
            ("directory", "extension"),
            ("ledger", "kEUR"),
            ("ticket", "is owned by|took over"),
            ("correction", "Headcount of"),
            ("two_hop", "is owned by"),
            ("formatted", "sits in room"),
            ("unstated", "parks in bay"),
            ("status_log", r"^\d\d:\d\d "),
            ("inventory", r"^\| [a-z]"),
            ("changelog", "repairs|mended"),
            ("settings_file", " = "),
            ("glossary", " rule "),
        ],
    )  # fmt: skip
    def test_rivals_of_the_answer_grow_with_the_level(self, family: str, rival: str) -> None:
        counts = [
            sum(
                re.search(rival, line) is not None
                for draft in drafts(family, 10, level)
                for lines in draft.files.values()
                for line in lines
            )
            for level in LEVELS
        ]
        assert counts[0] >= 20, "at least one rival beside every answer"
        assert counts == sorted(counts)
        assert counts[0] < counts[-1]

    @pytest.mark.parametrize("family", FAMILIES)
    @pytest.mark.parametrize("level", LEVELS)
    def test_the_proof_is_in_the_documents_and_the_route_shows_it(
        self, family: str, level: int
    ) -> None:
        for draft in drafts(family, 20, level):
            lines = [line for text in draft.files.values() for line in text]
            assert draft.evidence
            assert set(draft.evidence) <= set(lines)
            assert re.fullmatch(draft.form, draft.answer)
            attempt = DocSession(draft)
            assert all(attempt.call(Call("search", {"pattern": p})).ok for p in draft.route)
            assert set(draft.evidence) <= attempt.seen

    def test_every_level_occurs_in_every_family_of_every_split(self) -> None:
        """Level follows the index, so that a limit of three rounds has all of them."""
        for split in SPLITS:
            for family in families_of(split):
                sizes = [
                    max(len(text) for text in draft.files.values())
                    for draft in (
                        DocQA()._draft(f"docqa/{split}/{family}/{index}") for index in range(3)
                    )
                ]
                assert sizes == sorted(sizes)
                assert sizes[0] < sizes[-1]

    def test_sizes_are_whole_rounds_of_families(self) -> None:
        for split in SPLITS:
            assert SIZES[split] % len(families_of(split)) == 0

    def test_half_of_the_unstated_are_stated(self) -> None:
        stated = sum(draft.answer != "not stated" for draft in drafts("unstated", 60))
        assert 20 <= stated <= 40

    def test_extreme_has_a_single_winner(self) -> None:
        for draft in drafts("extreme", 30, 3):
            stock = [int(line.split("|")[3]) for line in draft.evidence]
            assert len(set(stock)) == len(stock)

    def test_count_counts_the_lines_of_its_service(self) -> None:
        for draft in drafts("count", 30, 3):
            (name,) = draft.route
            lines = [line for text in draft.files.values() for line in text if name in line]
            assert draft.answer == str(len(lines))

    def test_the_last_state_is_the_last_line_of_its_device(self) -> None:
        for draft in drafts("status_log", 30, 3):
            (device,) = draft.route
            lines = [line for line in draft.files["machines.log"] if f" {device} is " in line]
            assert lines[-1].endswith(f" is {draft.answer}")
            assert lines == sorted(lines), "times run forward"


def form_of(draft: Draft) -> str:
    masked = draft.question
    for known in sorted([*draft.route, draft.answer], key=len, reverse=True):
        masked = masked.replace(known.strip("| "), "…")
    masked = re.sub(r"\b(?:highest|lowest)\b|\w+-\d+|\b(?:R|ROOM|#)/", "…", masked)
    return re.sub(r"[\w-]*\d[\w-]*", "…", masked)


class TestLexicon:
    @pytest.mark.parametrize("pool", [PEOPLE, DEPARTMENTS, THINGS, DEPOTS])
    def test_splits_share_no_entity_and_cover_the_pool(self, pool: Sequence[str]) -> None:
        parts = [share(pool, split) for split in SPLITS]
        assert sorted(word for part in parts for word in part) == sorted(pool)
        assert sum(len(set(part)) for part in parts) == len(set(pool)) == len(pool)

    def test_every_name_of_a_person_is_known_to_every_split(self) -> None:
        for at in (0, 1):
            names = [{pair.split()[at] for pair in share(PEOPLE, split)} for split in SPLITS]
            assert names[0] == names[1] == names[2]

    @pytest.mark.parametrize("level", LEVELS)
    def test_a_page_keeps_its_lines_in_order(self, level: int) -> None:
        @LAW
        @given(st.integers(), st.lists(st.text(min_size=1), max_size=300))
        def law(seed: int, lines: list[str]) -> None:
            given = [f"{i} {line}" for i, line in enumerate(lines)]
            text = page(random.Random(seed), "TITLE", given, level)
            assert text[0] == "TITLE"
            assert [line for line in text if line in set(given)] == given

        law()


class TestTools:
    def test_scan_shows_every_file(self) -> None:
        shown = session(one=["a", "b", "c", "d"], two=["x"]).call(Call("scan", {})).text
        assert shown.splitlines() == [
            "one.txt: 4 lines", "one.txt:L1: a", "one.txt:L2: b", "one.txt:L3: c",
            "two.txt: 1 lines", "two.txt:L1: x",
        ]  # fmt: skip

    def test_search_is_a_substring_in_any_case(self) -> None:
        observation = session("Alpha", "beta", "ALPHABET").call(Call("search", {"pattern": "alph"}))
        assert observation.text.splitlines() == [
            "2 matches for 'alph':", "L1: Alpha", "L3: ALPHABET",
        ]  # fmt: skip
        assert not observation.truncated

    def test_search_reads_no_regular_expressions(self) -> None:
        docs = session("a.c", "abc")
        assert docs.call(Call("search", {"pattern": "a.c"})).text.splitlines()[1:] == ["L1: a.c"]
        assert docs.call(Call("search", {"pattern": "(["})).error == "no_match"

    def test_search_says_how_many_it_left_out(self) -> None:
        observation = session(*["x"] * 9).call(Call("search", {"pattern": " x "}))
        lines = observation.text.splitlines()
        assert lines[0] == "9 matches for 'x':"
        assert len(lines) == 1 + SHOWN_MATCHES + 1
        assert lines[-1] == f"... {9 - SHOWN_MATCHES} more"
        assert observation.truncated

    @pytest.mark.parametrize("pattern", ["", " ", "\n\t"])
    def test_an_empty_pattern_is_an_error(self, pattern: str) -> None:
        assert session("x").call(Call("search", {"pattern": pattern})).error == "empty_pattern"

    def test_read_lines_shows_a_range(self) -> None:
        docs = session(*"abcdefghijklmno")
        observation = docs.call(Call("read_lines", {"start": 2, "end": 4}))
        assert observation.text.splitlines() == ["L2: b", "L3: c", "L4: d"]
        assert not observation.truncated
        assert docs.seen == {"b", "c", "d"}

    def test_read_lines_stops(self) -> None:
        docs = session(*"abcdefghijklmno")
        observation = docs.call(Call("read_lines", {"start": 1, "end": 15}))
        lines = observation.text.splitlines()
        assert lines[-1] == f"... stopped after {SHOWN_LINES} lines"
        assert len(lines) == SHOWN_LINES + 1
        assert observation.truncated
        assert len(docs.seen) == SHOWN_LINES

    def test_read_lines_past_the_end_shows_the_rest(self) -> None:
        observation = session(*"abc").call(Call("read_lines", {"start": 3, "end": 99}))
        assert observation.text == "L3: c"
        assert not observation.truncated

    def test_a_whole_number_may_be_written_as_a_decimal(self) -> None:
        observation = session(*"abc").call(Call("read_lines", {"start": 1.0, "end": 2.0}))
        assert observation.text == "L1: a\nL2: b"

    @pytest.mark.parametrize(("start", "end"), [(0, 1), (-1, 2), (3, 2), (4, 9), (-9, -1)])
    def test_a_wrong_range_is_an_error_and_shows_nothing(self, start: int, end: int) -> None:
        docs = session(*"abc")
        assert docs.call(Call("read_lines", {"start": start, "end": end})).error == "bad_range"
        assert docs.seen == set()

    def test_read_lines_of_a_named_file(self) -> None:
        docs = session(one=["a"], two=["x"])
        read = {"start": 1, "end": 1}
        assert docs.call(Call("read_lines", read)).text == "one.txt:L1: a"
        assert docs.call(Call("read_lines", {**read, "file": "two.txt"})).text == "two.txt:L1: x"
        assert docs.call(Call("read_lines", {**read, "file": "../x"})).error == "unknown_file"

    def test_an_error_names_the_argument(self) -> None:
        observation = session("x").call(Call("read_lines", {"start": "1", "end": 2}))
        assert observation.error == "bad_arguments"
        assert observation.text.startswith("error: start:")

    def test_submit_hands_in_the_stripped_answer_once(self) -> None:
        docs = session("x")
        assert docs.call(Call("submit", {"answer": " 42 "})).text == "submitted"
        assert docs.delivered == "42"
        assert docs.call(Call("submit", {"answer": "43"})).error == "already_submitted"
        assert docs.call(Call("search", {"pattern": "x"})).error == "already_submitted"
        assert docs.delivered == "42"

    def test_calls_end_with_the_delivery(self) -> None:
        calls = [Call("scan", {}), Call("submit", {"answer": "x"}), Call("scan", {})]
        assert len(run_calls(session("x"), calls)) == 2
