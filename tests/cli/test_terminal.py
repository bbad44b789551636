"""Progress and plain printing."""

import io
import json

import pytest

from pipelines import terminal


@pytest.fixture
def watched(monkeypatch, capsys):
    """Steps of work, one second each; returns what was told of them."""

    def run(*steps: tuple[str, int, int]) -> list[str]:
        now = iter(range(1_000))
        monkeypatch.setattr(terminal.time, "monotonic", lambda: float(next(now)))
        with terminal.progress() as watch:
            for step in steps:
                watch(*step)
        return capsys.readouterr().err.splitlines()

    return run


def test_a_log_gets_quarters_with_the_time_left(watched):
    told = watched(*(("work", done, 8) for done in range(9)))
    assert [line.partition(",")[0] for line in told] == [
        "work: 2/8",
        "work: 4/8",
        "work: 6/8",
        "work: 8/8",
    ]
    assert all(line.endswith("s left") for line in told[:-1])


def test_what_a_resumed_run_found_done_is_no_measure_of_its_speed(watched):
    told = watched(("work", 90, 100), ("work", 100, 100))
    assert told == ["work: 100/100"]


def test_a_loss_beside_the_name_is_no_other_work(watched):
    told = watched(*((f"training, loss {1 / (i + 1):.2f}", i, 4) for i in range(5)))
    assert told[0].startswith("training, loss 0.50: 1/4, about ")


def test_a_terminal_gets_a_bar_with_the_time_left(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setenv("TERM", "xterm-256color")
    with terminal.progress() as watch:
        watch("rollouts", 1, 2)
        watch("rollouts", 2, 2)
    assert "rollouts" in shown.getvalue()
    assert "2/2" in shown.getvalue()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_json_holds_no_numbers_that_json_lacks(capsys, value):
    terminal.print_json({"a": [value, 1.5]})
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.5]}
