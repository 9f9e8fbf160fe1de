"""The stories that a new one can be matched with, and where `match` puts what it finds of them."""

from collections.abc import Iterable

import numpy as np

from pipeline.records import Assignment
from pipeline.similarity import minhash, simhash
from pipeline.similarity.buckets import BucketTables, Keys, band_keys, xor_keys
from pipeline.similarity.items import Items
from pipeline.similarity.minhash_compiled import Signature
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
    """The stories that the look-back still reaches: those that a new one can be matched with.

    They are numbered in the order in which they came; the arrays and lists hold each in the slot that `items` gives it.
    """

    def __init__(self, rule: ClusterRule) -> None:
        self._rule = rule
        self.buckets = BucketTables(rule.bands, rule.bucket_capacity)
        self.bodies = BucketTables(rule.body_bands, rule.bucket_capacity)
        self.items = Items()
        self.ids: list[str] = [""] * len(self.items.rows)
        self.copy_of: list[str | None] = [None] * len(self.items.rows)
        """the first story that each is a copy of"""
        self._came = np.zeros(len(self.items.rows), np.int64)
        """the stream time at which each came"""
        self.with_body: dict[int, tuple[int, bytes]] = {}
        """by its number in `bodies` that in `buckets`, and the signature of the body"""
        self.signatures: dict[int, Signature] = {}
        """by number, for the profile that compares them"""

    def __len__(self) -> int:
        """How many there are."""
        return self.buckets.next - self.buckets.oldest

    def add(self, row: Assignment, stream_time: int) -> int:
        """Let a story be matched; returns its number, for which there are slots in `buckets` and `items`."""
        number = self.buckets.next_number()
        self.items.reserve(number, self.buckets.oldest)
        if len(self.ids) < len(self.items.rows):
            self._grow(number)
        slot = self.items.slot(number)
        self.ids[slot], self.copy_of[slot], self._came[slot] = row.story.id, row.duplicate_of, stream_time
        if row.body_signature is not None:
            body = self.bodies.insert(body_keys(self._rule, row.body_signature))
            self.with_body[body] = (number, row.body_signature)
        return number

    def _grow(self, number: int) -> None:
        old, ids, copy_of, came = len(self.ids), self.ids, self.copy_of, self._came
        slots = len(self.items.rows)
        self.ids, self.copy_of, self._came = [""] * slots, [None] * slots, np.zeros(slots, np.int64)
        for kept in range(self.buckets.oldest, number):
            here, there = kept % old, kept % slots
            self.ids[there], self.copy_of[there], self._came[there] = ids[here], copy_of[here], came[here]

    def names(self, numbers: Iterable[int]) -> list[str]:
        """The ids of the stories with these numbers."""
        ids, last = self.ids, len(self.ids) - 1
        return [ids[number & last] for number in numbers]

    def original(self, number: int) -> str:
        """The first story of which the one with this number is a copy: it, if it is none."""
        slot = self.items.slot(number)
        return self.copy_of[slot] or self.ids[slot]

    def move(self, numbers: Iterable[int], group: int) -> None:
        """The stories with these numbers are in another group now."""
        self.items.move([number for number in numbers if number >= self.buckets.oldest], group)

    def forget(self, horizon: int) -> None:
        """Match no more with the stories that came before the horizon."""
        number = self.buckets.oldest
        while number < self.buckets.next and self._came[self.items.slot(number)] < horizon:
            self.signatures.pop(number, None)
            if self.with_body:
                body, (first, _) = next(iter(self.with_body.items()))
                if first == number:
                    del self.with_body[body]
                    self.bodies.forget(body + 1)
            number += 1
            self.buckets.forget(number)


def body_keys(rule: ClusterRule, signature: bytes) -> Keys:
    """The band keys of a body's signature."""
    return band_keys(minhash.from_bytes(signature), rule.body_bands, rule.body_rows)


def story_keys(rule: ClusterRule, signature: Signature, print_: int) -> Keys:
    """The band keys of a story, from its MinHash signature or its SimHash, as the profile has it."""
    if rule.profile == "hu-you":
        return simhash.block_keys(print_, rule.blocks)
    if rule.profile == "newshound":
        return xor_keys(signature, rule.bands, rule.rows)
    return band_keys(signature, rule.bands, rule.rows)
