"""Fingerprint: a normalised story gets its MinHash signatures and its SimHash."""

import msgspec

from pipeline.records import Fingerprint, NormalisedStory
from pipeline.similarity import minhash, simhash
from pipeline.similarity.bag import bag

SHINGLE = 9
"""Characters a shingle of a body: long enough that texts share few by chance (Leskovec, Rajaraman and Ullman, chapter 3.2)."""


def fingerprint(story: NormalisedStory) -> Fingerprint:
    """The story with its sketches: MinHash over the set of its tokens, SimHash weighted by how often each occurs.

    A body has a MinHash of its own, over its character shingles (Broder 1997), and is not carried on.
    """
    counts = bag(story.tokens)
    body = None
    if story.body is not None:
        body = minhash.to_bytes(minhash.shingled(story.body.lower(), SHINGLE))
        story = msgspec.structs.replace(story, body=None)
    return Fingerprint(
        story=story,
        signature=minhash.to_bytes(minhash.signature(counts)),
        simhash=simhash.to_hex(simhash.fingerprint(counts)),
        body_signature=body,
    )
