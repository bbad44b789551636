"""Several processes write one log: nothing is lost, doubled or half there, also under `kill -9`."""

import multiprocessing as mp
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.warehouse import writers
from warehouse.lake import Lake
from warehouse.log import DeltaEventLog
from warehouse.project import checks

SPAWN = mp.get_context("spawn")


def test_writers_at_once_lose_and_double_nothing(tmp_path: Path):
    n_writers = 4
    lake = Lake(tmp_path / "lake")
    start = SPAWN.Barrier(n_writers)
    running = [
        SPAWN.Process(target=writers.append_all, args=(lake.log.root, i, start))
        for i in range(n_writers)
    ]
    for process in running:
        process.start()
    for process in running:
        process.join(timeout=60)
    assert [process.exitcode for process in running] == [0] * n_writers

    read = list(lake.log.read())
    own = [event for i in range(n_writers) for batch in writers.batches_of(i) for event in batch]
    assert [e for e in read if e.stream_id != "s/common"] == [*own, *writers.shared()]
    common = Counter(e.fact.answer for e in read if e.stream_id == "s/common")
    said = [f"{i}: {b[0].position}" for i in range(n_writers) for b in writers.batches_of(i)]
    assert common == Counter(said)
    assert lake.query(checks()["streams_are_dense"].query).is_empty()
    # A row of the file is a row of the table: none hides behind a reader that drops copies.
    assert lake.query("select count(*) as n from events")["n"][0] == len(read)


@pytest.mark.parametrize("delay_s", [0.0, 0.004, 0.013])
def test_a_killed_writer_loses_nothing_that_it_told(tmp_path: Path, delay_s: float):
    root = tmp_path / "events"
    log = DeltaEventLog(root)
    hears, told = SPAWN.Pipe(duplex=False)
    process = SPAWN.Process(target=writers.append_until_killed, args=(root, 0, told))
    process.start()
    while hears.recv() < 3 * writers.BATCH:
        pass
    time.sleep(delay_s)  # somewhere inside a later append
    process.kill()
    process.join(timeout=30)
    told.close()
    acknowledged = 3 * writers.BATCH
    while hears.poll():
        try:
            acknowledged = hears.recv()
        except (EOFError, OSError):
            break

    events = list(log.read())
    assert [e.position for e in events] == list(range(len(events)))
    assert len(events) % writers.BATCH == 0, "a batch is there as a whole or not at all"
    assert acknowledged <= len(events) <= acknowledged + writers.BATCH
    # Its lock went with it: who comes next says the same again, and goes on.
    assert log.append(events) == 0
    assert DeltaEventLog(root).append(writers.shared()) == writers.BATCH
