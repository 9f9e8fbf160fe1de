"""The consumer of the worker: Faust's and aiokafka's, with what is wrong in Faust 0.15.3 put right, and chunks.

Faust's App names its Transport, that its Consumer, and that the thread in which aiokafka's consumer runs; here each is
a class of its own, and theirs stay as they are. What is put right, each with its cause:

1. Lost and repeated records around rebalances. `Consumer._wait_next_records` sets the event `not_waiting_next_records` before it
   fetches, where it must clear it. So `wait_for_stopped_flow` returns while a fetch is in flight; Faust then seeks, and what the
   fetch brings afterwards is taken for records after the seek: some are skipped, some come twice.
2. The same at the end of a rebalance: Faust seeks to the committed offsets without stopping the flow first.
3. Lost records where nothing is committed yet. The same seek leaves such a partition where it is: behind what was fetched and
   thrown away during the rebalance.
4. Stalls. One fetch is under way at a time; it asks for the partitions that have nothing buffered, and waits up to 1.5 s for
   them to have something. What comes meanwhile to a partition that had something buffered waits with it.
5. Faust reads only what is committed in its exactly-once mode alone, whose producer is its own.
6. Commits that are out of date. aiokafka tries a commit again until the coordinator answers, each time in the name of the
   generation that it then belongs to. After a freeze or an outage of the broker, that sets a partition back to where it was
   generations ago. Faust takes a failed commit for done, and keeps what was acknowledged in earlier generations: it then waits
   for offsets that never come, and commits no more.
7. A gap in the offsets counts as acknowledged at once, and with it the message behind it, which is yet to be worked on.
"""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import faust
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.errors import IllegalGenerationError
from aiokafka.structs import ConsumerRecord
from faust.transport.drivers import aiokafka as stock
from faust.types.tuples import TP, ack_lock
from mode.utils.futures import notify

from agents.transport.chunks import Chunk
from pipeline.kafka.consumer import Consumer as EveryRecord
from pipeline.kafka.consumer import with_parts

FETCH_WAIT_MS = 100
"""How long a fetch may wait for something to come."""


class Coordinator(GroupCoordinator):  # type: ignore[misc]
    """A member of the group that commits nothing out of date."""

    async def _do_commit_offsets(self, assignment: Any, offsets: Any) -> Any:
        """Commit offsets, unless the assignment they are of is over. Raises IllegalGenerationError."""
        if not assignment.active:
            raise IllegalGenerationError(self.group_id)
        return await super()._do_commit_offsets(assignment, offsets)


class GroupConsumer(EveryRecord):
    """aiokafka's consumer in the worker."""

    start = with_parts(EveryRecord.start, GroupCoordinator=Coordinator)


def _group_consumer(**arguments: Any) -> GroupConsumer:
    """The consumer that Faust wants, with other settings where it leaves no choice."""
    return GroupConsumer(**(arguments | {"fetch_max_wait_ms": FETCH_WAIT_MS, "isolation_level": "read_committed"}))


class ConsumerThread(stock.AIOKafkaConsumerThread):  # type: ignore[misc]
    """The thread in which aiokafka's consumer runs."""

    _create_worker_consumer = with_parts(
        stock.AIOKafkaConsumerThread._create_worker_consumer,  # noqa: SLF001 - it makes the consumer
        aiokafka=SimpleNamespace(AIOKafkaConsumer=_group_consumer),
    )

    async def seek_to_committed(self) -> Mapping[Any, Any]:
        """Seek each partition to its committed offset, or to its beginning if it has none; returns what is committed."""

        async def seek() -> Mapping[Any, Any]:
            consumer = self._ensure_consumer()
            committed: Mapping[Any, Any] = await consumer.seek_to_committed()
            if unknown := [partition for partition, offset in committed.items() if not offset]:
                await consumer.seek_to_beginning(*unknown)
            return committed

        found: Mapping[Any, Any] = await self.call_thread(seek)
        return found


class Consumer(stock.Consumer):  # type: ignore[misc]
    """Faust's consumer. What it is given by a ChunkScheduler it hands over as chunks."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._handed: dict[TP, int] = {}
        """offset of the last record that was handed over, since a generation began"""

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    async def _wait_next_records(self, timeout: float) -> tuple[Mapping[Any, Any], Any]:  # noqa: ASYNC109 - Faust's
        """Fetch the next records of the active partitions; `not_waiting_next_records` is clear while the fetch is in flight."""
        if not self.flow_active:
            await self.wait(self.can_resume_flow)
        self.not_waiting_next_records.clear()
        try:
            active_partitions = self._get_active_partitions()
            if not active_partitions:
                await self.sleep(1)
                return {}, active_partitions
            return await self._getmany(active_partitions=active_partitions, timeout=timeout), active_partitions
        finally:
            self.not_waiting_next_records.set()

    def left(self, tp: TP) -> int | None:
        """How many records of a partition are yet to be finished with; None until that is known.

        What was read and what was not is counted apart: behind the last record of a topic there may be the ends of transactions,
        which are read and are no records.
        """
        end, committed = self.highwater(tp), self._committed_offset.get(tp)
        assignment = self._thread._ensure_consumer()._subscription.subscription.assignment  # noqa: SLF001 - aiokafka's
        reading = assignment.state_value(tp) if assignment is not None else None
        if end is None or reading is None or not reading.has_valid_position:
            return None
        begun = max(0, self._handed[tp] + 1 - (committed or 0)) if tp in self._handed else 0
        unread: int = max(0, end - reading.position)
        return unread + begun

    async def perform_seek(self) -> None:
        """Begin a generation where its partitions are committed, with nothing acknowledged."""
        await super().perform_seek()
        self._handed.clear()
        self._acked.clear()
        self._acked_index.clear()

    async def _commit_offsets(
        self,
        offsets: Mapping[Any, int],
        start_new_transaction: bool = True,  # noqa: ARG002, FBT002 - Faust's
    ) -> bool:
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

    def _to_message(self, tp: TP, record: Any) -> Any:
        """What comes next to be handed over. A chunk follows on what was read before."""
        if isinstance(record, ConsumerRecord):
            return super()._to_message(tp, record)
        read, first = self._read_offset[tp], record[0].offset
        self._handed[tp] = record[-1].offset
        return Chunk(tp, first if read is None else min(first, read + 1), record, self.app.consumer_generation_id)

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        """Leave a gap in the offsets to the chunk that follows it."""

    def ack(self, message: Any) -> bool:
        """Have the offsets of a message committed; those of a chunk one by one, as Faust has that of a single message.

        An offset that waits to be committed already, from before a rebalance, is not added again: Faust commits the longest run
        of consecutive offsets, and a repeated one would end it.
        """
        if not isinstance(message, Chunk):
            return bool(super().ack(message))
        with ack_lock:
            if message.acked:
                return False
            message.acked = True
            if not self.app.topics.acks_enabled_for(message.topic):
                return False
            committed, waiting = self._committed_offset[message.tp] or 0, self._acked_index[message.tp]
            covered = range(max(message.first, committed), message.offset + 1)
            offsets = [offset for offset in covered if offset not in waiting]
            if offsets:
                self._unacked_messages.discard(message)
                self._acked[message.tp].extend(offsets)
                waiting.update(offsets)
                self._n_acked += len(offsets)
            notify(self._waiting_for_ack)
            return bool(offsets)


class Transport(stock.Transport):  # type: ignore[misc]
    """Faust's transport, with our consumer."""

    Consumer = Consumer


async def stop_flow_before_seek(app: faust.App, **_: Any) -> None:
    """Hand over nothing while Faust seeks at the end of a rebalance; for the app's signal `on_rebalance_complete`."""
    app.consumer.stop_flow()
    await app.consumer.wait_for_stopped_flow()
