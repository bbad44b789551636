"""The jobs: one round of evolution, and the internalization of a line."""

import dagster as dg

ROUND_ASSETS = (
    "rollouts",
    "events",
    "trajectories",
    "messages",
    "tool_calls",
    "model_calls",
    "interventions",
    "scores",
    "score_checks",
    "signals",
    "bundles",
    "batches",
    "failure_labels",
    "failure_groups",
    "diagnoses",
    "evidence_packages",
    "specs",
    "candidates",
    "candidate_checks",
    "readings",
    "verdicts",
    "anchors",
    "rounds",
)
LINE_ASSETS = (
    "samples",
    "tailored",
    "tailored_quarantine",
    "sft_examples",
    "sft_quarantine",
    "gate_results",
    "datasets",
    "adapters",
    "cells",
)

evolution_round = dg.define_asset_job(
    "evolution_round",
    selection=dg.AssetSelection.assets(*ROUND_ASSETS),
    description="One round: failures, groups, spec, candidates, readings, verdicts, fresh anchor."
    " Partition: `main~r001`, `main~r002`, …",
)
internalize = dg.define_asset_job(
    "internalize",
    selection=dg.AssetSelection.assets(*LINE_ASSETS),
    description="Sample, tailor, gate, train, and measure harness × weights × split."
    " Partition: the line.",
)
JOBS = [evolution_round, internalize]
