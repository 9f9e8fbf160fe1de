"""Corrections to Faust 0.15.3, each with its cause. `correct_faust` applies them; tests show that they are needed.

1. Lost and repeated records around table recovery. `Consumer._wait_next_records` sets the event `not_waiting_next_records`
   before it fetches, where it must clear it. So `wait_for_stopped_flow` returns while a fetch is in flight; recovery then seeks,
   and what the fetch brings afterwards is taken for records after the seek: some are skipped, some come twice.
2. The same at the end of recovery: Faust seeks to the committed offsets without stopping the flow first.
3. Lost records where nothing is committed yet. The same seek leaves such a partition where it is: behind what was fetched and
   thrown away while the group was made anew.
4. Stalls. One fetch is under way at a time; it asks for the partitions that have nothing buffered, and waits up to 1.5 s for
   them to have something. What comes meanwhile to a partition that had something buffered waits with it.
5. Faust reads what is committed only in its exactly-once mode, whose producer is its own.
6. Commits that are out of date. aiokafka tries a commit again until the coordinator answers, each time in the name of the
   generation that it then belongs to. After a freeze or an outage of the broker, that sets a partition back to where it was
   generations ago. Faust takes a failed commit for done, and keeps what was acknowledged in earlier generations: it then waits
   for offsets that never come, and commits no more.
"""

from collections.abc import Mapping
from typing import Any

import faust
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.errors import IllegalGenerationError
from faust.transport.consumer import Consumer
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread

FETCH_WAIT = 100
"""Milliseconds that a fetch may wait for something to come."""

_stock_worker_consumer = AIOKafkaConsumerThread._create_worker_consumer  # noqa: SLF001 - the method to correct


_stock_do_commit = GroupCoordinator._do_commit_offsets  # noqa: SLF001
_stock_perform_seek = Consumer.perform_seek


def correct_faust(app: faust.App) -> None:
    """Apply all corrections, to Faust's classes and to this app. Applying them again changes nothing."""
    Consumer._wait_next_records = _wait_next_records  # noqa: SLF001 - the method to correct
    AIOKafkaConsumerThread.seek_to_committed = _seek_to_committed
    GroupCoordinator._do_commit_offsets = _do_commit_offsets  # noqa: SLF001
    Consumer.perform_seek = _perform_seek
    Consumer._commit_offsets = _commit_offsets  # noqa: SLF001
    AIOKafkaConsumerThread._create_worker_consumer = _create_worker_consumer  # noqa: SLF001 - the method to correct

    @app.on_rebalance_complete.connect(weak=False)  # type: ignore[untyped-decorator]
    async def stop_flow_before_seek(app: faust.App, **_: Any) -> None:
        app.consumer.stop_flow()
        await app.consumer.wait_for_stopped_flow()


async def _wait_next_records(self: Any, timeout: float) -> tuple[Mapping[Any, Any], Any]:  # noqa: ASYNC109 - Faust's
    """Fetch the next records of the active partitions; `not_waiting_next_records` is clear while the fetch is in flight."""
    if not self.flow_active:
        await self.wait(self.can_resume_flow)
    self.not_waiting_next_records.clear()
    try:
        if self.app.client_only:
            return await self._getmany(active_partitions=None, timeout=timeout), None
        active_partitions = self._get_active_partitions()
        if not active_partitions:
            await self.sleep(1)
            return {}, active_partitions
        return await self._getmany(active_partitions=active_partitions, timeout=timeout), active_partitions
    finally:
        self.not_waiting_next_records.set()


async def _seek_to_committed(self: Any) -> Mapping[Any, Any]:
    """Seek each partition to its committed offset, or to its beginning if it has none; returns what is committed."""

    async def seek() -> Mapping[Any, Any]:
        consumer = self._ensure_consumer()
        committed: Mapping[Any, Any] = await consumer.seek_to_committed()
        if unknown := [partition for partition, offset in committed.items() if not offset]:
            await consumer.seek_to_beginning(*unknown)
        return committed

    found: Mapping[Any, Any] = await self.call_thread(seek)
    return found


def _create_worker_consumer(self: Any, transport: Any) -> Any:
    consumer = _stock_worker_consumer(self, transport)
    consumer._fetch_max_wait_ms = FETCH_WAIT  # noqa: SLF001 - Faust passes a number of its own
    consumer._isolation_level = "read_committed"  # noqa: SLF001 - Faust does so in its exactly-once mode only
    return consumer


async def _do_commit_offsets(self: Any, assignment: Any, offsets: Any) -> Any:
    """Commit offsets, unless the assignment they are of is over. Raises IllegalGenerationError."""
    if not assignment.active:
        raise IllegalGenerationError(self.group_id)
    return await _stock_do_commit(self, assignment, offsets)


async def _perform_seek(self: Any) -> None:
    """Begin a generation where its partitions are committed, with nothing acknowledged."""
    await _stock_perform_seek(self)
    self._acked.clear()
    self._acked_index.clear()


async def _commit_offsets(self: Any, offsets: Mapping[Any, int], start_new_transaction: bool = True) -> bool:  # noqa: ARG001, FBT002 - Faust's
    """Commit offsets of partitions that are ours; what failed, or was of an earlier generation, does not count as done."""
    ours = {partition: offset for partition, offset in offsets.items() if partition in self.assignment()}
    if not ours:
        return False
    generation = self.app.consumer_generation_id
    done: bool = await self._commit(ours)
    if done and generation == self.app.consumer_generation_id:
        self._committed_offset.update(ours)
        self.app.monitor.on_tp_commit(ours)
    return done
