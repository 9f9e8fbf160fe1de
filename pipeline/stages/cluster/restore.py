"""Restore: the state of the clustering from the rows that were kept."""

from collections.abc import Collection, Iterable
from itertools import islice

import numpy as np

from pipeline.records import Amended, Assignment, StreamTime
from pipeline.similarity import minhash, simhash
from pipeline.similarity.items import token_ids
from pipeline.stages.cluster.amend import apply_amended
from pipeline.stages.cluster.index import story_keys
from pipeline.stages.cluster.state import ClusterState, Sketch, apply, revise
from pipeline.stages.lifetimes import replay_time
from pipeline.times import to_micros

RESTORE_BATCH = 1_000
"""Rows whose signatures are made at once."""


def restore(state: ClusterState, rows: Iterable[Assignment | StreamTime | Amended]) -> None:
    """Build the state from the rows that were kept, which come in the order of their positions.

    Rows that should have been deleted already are deleted with the next story; until then they answer for theirs.
    """
    in_order = iter(rows)
    while part := list(islice(in_order, RESTORE_BATCH)):
        headlines = [_headline(row) if isinstance(row, Assignment) else () for row in part]
        for row, words, signature in zip(part, headlines, minhash.signatures(headlines), strict=True):
            replay_time(state.lifetimes, row)
            if isinstance(row, StreamTime):
                state.position = row.position
                continue
            if isinstance(row, Amended):
                apply_amended(state, row)
                continue
            if row.revision:
                revise(state, row)
                continue
            time = to_micros(row.story.crawled_at)
            weights = np.fromiter(row.weights.values(), np.int64, len(row.weights))
            keys, fingerprint = story_keys(state.rule, signature), simhash.from_hex(row.simhash)
            apply(state, row, Sketch(token_ids(row.weights), weights, len(words), keys, signature, fingerprint), time)


def _headline(row: Assignment) -> Collection[str]:
    """The distinct tokens of a row's headline, in reading order."""
    return dict.fromkeys(row.story.tokens) if row.story.lead else row.weights
