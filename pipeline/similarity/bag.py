"""Bags of tokens: how often each occurs."""

from collections.abc import Sequence


def bag(tokens: Sequence[str]) -> dict[str, int]:
    """How often each token occurs, in reading order."""
    counts = dict.fromkeys(tokens, 1)
    if len(counts) < len(tokens):  # most headlines say a word once
        for token in counts:
            counts[token] = tokens.count(token)
    return counts
