"""The stories that a new one can be matched with, and where `match` puts what it finds of them."""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from pipeline.records import Assignment
from pipeline.similarity import minhash, simhash
from pipeline.similarity.buckets import BucketTables, Keys, band_keys, xor_keys
from pipeline.similarity.items import Items
from pipeline.stages.rules import ClusterRule
from pipeline.stages.weights import JoinWeights, MergeWeights


class Found:
    """Where `match` puts what it finds of a story; used again for the next."""

    def __init__(self, rule: ClusterRule) -> None:
        self.keys = np.empty(rule.bands, np.int64)
        self.scores = np.empty(rule.similar_kept)
        self.similar = np.empty(rule.similar_kept, np.int64)
        self.near = np.empty(rule.considered, np.int64)
        self.features = np.empty((rule.considered, len(JoinWeights._fields) + 1))
        self.asked = np.empty(rule.considered, np.int64)
        self.taken = np.empty(rule.considered, np.bool_)
        self.compared = np.empty((rule.considered, len(MergeWeights._fields)))


class Matchable:
    """The stories that the look-back still reaches: those that a new one can be matched with."""

    def __init__(self, rule: ClusterRule) -> None:
        self._rule = rule
        self.buckets = BucketTables(rule.bands, rule.bucket_capacity)
        self.bodies = BucketTables(rule.body_bands, rule.bucket_capacity)
        self.items = Items()
        self.ids: dict[int, str] = {}
        """story ids by number in `buckets`"""
        self.with_body: dict[int, str] = {}
        """the same by number in `bodies`"""
        self.signatures: dict[int, NDArray[np.uint32]] = {}
        """by number in `buckets`, for the profile that compares them"""
        self._came: deque[tuple[int, int, bool]] = deque()
        """the stream time at which each came, its number, and whether it has a body"""

    def add(self, row: Assignment, stream_time: int) -> int:
        """Let a story be matched; returns its number, for which there are slots in `buckets` and `items`."""
        number = self.buckets.next_number()
        self.items.reserve(number, self.buckets.oldest)
        self.ids[number] = row.story.id
        self._came.append((stream_time, number, row.body_signature is not None))
        if row.body_signature is not None:
            self.with_body[self.bodies.insert(body_keys(self._rule, row.body_signature))] = row.story.id
        return number

    def move(self, numbers: list[int], group: int) -> None:
        """The stories with these numbers are in another group now."""
        self.items.move([number for number in numbers if number >= self.buckets.oldest], group)

    def forget(self, horizon: int) -> None:
        """Match no more with the stories that came before the horizon."""
        while self._came and self._came[0][0] < horizon:
            _, number, with_body = self._came.popleft()
            del self.ids[number]
            self.signatures.pop(number, None)
            self.buckets.forget(number + 1)
            if with_body:
                body = next(iter(self.with_body))
                del self.with_body[body]
                self.bodies.forget(body + 1)


def body_keys(rule: ClusterRule, signature: bytes) -> Keys:
    """The band keys of a body's signature."""
    return band_keys(minhash.from_bytes(signature), rule.body_bands, rule.body_rows)


def story_keys(rule: ClusterRule, signature: NDArray[np.uint32], print_: str) -> Keys:
    """The band keys of a story, from its MinHash signature or its SimHash, as the profile has it."""
    if rule.profile == "hu-you":
        return simhash.block_keys(simhash.from_hex(print_), rule.blocks)
    if rule.profile == "newshound":
        return xor_keys(signature, rule.bands, rule.rows)
    return band_keys(signature, rule.bands, rule.rows)
