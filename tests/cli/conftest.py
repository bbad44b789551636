"""Run `instar` as a user does, in this process."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipelines.cli import main


@dataclass(frozen=True)
class Told:
    """What a command left: its exit code and what it wrote."""

    code: int
    out: str
    err: str


Instar = Callable[..., Told]


@pytest.fixture
def instar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Instar:
    """A function that runs one command on the test's own lake."""
    monkeypatch.setenv("INSTAR_LAKE", str(tmp_path / "lake"))
    monkeypatch.delenv("INSTAR_EXPERIMENT", raising=False)

    def run(*arguments: str | Path) -> Told:
        monkeypatch.setattr("sys.argv", ["instar", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        told = capsys.readouterr()
        code = left.value.code
        return Told(code if isinstance(code, int) else 0 if code is None else 1, told.out, told.err)

    return run
