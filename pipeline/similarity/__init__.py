"""Sketches, bucket tables and vectors by which similar texts are found: exact integers, and no news in it.

Its four classes are for use as a library; each says where its method comes from:

    MinHash     sets of tokens --> signatures, whose equal rows estimate the Jaccard similarity
    SimHash     weighted tokens --> 64-bit fingerprints, which differ in few bits if most of the weight is the same
    BandIndex   signatures --> those that share a band, probably the similar ones
    BlockIndex  fingerprints --> those within 7 bits, all of them
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.similarity.indexes import BandIndex, BlockIndex
    from pipeline.similarity.transformers import MinHash, SimHash

__all__ = ["BandIndex", "BlockIndex", "MinHash", "SimHash"]

_HOMES = {
    "BandIndex": "pipeline.similarity.indexes",
    "BlockIndex": "pipeline.similarity.indexes",
    "MinHash": "pipeline.similarity.transformers",
    "SimHash": "pipeline.similarity.transformers",
}


def __getattr__(name: str) -> Any:
    """A class, loaded when it is first asked for: most of the product needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
