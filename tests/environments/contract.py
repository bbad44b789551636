"""What every environment must do: subclass `EnvironmentContract` and say how to open yours."""

import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.base import SPLITS, Call, Environment, Task, ToolSpec, argument_problem, run_calls
from warehouse.errors import BadInput

LAW = settings(derandomize=True, deadline=None, max_examples=60)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-3, 60)
    | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
"""Any JSON value; small whole numbers are frequent, since they are what tools take."""

HOSTILE: Sequence[object] = (
    None, True, -1, 0, 1.0, 2.5, 10**30, 1e300, "", " ", "\t\n", "the", "Ünïcödé ☃ 漢字", "\0", "(",
    "[a-z]*", "a" * 100_000, "a\n" * 1_000, [], ["x"], {}, {"x": {"y": []}},
)  # fmt: skip
"""Arguments that somebody once got wrong."""


def nested(depth: int) -> list[Any]:
    """Return a list in a list in a list."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


class EnvironmentContract:
    """The laws of `environments.base.Environment`."""

    least_families = 12
    least_new_in_held_out = 2
    greatest_random_mean = 0.1
    checks: Sequence[str] = ("delivered",)
    """The scorer's own checks of a delivered answer, in order."""

    def make(self, world: int) -> Environment:
        """Return a new instance of the world numbered `world`."""
        raise NotImplementedError

    @pytest.fixture(params=[0, 7], ids="world{}".format)
    def world(self, request: pytest.FixtureRequest) -> int:
        """The world a law is tried in."""
        return int(request.param)

    @pytest.fixture
    def env(self, world: int) -> Environment:
        """A fresh instance."""
        return self.make(world)

    # -- tasks

    def test_every_reference_scores_one_without_a_failed_call(self, env: Environment) -> None:
        for task in everything(env):
            session = env.open(task)
            observations = run_calls(session, env.reference(task))
            assert [o for o in observations if not o.ok] == [], task
            assert env.score(session).value == 1.0, task

    def test_doing_nothing_scores_zero(self, env: Environment) -> None:
        for task in everything(env):
            assert env.score(env.open(task)).value == 0.0, task

    def test_the_random_baseline_is_poor_and_repeatable(self, env: Environment) -> None:
        for split in SPLITS:
            scores = []
            for number, task in enumerate(env.tasks(split)):
                calls = env.baseline(task, random.Random(number))
                assert calls == env.baseline(task, random.Random(number))
                session = env.open(task)
                run_calls(session, calls)
                assert session.delivered is not None, f"{task}: at random, but to the end"
                scores.append(env.score(session).value)
            assert sum(scores) / len(scores) < self.greatest_random_mean, split

    def test_the_random_baseline_depends_on_its_seed(self, env: Environment) -> None:
        task = env.tasks("development", 1)[0]
        assert len({str(env.baseline(task, random.Random(n))) for n in range(10)}) > 1

    def test_task_ids_are_unique(self, env: Environment) -> None:
        ids = [task.task_id for task in everything(env)]
        assert len(ids) == len(set(ids))

    def test_tasks_carry_their_suite_and_split(self, env: Environment) -> None:
        for split in SPLITS:
            for task in env.tasks(split):
                assert (task.suite, task.split) == (env.name, split)
                assert task.prompt.strip()

    def test_a_second_instance_has_the_same_tasks(self, env: Environment, world: int) -> None:
        assert everything(env) == everything(self.make(world))

    def test_other_worlds_have_other_tasks(self) -> None:
        one, other = everything(self.make(0)), everything(self.make(7))
        assert not {t.task_id for t in one} & {t.task_id for t in other}
        assert not {t.content_id for t in one} & {t.content_id for t in other}

    def test_contents_are_unique(self, env: Environment) -> None:
        contents = [task.content_id for task in everything(env)]
        assert len(contents) == len(set(contents))

    def test_splits_are_disjoint(self, env: Environment) -> None:
        for one, other in combinations([env.tasks(split) for split in SPLITS], 2):
            for field in ("task_id", "content_id", "prompt"):
                shared = {getattr(t, field) for t in one} & {getattr(t, field) for t in other}
                assert shared == set(), field

    def test_families_and_where_they_live(self, env: Environment) -> None:
        families = {split: {t.family for t in env.tasks(split)} for split in SPLITS}
        development, held_out, elsewhere = (families[split] for split in SPLITS)
        assert len(development | held_out | elsewhere) >= self.least_families
        assert len(held_out - development) >= self.least_new_in_held_out
        assert development <= held_out, "held-out tells what a gain on development is worth"
        assert elsewhere
        assert not elsewhere & (development | held_out)

    # -- limits

    def test_a_limit_takes_families_in_turn(self, env: Environment) -> None:
        for split in SPLITS:
            tasks = env.tasks(split)
            n = len({task.family for task in tasks})
            for limit in (1, n - 1, n, n + 1, 2 * n + 1):
                taken = env.tasks(split, limit)
                assert list(taken) == list(tasks[:limit])
                counts = defaultdict(int)
                for task in taken:
                    counts[task.family] += 1
                assert len(counts) == min(limit, n)
                assert max(counts.values()) - min(counts.values()) <= 1

    def test_a_limit_out_of_reach_is_refused(self, env: Environment) -> None:
        for split in SPLITS:
            for limit in (0, -1, len(env.tasks(split)) + 1):
                with pytest.raises(BadInput, match=str(len(env.tasks(split)))):
                    env.tasks(split, limit)

    def test_an_unknown_split_is_refused(self, env: Environment) -> None:
        with pytest.raises(BadInput, match="test"):
            env.tasks("test")

    def test_a_foreign_task_is_refused(self, env: Environment) -> None:
        task = env.tasks("development", 1)[0]
        elsewhere = env.tasks("out-of-domain", 1)[0]
        for task_id in (
            "", "x", f"{task.task_id}/1", task.task_id.replace("development", "nowhere"),
            f"{task.task_id}x", f"other{task.task_id}",
            task.task_id.replace(task.family, elsewhere.family),
        ):  # fmt: skip
            foreign = Task(task_id, task.suite, task.split, task.family, task.prompt, "")
            with pytest.raises(BadInput, match="is not a task of"):
                env.open(foreign)

    # -- sessions

    def test_the_same_calls_give_the_same_observations(self, env: Environment) -> None:
        for split in SPLITS:
            for number, task in enumerate(env.tasks(split, 12)):
                calls = [*env.baseline(task, random.Random(number))[:-1], *env.reference(task)]
                assert run_calls(env.open(task), calls) == run_calls(env.open(task), calls)

    def test_sessions_of_one_task_do_not_touch(self, env: Environment) -> None:
        task = env.tasks("development", 1)[0]
        one, other = env.open(task), env.open(task)
        run_calls(one, env.reference(task))
        assert other.delivered is None
        assert env.score(other).value == 0.0

    def test_exactly_one_tool_delivers(self, env: Environment) -> None:
        tools = env.open(env.tasks("development", 1)[0]).tools
        assert len({tool.name for tool in tools}) == len(tools)
        assert [tool.delivers for tool in tools].count(True) == 1
        assert all(tool.description for tool in tools)

    def test_an_unknown_tool_is_an_error(self, env: Environment) -> None:
        session = env.open(env.tasks("development", 1)[0])
        for name in ("", "delete", "SUBMIT", "__init__", "draft", "é" * 1_000):
            observation = session.call(Call(name, {}))
            assert observation.error, name
            assert observation.text

    def test_hostile_arguments_are_errors(self, env: Environment) -> None:
        task = env.tasks("development", 1)[0]
        for tool in env.open(task).tools:
            for name in tool.parameters["properties"]:
                for value in (*HOSTILE, nested(300), nested(20_000)):
                    self.check_call(env, task, tool, {**plain_arguments(tool), name: value})
            self.check_call(env, task, tool, {**plain_arguments(tool), "surplus": 1})
            self.check_call(env, task, tool, {})

    def test_any_json_arguments_give_an_observation(self, env: Environment) -> None:
        task = env.tasks("held-out", 1)[0]
        tools = list(env.open(task).tools)

        @LAW
        @given(st.data())
        def law(data: st.DataObject) -> None:
            tool = data.draw(st.sampled_from(tools))
            names = st.sampled_from([*tool.parameters["properties"], "surplus"])
            arguments = data.draw(st.dictionaries(names, JSON, max_size=4))
            self.check_call(env, task, tool, arguments)

        law()

    def check_call(
        self, env: Environment, task: Task, tool: ToolSpec, arguments: Mapping[str, Any]
    ) -> None:
        """A call that breaks the tool's schema is an error; any call is an observation, twice."""
        session = env.open(task)
        observation = session.call(Call(tool.name, arguments))
        assert isinstance(observation.text, str)
        assert observation.text
        if argument_problem(tool, arguments) is not None:
            assert observation.error is not None
            assert session.delivered is None
        if observation.ok:
            assert (session.delivered is not None) == tool.delivers
        assert env.open(task).call(Call(tool.name, arguments)) == observation

    # -- scores

    def test_a_score_is_made_of_named_checks(self, env: Environment) -> None:
        task = env.tasks("development", 1)[0]
        session = env.open(task)
        assert [(c.name, c.passed) for c in env.score(session).checks] == [("delivered", False)]
        run_calls(session, env.reference(task))
        found = env.score(session).checks
        assert [(c.name, c.passed) for c in found] == [(name, True) for name in self.checks]

    def test_scores_lie_between_zero_and_one(self, env: Environment) -> None:
        for split in SPLITS:
            for number, task in enumerate(env.tasks(split)):
                session = env.open(task)
                run_calls(session, env.baseline(task, random.Random(number)))
                assert 0.0 <= env.score(session).value <= 1.0

    def test_nothing_after_delivery_changes_the_score(self, env: Environment) -> None:
        for split in SPLITS:
            for task in env.tasks(split, 12):
                right, wrong = env.open(task), env.open(task)
                run_calls(right, env.reference(task))
                deliver(wrong, "no such answer")
                for session, expected in ((right, 1.0), (wrong, 0.0)):
                    before, delivered = env.score(session), session.delivered
                    for call in [*env.reference(task), Call(deliverer(session).name, {})]:
                        assert session.call(call).error is not None
                    assert env.score(session) == before
                    assert before.value == expected
                    assert session.delivered == delivered

    def test_another_environments_session_is_refused(self, env: Environment) -> None:
        class Stranger:
            tools = ()
            delivered = None

            def call(self, call: Call) -> None: ...

        with pytest.raises(BadInput, match="Stranger"):
            env.score(Stranger())

    def test_the_answer_is_not_in_the_task(self, env: Environment) -> None:
        """What a harness gets to see must not hold what only the scorer may know."""
        for task in everything(env):
            answer = env.reference(task)[-1].arguments
            shown = json.dumps([task.task_id, task.content_id])
            assert all(str(value) not in shown for value in answer.values() if len(str(value)) > 3)


def everything(env: Environment) -> list[Task]:
    """Return every task of every split."""
    return [task for split in SPLITS for task in env.tasks(split)]


def deliverer(session: Any) -> ToolSpec:
    """Return the tool that hands in the answer."""
    return next(tool for tool in session.tools if tool.delivers)


def deliver(session: Any, answer: str) -> None:
    """Hand in `answer`."""
    tool = deliverer(session)
    assert session.call(Call(tool.name, {tool.parameters["required"][0]: answer})).ok


def plain_arguments(tool: ToolSpec) -> dict[str, Any]:
    """Return arguments that fit a tool's schema."""
    plain = {"string": "the", "integer": 1, "number": 1.0, "boolean": True}
    properties = tool.parameters["properties"]
    return {name: plain[properties[name]["type"]] for name in tool.parameters["required"]}
