"""The stories that a new one can be matched with: what Python keeps of them beside the window's arrays."""

from collections import deque
from collections.abc import Iterable

import numpy as np

from pipeline.records import Assignment
from pipeline.similarity import minhash
from pipeline.similarity.buckets import BucketTables, Keys, Numbers, band_keys, xor_keys
from pipeline.similarity.minhash_compiled import Signature
from pipeline.similarity.nearby import Nearby
from pipeline.stages.rules import ClusterRule

SLOTS = 64
"""Slots at first: a power of two."""
FEWEST_STALE = 1_000
"""Forgotten stories before the index of fingerprints is built again without them."""


class StoryIndex:
    """The stories that the look-back still reaches, numbered in the order in which they came.

    The window holds what kernels need of them; here are their ids, and what few profiles or stories have.
    """

    def __init__(self, rule: ClusterRule) -> None:
        self._rule = rule
        self._oldest = self._next = 0
        self._ids: list[str] = [""] * SLOTS
        self._copy_of: list[str | None] = [None] * SLOTS
        """the first story that each is a near-duplicate of"""
        self._bodies = BucketTables(rule.body_bands, rule.bucket_capacity)
        self._with_body: dict[int, tuple[int, bytes]] = {}
        """by its number in the tables of bodies, a story's number and the signature of its body"""
        self.signatures: dict[int, Signature] = {}
        """by number, for the profile that compares them"""
        self.nearby = NearbyStories() if rule.profile == "hu-you" else None

    def __len__(self) -> int:
        """How many there are."""
        return self._next - self._oldest

    def add(self, row: Assignment, number: int) -> None:
        """Take in a story; numbers follow one another."""
        if number - self._oldest >= len(self._ids):
            self._grow()
        self._next = number + 1
        slot = number & (len(self._ids) - 1)
        self._ids[slot], self._copy_of[slot] = row.story.id, row.duplicate_of
        if row.body_signature is not None:
            body = self._bodies.insert(body_keys(self._rule, row.body_signature))
            self._with_body[body] = (number, row.body_signature)

    def _grow(self) -> None:
        old, ids, copy_of = len(self._ids), self._ids, self._copy_of
        slots = 2 * old
        self._ids, self._copy_of = [""] * slots, [None] * slots
        for number in range(self._oldest, self._next):
            self._ids[number % slots], self._copy_of[number % slots] = ids[number % old], copy_of[number % old]

    def names(self, numbers: Iterable[int]) -> list[str]:
        """The ids of the stories with these numbers."""
        ids, last = self._ids, len(self._ids) - 1
        return [ids[number & last] for number in numbers]

    def original(self, number: int) -> str:
        """The first story of which the one with this number is a near-duplicate: itself, if it is none."""
        slot = number & (len(self._ids) - 1)
        return self._copy_of[slot] or self._ids[slot]

    def same_body(self, signature: bytes) -> int | None:
        """The number of the story whose body one with this signature is a near-duplicate of: the most similar, then the first."""
        own = minhash.from_bytes(signature)
        found: list[tuple[float, int]] = []
        for body in self._bodies.query(body_keys(self._rule, signature))[0].tolist():
            number, other = self._with_body[body]
            found.append((-minhash.similarity(own, minhash.from_bytes(other)), number))
        found.sort()
        return found[0][1] if found and -found[0][0] >= self._rule.body_copy_at else None

    def forget(self, oldest: int) -> None:
        """Match no more with the stories before this number."""
        for number in range(self._oldest, oldest):
            self.signatures.pop(number, None)
            if self._with_body:
                body, (first, _) = next(iter(self._with_body.items()))
                if first == number:
                    del self._with_body[body]
                    self._bodies.forget(body + 1)
        if self.nearby is not None:
            self.nearby.forget(oldest)
        self._oldest = oldest


class NearbyStories:
    """The SimHashes of these stories, for the profile that searches by them."""

    def __init__(self) -> None:
        self._nearby = Nearby()
        self._first = 0
        """the number of the first story in it"""
        self._oldest = 0
        self._fingerprints: deque[int] = deque()
        """of the stories from the oldest that counts on"""

    def add(self, number: int, fingerprint: int) -> None:
        """Take in the SimHash of a story; numbers follow one another."""
        assert number == self._first + len(self._nearby)
        self._nearby.add(fingerprint)
        self._fingerprints.append(fingerprint)

    def within(self, bits: int, fingerprint: int) -> Numbers:
        """The numbers of all stories whose SimHashes differ from this one in at most so many bits, ascending."""
        found = self._nearby.query(fingerprint, bits) + self._first
        return found[found >= self._oldest]

    def forget(self, oldest: int) -> None:
        """Stories before this number no longer count. Where they are most, the index is built again without them."""
        for _ in range(oldest - self._oldest):
            self._fingerprints.popleft()
        self._oldest = oldest
        if oldest - self._first > max(FEWEST_STALE, len(self._fingerprints)):
            self._nearby, self._first = Nearby.of(np.array(self._fingerprints, np.uint64)), oldest


def body_keys(rule: ClusterRule, signature: bytes) -> Keys:
    """The band keys of a body's signature."""
    return band_keys(minhash.from_bytes(signature), rule.body_bands, rule.body_rows)


def story_keys(rule: ClusterRule, signature: Signature) -> Keys:
    """The band keys of a story's MinHash signature, as the profile has them."""
    if rule.profile == "newshound":
        return xor_keys(signature, rule.bands, rule.rows)
    return band_keys(signature, rule.bands, rule.rows)
