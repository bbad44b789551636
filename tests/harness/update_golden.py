"""Rewrite the golden trajectories: `python -m tests.harness.update_golden`, then read the diff."""

from tests.harness.golden_runs import FOLDER, RUNS, record


def main() -> None:
    """Write every run's events, and remove files that no run stands for."""
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.json"):
        if path.stem not in RUNS:
            path.unlink()
    for name, run in RUNS.items():
        (FOLDER / f"{name}.json").write_text(record(run), encoding="utf-8")


if __name__ == "__main__":
    main()
