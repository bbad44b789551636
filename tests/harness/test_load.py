"""Components from files: fresh for every rollout, each file its own module."""

from harness.load import load_middleware
from tests.harness.support import SEED, with_middleware, with_spec

NAMED = """
from harness.hooks import Middleware

class {name}(Middleware):
    pass
"""
COUNTING = """
from harness.hooks import Middleware

class Counting(Middleware):
    def count(self):
        self.parameters["seen"].append(1)
        return len(self.parameters["seen"])

Alias = Counting
"""


def test_components_come_in_the_bundles_order_with_their_files() -> None:
    bundle = with_middleware("restate_task", {}, with_middleware("repeat_brake"))
    loaded = load_middleware(bundle)
    assert [file for file, _ in loaded] == [
        "middleware/repeat_brake.py",
        "middleware/restate_task.py",
    ]
    assert [type(component).__name__ for _, component in loaded] == ["RepeatBrake", "RestateTask"]


def test_a_component_is_fresh_and_its_parameters_are_its_own() -> None:
    """One rollout must not hear of another, whatever a component does to its parameters."""
    bundle = with_middleware(COUNTING, {"seen": []})
    counts = [load_middleware(bundle)[0][1].count() for _ in range(3)]
    assert counts == [1, 1, 1]
    assert bundle.spec.middleware[0].parameters == {"seen": []}


def test_one_file_may_be_used_twice() -> None:
    bundle = with_middleware("restate_task", {"lead": "A"})
    (part,) = bundle.spec.middleware
    again = {"file": part.file, "parameters": {"lead": "B"}}
    both = with_spec(bundle, middleware=[part.model_dump(), again])
    assert [c.parameters["lead"] for _, c in load_middleware(both)] == ["A", "B"]


def test_equal_bundles_share_code_and_other_bundles_do_not() -> None:
    one, same = with_middleware("restate_task"), with_middleware("restate_task")
    other = one.edited({"lessons/a.md": "x"})
    kinds = [type(load_middleware(bundle)[0][1]) for bundle in (one, same, other)]
    assert kinds[0] is kinds[1]
    assert kinds[0] is not kinds[2]


def test_paths_that_look_alike_are_different_files() -> None:
    files = {
        "middleware/a_b.py": NAMED.format(name="Flat"),
        "middleware/a/b.py": NAMED.format(name="Deep"),
        "middleware/a.b.py": NAMED.format(name="Dotted"),
    }
    bundle = with_spec(SEED.edited(files), middleware=[{"file": path} for path in files])
    loaded = [type(component).__name__ for _, component in load_middleware(bundle)]
    assert loaded == ["Flat", "Deep", "Dotted"]
