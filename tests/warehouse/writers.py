"""What other processes do to a log: the writers that the tests of concurrency spawn."""

from collections.abc import Iterator
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

from tests.warehouse.strategies import stream
from warehouse.errors import StreamConflict
from warehouse.events import Event
from warehouse.events.trajectory import Delivered
from warehouse.log import DeltaEventLog

N_BATCHES, BATCH = 7, 8


def batches_of(writer: int) -> Iterator[list[Event]]:
    """Yield the batches of one writer: a stream of its own, a bit further each time."""
    facts = [Delivered(answer=f"{writer}: {i}") for i in range(N_BATCHES * BATCH)]
    events = stream(f"s/{writer}", facts)
    for at in range(0, len(events), BATCH):
        yield events[at : at + BATCH]


def shared() -> list[Event]:
    """Return what every writer says in the same words."""
    return stream("s/shared", [Delivered(answer=str(i)) for i in range(BATCH)])


def append_all(root: Path, writer: int, start: Barrier) -> None:
    """Append a writer's batches, each with the shared ones; then a word to a common end."""
    log = DeltaEventLog(root)
    start.wait(timeout=30)
    for batch in batches_of(writer):
        log.append([*batch, *shared()])
        append_at_end(log, "s/common", Delivered(answer=f"{writer}: {batch[0].position}"))


def append_at_end(log: DeltaEventLog, name: str, fact: Delivered) -> None:
    """Append behind whatever others appended in the meantime."""
    while True:
        head = log.head(name)
        event = stream(name, [fact])[0].model_copy(update={"position": head})
        try:
            log.append([event])
        except StreamConflict:
            continue
        return


def append_until_killed(root: Path, writer: int, told: Connection) -> None:
    """Append batches of a growing stream for ever; tell of each after it is kept."""
    log = DeltaEventLog(root)
    at = 0
    while True:
        facts = [Delivered(answer=f"{i}") for i in range(at + BATCH)]
        log.append(stream(f"s/{writer}", facts)[at:])
        at += BATCH
        told.send(at)
