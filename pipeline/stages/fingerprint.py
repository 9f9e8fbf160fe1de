"""Fingerprint: a normalised story gets its MinHash signature and its SimHash."""

from collections import Counter

from pipeline.records import Fingerprint, NormalisedStory
from pipeline.similarity import minhash, simhash


def fingerprint(story: NormalisedStory) -> Fingerprint:
    """The story with both sketches of its tokens: MinHash over the set, SimHash weighted by how often each occurs."""
    counts = Counter(story.tokens)
    return Fingerprint(
        story=story,
        signature=minhash.to_bytes(minhash.signature(counts.keys())),
        simhash=simhash.to_hex(simhash.fingerprint(counts)),
    )
