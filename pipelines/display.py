"""How results look in a terminal: tables that fit 80 columns, text that cannot steer it."""

import re
from collections.abc import Sequence
from typing import Any

import polars as pl
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from pipelines.summary import Gain

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LABELS = ("healthy", "f1", "f2", "f3", "f4")


def safe(text: str) -> str:
    """Return `text` with control and direction characters made visible."""
    return _CONTROL.sub(lambda m: f"\\x{ord(m[0]):02x}", text)


def frame_table(frame: pl.DataFrame, title: str | None = None) -> Table:
    """Return any frame as a table."""
    table = Table(title=title, title_justify="left", header_style="bold")
    for name in frame.columns:
        numeric = frame.schema[name].is_numeric()
        table.add_column(safe(name), justify="right" if numeric else "left", overflow="fold")
    for row in frame.iter_rows():
        table.add_row(*(Text(_cell(value)) for value in row))
    return table


def composition_table(frame: pl.DataFrame) -> Table:
    """Return the failure composition of seed and evolved harness."""
    table = Table(title="Failure composition on development tasks", title_justify="left")
    for name in ("harness", "score", "delivery", "healthy", "F1", "F2", "F3", "F4"):
        table.add_column(name, justify="left" if name == "harness" else "right")
    for row in frame.iter_rows(named=True):
        table.add_row(
            row["harness"],
            _spread(row),
            _percent(row["delivery"]),
            *(_percent(row[label]) for label in _LABELS),
        )
    return table


def rounds_table(frame: pl.DataFrame) -> Table:
    """Return one line per candidate, with the anchor after its round."""
    table = Table(title="Rounds", title_justify="left")
    for name in ("round", "candidate", "reading", "Δ anchor", "verdict", "anchor after"):
        table.add_column(name, justify="left" if name in {"candidate", "verdict"} else "right")
    for row in frame.iter_rows(named=True):
        verdict = "retained" if row["retained"] else row["outcome"]
        table.add_row(
            str(row["round"]),
            Text(safe(row["title"])),
            _number(row["mean"]),
            "" if row["difference"] is None else f"{row['difference']:+.3f}",
            verdict,
            _number(row["anchor_after"]) if row["retained"] else "",
        )
    return table


def card_table(card: dict[str, Any]) -> Table:
    """Return a dataset card."""
    table = Table(title="Dataset", title_justify="left", show_header=False)
    table.add_column("what")
    table.add_column("how many", justify="right")
    table.add_row("samples in", str(card["n_samples"]))
    table.add_row("infeasible", str(card["n_infeasible"]))
    for reason, n in card["infeasible_reasons"].items():
        table.add_row(Text(f"  {safe(reason)}"), str(n))
    table.add_row("quarantined by the gate", str(card["n_quarantined"]))
    for reason, n in card["quarantine_reasons"].items():
        table.add_row(Text(f"  {safe(reason)}"), str(n))
    table.add_row("examples out", str(card["n_examples"]))
    table.add_row("tokens (trained)", f"{card['tokens']['total']} ({card['tokens']['trained']})")
    return table


def cells_table(frame: pl.DataFrame) -> Table:
    """Return harness × weights × split."""
    table = Table(title="Harness × weights × split", title_justify="left")
    for name in ("harness", "weights", "split", "score", "n", "delivery", "F3", "turns"):
        table.add_column(
            name, justify="left" if name in {"harness", "weights", "split"} else "right"
        )
    for row in frame.iter_rows(named=True):
        table.add_row(
            row["harness"],
            row["weights"],
            row["split"],
            _spread(row),
            str(row["n_rollouts"]),
            _percent(row["delivery"]),
            _percent(row["f3"]),
            _number(row["turns"], 1),
        )
    return table


def gains_table(found: Sequence[Gain]) -> Table:
    """Return differences between cells, each with its noise."""
    table = Table(title="What each lever brought", title_justify="left")
    for name in ("lever", "split", "difference ± 2 SE", "resolvable", "reading"):
        table.add_column(name, justify="left" if name in {"lever", "split", "reading"} else "right")
    for gain in found:
        table.add_row(
            gain.what,
            gain.split,
            f"{gain.difference:+.3f} ± {_number(gain.interval)}",
            _number(gain.resolvable),
            gain.reading,
        )
    return table


def transcript(
    header: dict[str, Any], messages: pl.DataFrame, interventions: pl.DataFrame
) -> RenderableType:
    """Return one trajectory as a readable transcript."""
    facts = "\n".join(f"{key}: {safe(_cell(value))}" for key, value in header.items())
    parts: list[RenderableType] = [Panel(Text(facts), title="trajectory", title_align="left")]
    fired = interventions.filter(pl.col("effect") != "none").sort("position")
    rows = [(r["position"], "message", r) for r in messages.iter_rows(named=True)]
    rows += [(r["position"], "firing", r) for r in fired.iter_rows(named=True)]
    for _, kind, row in sorted(rows, key=lambda item: item[0]):
        if kind == "firing":
            detail = f": {row['detail']}" if row["detail"] else ""
            parts.append(
                Text(safe(f"  · {row['component']} {row['hook']} {row['effect']}{detail}"), "dim")
            )
            continue
        copied = " (worked example)" if row["copied_context"] else ""
        title = f"{row['turn']} {row['role']} by {row['author']}{copied}"
        parts.append(Panel(Text(safe(row["content_text"] or "")), title=title, title_align="left"))
    return Group(*parts)


def show(*parts: RenderableType) -> None:
    """Print to the terminal."""
    console = Console(width=None if Console().is_terminal else 100)
    for part in parts:
        console.print(part)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    return safe(str(value))


def _number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _spread(row: dict[str, Any]) -> str:
    spread = "" if row["sd"] is None else f" ± {row['sd']:.3f}"
    return f"{_number(row['mean'])}{spread}"
