"""Restore: the state of the clustering from the rows that were kept."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from pipeline.records import Amended, Assignment, StreamTime
from pipeline.similarity import minhash, simhash
from pipeline.similarity.items import token_ids
from pipeline.similarity.minhash_compiled import Signature
from pipeline.stages.cluster.amend import apply_amended
from pipeline.stages.cluster.index import story_keys
from pipeline.stages.cluster.state import ClusterState, Sketch, advance, apply, revise
from pipeline.stages.lifetimes import replay_time
from pipeline.times import to_micros

Row = Assignment | StreamTime | Amended
RESTORE_BATCH = 1_000
"""Rows whose signatures are made at once."""


def restore(state: ClusterState, rows: Iterable[Row]) -> None:
    """Build the state from the rows that were kept, which come in the order of their positions.

    Rows that should have been deleted already are deleted with the next story; until then they answer for theirs.
    """
    in_order = iter(rows)
    while part := list(islice(in_order, RESTORE_BATCH)):
        for row, words, signature in _signed(part):
            replay_time(state.lifetimes, row)
            _take(state, row, words, signature)


def follow(state: ClusterState, rows: Sequence[Row]) -> None:
    """Take in the rows that the owner of a state writes, as they come: this state stays equal to the owner's.

    What dies is let go of where the owner lets go of it, who deletes the rows.
    """
    for row, words, signature in _signed(rows):
        replay_time(state.lifetimes, row)
        if not isinstance(row, Amended) and not (isinstance(row, Assignment) and row.revision):
            advance(state)
        _take(state, row, words, signature)


def _signed(rows: Sequence[Row]) -> Iterator[tuple[Row, int, Signature]]:
    """Each row with the number of its headline's words, and their signature."""
    headlines = [_headline(row) if isinstance(row, Assignment) else () for row in rows]
    signatures = minhash.signatures(headlines)
    return zip(rows, map(len, headlines), signatures, strict=True)


def _take(state: ClusterState, row: Row, words: int, signature: Signature) -> None:
    """Take in one row."""
    if isinstance(row, StreamTime):
        state.position = row.position
    elif isinstance(row, Amended):
        apply_amended(state, row)
    elif row.revision:
        revise(state, row)
    else:
        time = to_micros(row.story.crawled_at)
        weights = np.fromiter(row.weights.values(), np.int64, len(row.weights))
        keys, fingerprint = story_keys(state.rule, signature), simhash.from_hex(row.simhash)
        apply(state, row, Sketch(token_ids(row.weights), weights, words, keys, signature, fingerprint), time)


def _headline(row: Assignment) -> Collection[str]:
    """The distinct tokens of a row's headline, in reading order."""
    return dict.fromkeys(row.story.tokens) if row.story.lead else row.weights
