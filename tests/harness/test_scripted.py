"""Models that are ordinary source: the scripted ones and the replay."""

import asyncio
import random
from collections.abc import Sequence

import pytest

from environments.base import Call
from harness.calls import call_text, parse_call
from harness.messages import ChatMessage, Model, ModelReply, ModelRequest
from harness.models import open_host
from harness.models.replay import ReplayModel
from harness.models.scripted import BEHAVIOURS, ScriptedHost, ScriptedModel

SYSTEM = ChatMessage("system", "Call tools.")
EXAMPLE = (
    ChatMessage("user", "Question: Where is Bo?"),
    ChatMessage("assistant", call_text(Call("search", {"pattern": "Bo"}))),
)
QUESTION = ChatMessage("user", "Question: In which city does Ana Moss work? Answer with the city.")


def reply(model: Model, messages: Sequence[ChatMessage], seed: int = 1) -> ModelReply:
    return asyncio.run(model.complete(ModelRequest(tuple(messages), 40, 0.0, seed)))


def spoken(name: str, *messages: ChatMessage, seed: int = 1) -> str:
    return reply(ScriptedModel(name, "w"), messages, seed).text


def test_the_silent_one_never_calls() -> None:
    assert parse_call(spoken("silent", SYSTEM, *EXAMPLE, QUESTION)) is None


def test_the_looper_repeats_one_call() -> None:
    said = {spoken("looper", SYSTEM, QUESTION, *EXAMPLE, seed=seed) for seed in range(5)}
    assert said == {call_text(Call("search", {"pattern": "the"}))}


class TestClerk:
    def test_without_examples_it_talks(self) -> None:
        assert spoken("clerk", SYSTEM, QUESTION) == spoken("silent", SYSTEM, QUESTION)

    def test_it_searches_for_the_name_first(self) -> None:
        said = spoken("clerk", SYSTEM, *EXAMPLE, QUESTION)
        assert said == call_text(Call("search", {"pattern": "Ana Moss"}))

    def test_it_tries_something_else_when_nothing_was_found(self) -> None:
        first = spoken("clerk", SYSTEM, *EXAMPLE, QUESTION)
        tried = [ChatMessage("assistant", first), ChatMessage("user", "Result:\n0 matches")]
        second = spoken("clerk", SYSTEM, *EXAMPLE, QUESTION, *tried)
        assert parse_call(second) is not None
        assert second != first

    def test_it_submits_a_word_of_the_first_line_found(self) -> None:
        found = ChatMessage("user", "Result:\n1 matches for 'x':\nL3: Ana Moss works in Oslo.")
        said = spoken("clerk", SYSTEM, *EXAMPLE, QUESTION, EXAMPLE[1], found)
        assert said == call_text(Call("submit", {"answer": "Oslo"}))

    def test_it_guesses_among_several_by_seed(self) -> None:
        found = ChatMessage("user", "Result:\nL3: Ana Moss sent Bert to Oslo and Rome and Bern.")
        said = {
            spoken("clerk", SYSTEM, *EXAMPLE, QUESTION, EXAMPLE[1], found, seed=seed)
            for seed in range(30)
        }
        assert len(said) > 1

    def test_it_submits_a_number_when_asked_for_one(self) -> None:
        question = ChatMessage("user", "Question: Which room? Answer with the number only.")
        found = ChatMessage("user", "Result:\na.txt:L3: Bert sits in room 417.")
        said = spoken("clerk", SYSTEM, *EXAMPLE, question, EXAMPLE[1], found)
        assert said == call_text(Call("submit", {"answer": "417"}))


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_a_reply_follows_from_the_request(name: str) -> None:
    messages = [SYSTEM, *EXAMPLE, QUESTION]
    one, other = (reply(ScriptedModel(name, "w"), messages, seed=5) for _ in range(2))
    assert one == other
    assert one.input_tokens == sum(len(m.content.split()) for m in messages)
    assert one.output_tokens == len(one.text.split())


def test_behaviours_leave_shared_randomness_alone() -> None:
    random.seed(1)
    before = random.getstate()
    for name in BEHAVIOURS:
        spoken(name, SYSTEM, *EXAMPLE, QUESTION)
    assert random.getstate() == before


class TestHost:
    def test_a_name_decides_the_weights(self) -> None:
        hosts = [open_host(f"scripted:{name}") for name in BEHAVIOURS]
        assert len({host.base_id for host in hosts}) == len(BEHAVIOURS)
        assert open_host("scripted:clerk").base_id == open_host("scripted:clerk").base_id

    def test_lanes_and_sessions(self) -> None:
        assert open_host("scripted:clerk").lanes == 4
        assert open_host("scripted:clerk", in_flight=9).lanes == 9
        assert open_host("scripted:clerk").session_id != open_host("scripted:clerk").session_id

    def test_an_adapter_changes_the_name_of_the_weights_only(self) -> None:
        host = ScriptedHost("looper", 1)

        async def models() -> list[Model]:
            async with host.connect() as model_for:
                return [model_for(0, None), model_for(0, "adapter-1")]

        bare, tuned = asyncio.run(models())
        assert (bare.weights_id, tuned.weights_id) == (host.base_id, "adapter-1")
        assert reply(bare, [QUESTION]) == reply(tuned, [QUESTION])


class TestReplay:
    def test_it_says_its_turns_in_order_and_then_nothing(self) -> None:
        model = ReplayModel(["one", "two"], "w")
        said = [reply(model, [QUESTION]) for _ in range(4)]
        assert [r.text for r in said] == ["one", "two", "", ""]
        assert {r.finish_reason for r in said} == {"replayed"}
        assert {r.output_tokens for r in said} == {None}

    def test_later_changes_of_the_list_do_not_reach_it(self) -> None:
        turns = ["one"]
        model = ReplayModel(turns, "w")
        turns[0] = "other"
        assert reply(model, [QUESTION]).text == "one"
