"""The tables of the two stages that keep state: one row a story, as bytes, in a compacted changelog.

A table is the truth from which the state of its partitions is rebuilt after each rebalance:

    changelog --Faust's recovery--> table rows --restore--> editions
    editions --one story--> row --> table and changelog, before anything is acknowledged

Rows are written past Faust's `table[key] = value`: inside a batch that raises, it does not say when a row is safe, and it
does not note the row's partition, so that Faust would keep rows of partitions that other workers own by then.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import faust

from agents.outbox import Message, Outbox
from pipeline.config import Settings
from pipeline.languages.background import background
from pipeline.records import Assignment, Detection, Record, decode
from pipeline.stages import clustering, counting
from pipeline.stages.lifetimes import Dropped

R = TypeVar("R", bound=Record)
E = TypeVar("E")


class StageTable(Generic[R, E]):
    """The rows of a stage, and the editions that are rebuilt from them, by partition."""

    def __init__(
        self,
        app: faust.App,
        name: str,
        kind: type[R],
        edition_of: Callable[[R], str],
        new_edition: Callable[[str], E],
        restore: Callable[[E, list[R]], None],
    ) -> None:
        self._kind, self._edition_of, self._new_edition, self._restore = kind, edition_of, new_edition, restore
        self._editions: dict[tuple[int, str], E] = {}
        self._dropped: list[tuple[int, Dropped]] = []
        self._table = app.Table(name, key_type=bytes, value_type=bytes, help=f"One {kind.__name__} a story.")
        self._table.on_recover(self._recover)

    def edition(self, partition: int, name: str) -> E:
        """The state of an edition."""
        key = (partition, name)
        if key not in self._editions:
            self._editions[key] = self._new_edition(name)
        return self._editions[key]

    def put(self, outbox: Outbox, partition: int, story_id: str, row: bytes) -> None:
        """Write an encoded row, here and in the changelog."""
        self._write(outbox, partition, story_id, row)

    def drop(self, partition: int, dropped: Dropped) -> None:
        """Have this deleted when what was sent is safe."""
        self._dropped.append((partition, dropped))

    async def settle(self, outbox: Outbox, clusters_topic: str | None = None) -> None:
        """Wait until all that was sent is safe, then delete what was dropped; clusters with a tombstone on their topic.

        In this order, because a story that is delivered again after a crash is answered from its row: the row may go only
        when that answer has been heard.
        """
        await outbox.settle()
        dropped, self._dropped = self._dropped, []
        if clusters_topic is not None:
            for partition, dead in dropped:
                for cluster_id in dead.clusters:
                    outbox.add(Message(clusters_topic, cluster_id.encode(), None, partition))
            await outbox.settle()
        for partition, dead in dropped:
            for story_id in dead.rows:
                self._write(outbox, partition, story_id, None)
        await outbox.settle()

    def _write(self, outbox: Outbox, partition: int, story_id: str, value: bytes | None) -> None:
        key = story_id.encode()
        store: Any = self._table.data
        if value is None:
            store.data.pop(key, None)
            store._key_partition.pop(key, None)  # noqa: SLF001 - Faust keeps it nowhere else
        else:
            store.data[key] = value
            store._key_partition[key] = partition  # noqa: SLF001 - as above
        outbox.add(Message(self._table.changelog_topic_name, key, value, partition))

    async def _recover(self) -> None:
        """Build all editions anew: Faust has just brought the rows up to date for the partitions that are ours now."""
        self._editions.clear()
        self._dropped.clear()
        store: Any = self._table.data
        found: dict[tuple[int, str], list[R]] = {}
        for key, value in store.data.items():
            row = decode(value, self._kind)
            partition = store._key_partition[key]  # noqa: SLF001 - as above
            found.setdefault((partition, self._edition_of(row)), []).append(row)
        for (partition, name), rows in found.items():
            self._restore(self.edition(partition, name), rows)


def clustering_table(app: faust.App, settings: Settings) -> StageTable[Assignment, clustering.Edition]:
    """The table of the cluster stage."""
    rule, weights = settings.cluster_rule(), settings.score_weights()
    return StageTable(
        app,
        "clustering",
        Assignment,
        lambda row: row.story.edition,
        lambda name: clustering.Edition(background(name), rule, weights),
        clustering.restore,
    )


def detection_table(app: faust.App, settings: Settings) -> StageTable[Detection, counting.Edition]:
    """The table of the detect stage."""
    rule, weights = settings.detect_rule(), settings.score_weights()
    return StageTable(
        app,
        "detection",
        Detection,
        lambda row: row.assignment.story.edition,
        lambda _: counting.Edition(rule, weights),
        counting.restore,
    )
