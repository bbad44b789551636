"""Printing: results to standard output, progress and errors to standard error."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import polars as pl

    from pipelines.steps.bench import Bench, Watch


@contextmanager
def progress() -> "Iterator[Watch]":
    """Yield a watcher that draws one bar per piece of work, with the time left."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _plain_watch()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    bars: dict[str, Any] = {}
    with Progress(*columns, console=console) as progress:

        def watch(what: str, done: int, total: int) -> None:
            key = what.partition(",")[0]
            if key not in bars:
                bars[key] = progress.add_task(what, total=total)
            progress.update(bars[key], completed=done, total=total, description=what)

        yield watch


def _plain_watch() -> "Watch":
    """Return a watcher for logs: quarters and end on lines of their own, with the time left."""
    begun: dict[str, tuple[float, int]] = {}

    def watch(what: str, done: int, total: int) -> None:
        since, before = begun.setdefault(what.partition(",")[0], (time.monotonic(), done))
        if done == total:
            say(f"{what}: {done}/{total}", to=sys.stderr)
        elif total >= 4 and done > before and done % (total // 4) == 0:
            left = (time.monotonic() - since) / (done - before) * (total - done)
            say(f"{what}: {done}/{total}, about {left:.0f} s left", to=sys.stderr)

    return watch


def show_line(bench: "Bench") -> None:
    """Print what a line has come to."""
    from pipelines import display, summary

    anchors = bench.of_line("anchors")
    if anchors.is_empty():
        say(f"line {bench.line!r} has not begun; `instar evolve` begins it")
        return
    parts = [
        display.composition_table(summary.composition(bench)),
        display.rounds_table(summary.rounds(bench)),
    ]
    datasets = bench.of_line("datasets").sort("position")
    if datasets.height:
        parts.append(display.card_table(json.loads(datasets["card"][-1])))
    cells = summary.cells(bench)
    if cells.height:
        parts += [display.cells_table(cells), display.gains_table(summary.gains(bench))]
    display.show(*parts)
    last = bench.of_line("diagnoses").sort("made_at")
    if last.height:
        row = last.row(-1, named=True)
        say(f"next lever: {row['lever']} ({row['branch']}): {row['reason']}")


def print_frame(frame: "pl.DataFrame", as_json: bool) -> None:
    """Print a frame as a table or as a JSON array of objects."""
    from pipelines import display

    if as_json:
        print_json(frame.to_dicts())
    else:
        display.show(display.frame_table(frame))


def print_csv(frame: "pl.DataFrame") -> None:
    """Print a frame as CSV; what CSV has no form for (lists, structs, bytes) is JSON text."""
    import polars as pl

    texts = [
        pl.Series(name, [None if v is None else _json(v) for v in frame[name].to_list()], pl.String)
        for name, kind in frame.schema.items()
        if kind.is_nested() or kind == pl.Binary
    ]
    say(frame.with_columns(texts).write_csv().rstrip("\n"))


def print_record(record: dict[str, Any], as_json: bool) -> None:
    """Print one record as lines or as JSON."""
    if as_json:
        print_json(record)
    else:
        say("\n".join(f"{key}: {_short(value)}" for key, value in record.items()))


def print_json(value: Any) -> None:  # noqa: ANN401
    """Print a value as standard JSON."""
    say(_json(value, indent=1))


def _json(value: Any, indent: int | None = None) -> str:  # noqa: ANN401
    return json.dumps(_plain(value), ensure_ascii=False, indent=indent, default=str)


def _plain(value: Any) -> Any:  # noqa: ANN401
    """Return `value` with what JSON cannot hold (NaN, infinities) as null."""
    if isinstance(value, float) and (value != value or value in {float("inf"), -float("inf")}):
        return None
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def say(text: str, to: TextIO | None = None) -> None:
    """Print a line."""
    (to or sys.stdout).write(text + "\n")


def fail(text: str, code: int) -> None:
    """Say why, and leave with an exit code."""
    say(f"instar: {text}", to=sys.stderr)
    sys.exit(code)
