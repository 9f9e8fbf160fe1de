"""What is committed together: the rows of a batch and all messages that follow from them, in one transaction.

    records --work--> state; rows and messages --one transaction--> changelog, topics

A partition has a transactional id, and whoever starts with it shuts out the one before, which may be frozen and not know that
it has lost the partition. So a transaction is committed only by a worker whose state holds all that was committed, and rows and
other messages are there together or not at all: a record that comes again finds its row, and brings nothing.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import structlog
from aiokafka.structs import ConsumerRecord

from agents.runtime.dead_letters import FailedOn, dead_letter, work_through
from agents.runtime.producer import Messages, attempts
from agents.runtime.spans import NO_SPANS, Spans
from agents.runtime.state import Partition, StateStore

log = structlog.get_logger()

MAX_FAULTS = 10
"""Records that a stage may fail on without any that it can work on."""
BUDGET_S = 10.0
"""Seconds of the processor that a record may take."""

E = TypeVar("E")

Work = Callable[[Partition[E], Messages], AbstractContextManager[Callable[[ConsumerRecord], str]]]
"""Begins a batch: gives what works on a record and returns its outcome. It adds to the messages then, and when the batch ends."""


async def transact(
    store: StateStore[Any, E],
    number: int,
    records: list[ConsumerRecord],
    work: Work[E],
    spans: Spans = NO_SPANS,
) -> Counter[str]:
    """Have `work` change the state of a partition by these records, and send what it has to say, all or nothing.

    Should that fail because the partition changed hands or the broker was away, it is done again from the rows that
    were committed, as long as nothing says that the partition is not ours any more. Returns how many records had
    each outcome: none, if it was given up. Raises what a retry cannot fix.

    A record on which `work` fails, which is a fault of ours, or takes longer than BUDGET_S, goes to the dead letters, and the
    others are worked on without it; when more than MAX_FAULTS are all there is, the last error is raised.
    """
    generation = store.generation
    async for attempt in attempts():
        with attempt:
            if generation != store.generation and attempt.num > 1:
                break
            partition, messages, outcomes = await _work_through(store, number, records, work, spans)
            try:
                store.say_rule(partition, messages)
                await partition.producer.send(messages)
            except BaseException:
                await store.forget(partition)  # it holds what may not be on the changelog
                raise
            return outcomes
    return Counter()


async def _work_through(
    store: StateStore[Any, E], number: int, records: list[ConsumerRecord], work: Work[E], spans: Spans
) -> tuple[Partition[E], Messages, Counter[str]]:
    """Have `work` change the state; returns what is to be committed with it."""
    faults: Messages = []
    while True:
        partition = await store.load(number)
        messages: Messages = [*faults]
        try:
            with work(partition, messages) as work_on:
                outcomes = work_through(store.stage, records, work_on, messages, BUDGET_S, spans, stateful=True)
        except FailedOn as found:
            failed = found
        except BaseException:
            await store.forget(partition)
            raise
        else:
            outcomes["dead"] += len(faults)
            return partition, messages, outcomes
        await store.forget(partition)
        nothing_works = len(faults) >= MAX_FAULTS and len(records) == 1
        if nothing_works or isinstance(failed.error, MemoryError):  # it is not the records
            raise failed.error
        log.error("a stage failed on a record: now a dead letter", stage=store.stage, exc_info=failed.error)
        faults.append(dead_letter(store.stage, failed.record, failed.error))
        records = [record for record in records if record is not failed.record]
