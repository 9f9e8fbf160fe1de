"""Fingerprint: a normalised story gets its MinHash signatures and its SimHash."""

from collections import Counter

import msgspec

from pipeline.records import Fingerprint, NormalisedStory
from pipeline.similarity import minhash, simhash
from pipeline.similarity.shingles import shingles


def fingerprint(story: NormalisedStory) -> Fingerprint:
    """The story with its sketches: MinHash over the set of its tokens, SimHash weighted by how often each occurs.

    A body has a MinHash of its own, over its character shingles, and is not carried on.
    """
    counts = Counter(story.tokens)
    body = None if story.body is None else minhash.to_bytes(minhash.signature(shingles(story.body)))
    return Fingerprint(
        story=story if story.body is None else msgspec.structs.replace(story, body=None),
        signature=minhash.to_bytes(minhash.signature(counts.keys())),
        simhash=simhash.to_hex(simhash.fingerprint(counts)),
        body_signature=body,
    )
