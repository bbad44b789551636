"""Bring other tools' files into the lake; what is there already stays as it is."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pipelines.ingest import Loaded, files_of, load, unreadable
from pipelines.steps.bench import Watch, unwatched
from warehouse.lake import Lake


@dataclass
class Summary:
    """What one ingest did; `failed` names files of which something did not load, and why."""

    files: int = 0
    trajectories: int = 0
    events: int = 0
    issues: int = 0
    errors: int = 0
    failed: list[str] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """Return the summary as plain values: `failed` counts the files, `failures` says why."""
        return asdict(self) | {"failed": len(self.failed), "failures": self.failed}


def ingest(
    lake: Lake,
    paths: Sequence[Path],
    *,
    suite: str | None = None,
    split: str | None = None,
    watch: Watch = unwatched,
) -> Summary:
    """Load files and directories. One bad file never stops the rest; again changes nothing."""
    summary = Summary()
    files = [file for path in paths for file in files_of(path)]
    for i, file in enumerate(files):
        watch("ingest", i, len(files))
        summary.files += 1
        try:
            _keep(lake, load(file, suite=suite, split=split), summary)
        except OSError as error:
            facts = list(unreadable(file, error))
            summary.events += lake.append(facts)
            summary.issues += 1
            summary.errors += 1
            summary.failed.append(f"{file}: cannot be read: {error.strerror or error}")
    watch("ingest", len(files), len(files))
    lake.refresh()
    return summary


def _keep(lake: Lake, loaded: Loaded, summary: Summary) -> None:
    streams = [*loaded.trajectories, loaded.source]
    known = lake.log.begun(events[0].stream_id for events in streams)
    new = [events for events in streams if events[0].stream_id not in known]
    summary.events += lake.append(event for events in new for event in events)
    summary.trajectories += sum(events is not loaded.source for events in new)
    summary.issues += len(loaded.issues)
    errors = [issue for issue in loaded.issues if issue.severity == "error"]
    summary.errors += len(errors)
    if loaded.failed:
        first = f"{errors[0].location}: {errors[0].message}" if errors else str(loaded.path)
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        summary.failed.append(first + more)
