"""The event: an envelope of identity around one fact, and the union of all facts.

Identity is (stream_id, position), dense from 0 within a stream; `event_id` is a content id. Modules
hold the facts of one kind of stream each. A reader of old events goes through `UPCASTERS`.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, get_args

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)

from warehouse.errors import UnknownEvent
from warehouse.events.base import Fact, Purpose
from warehouse.events.batch import BatchOpened, CellMeasured, DiagnosisMade
from warehouse.events.bundle import BundleCaptured
from warehouse.events.dataset import (
    AdapterTrained,
    DatasetPublished,
    GateJudged,
    TrajectoryRefused,
    TrajectoryTailored,
)
from warehouse.events.label import LabelAdded, LabelWithdrawn
from warehouse.events.line import (
    AnchorMeasured,
    CandidateChecked,
    CandidateJudged,
    CandidateProposed,
    CandidateRead,
    EvidencePackaged,
    HarnessRetained,
    LineOpened,
    RoundClosed,
    RoundOpened,
    SpecWritten,
)
from warehouse.events.source import IssueNoted, RecordQuarantined, SourceLoaded
from warehouse.events.trajectory import (
    Delivered,
    HarnessFired,
    MessageAdded,
    ModelCalled,
    Scored,
    ToolCalled,
    ToolReturned,
    TrajectoryClosed,
    TrajectoryOpened,
)
from warehouse.ids import bytes_id, canonical_json

AnyFact = Annotated[
    TrajectoryOpened
    | MessageAdded
    | ModelCalled
    | ToolCalled
    | ToolReturned
    | HarnessFired
    | Delivered
    | TrajectoryClosed
    | Scored
    | SourceLoaded
    | RecordQuarantined
    | IssueNoted
    | LabelAdded
    | LabelWithdrawn
    | BundleCaptured
    | LineOpened
    | RoundOpened
    | AnchorMeasured
    | EvidencePackaged
    | SpecWritten
    | CandidateProposed
    | CandidateChecked
    | CandidateRead
    | CandidateJudged
    | HarnessRetained
    | RoundClosed
    | TrajectoryTailored
    | TrajectoryRefused
    | GateJudged
    | DatasetPublished
    | AdapterTrained
    | BatchOpened
    | CellMeasured
    | DiagnosisMade,
    Field(discriminator="kind"),
]
FACT: TypeAdapter[AnyFact] = TypeAdapter(AnyFact)
FACT_TYPES: tuple[type[Fact], ...] = get_args(get_args(AnyFact)[0])

UPCASTERS: Mapping[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""(kind, version) → a function that lifts that payload one version up. Empty while all are 1."""


_Utc = Annotated[AwareDatetime, AfterValidator(lambda time: time.astimezone(UTC))]


class Event(BaseModel):
    """One fact with its place in a stream; the context fields are copies that SQL prunes by.

    `occurred_at` is UTC, and None where an imported source does not say when. Halves of surrogate
    pairs, which no text can hold, are kept (and hashed) as U+FFFD.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    stream_id: str
    position: int
    occurred_at: _Utc | None
    fact: AnyFact
    trajectory_id: str | None = None
    line_id: str | None = None
    round: int | None = None
    purpose: Purpose | None = None

    @property
    def event_id(self) -> str:
        """Content id of everything but the time of recording."""
        content = [
            self.stream_id,
            self.position,
            self.occurred_at and self.occurred_at.isoformat(),
            self.trajectory_id,
            self.line_id,
            self.round,
            self.purpose,
            self.fact.model_dump(mode="json"),
        ]
        return bytes_id(_whole(canonical_json(content)).encode())

    @property
    def payload(self) -> str:
        """The fact as JSON text, without the tags that have columns of their own."""
        return _whole(
            canonical_json(self.fact.model_dump(mode="json", exclude={"kind", "version"}))
        )


def _whole(text: str) -> str:
    """Return `text` with surrogate halves joined where they pair, else replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def read_fact(kind: str, version: int, payload: str) -> AnyFact:
    """Return the fact that a row holds, lifted to today's version.

    Raises:
        UnknownEvent: no reader knows this kind, this version or these fields.
    """
    body: dict[str, Any] = json.loads(payload)
    while lift := UPCASTERS.get((kind, version)):
        body, version = lift(body), version + 1
    try:
        return FACT.validate_python({**body, "kind": kind, "version": version})
    except ValidationError as broken:
        raise UnknownEvent(
            f"event kind {kind!r} version {version}: {broken.error_count()} fields do not fit,"
            f" first {broken.errors()[0]['loc']!r}. Was this lake written by a newer release?"
        ) from broken


class Stream:
    """Numbers facts into one stream's events; time and context come in as arguments."""

    def __init__(
        self,
        stream_id: str,
        clock: Callable[[], datetime | None],
        *,
        start: int = 0,
        line_id: str | None = None,
        round: int | None = None,
        purpose: Purpose | None = None,
    ) -> None:
        self.stream_id = stream_id
        self.clock = clock
        self.position = start
        kind, _, name = stream_id.partition("/")
        self.context: dict[str, Any] = {
            "trajectory_id": name if kind == "trajectory" else None,
            "line_id": line_id,
            "round": round,
            "purpose": purpose,
        }

    def add(self, fact: Fact) -> Event:
        """Return `fact` as the stream's next event."""
        event = Event(
            stream_id=self.stream_id,
            position=self.position,
            occurred_at=self.clock(),
            fact=fact,
            **self.context,
        )
        self.position += 1
        return event

    def all(self, facts: Iterable[Fact]) -> Iterator[Event]:
        """Yield every fact as an event."""
        return (self.add(fact) for fact in facts)
