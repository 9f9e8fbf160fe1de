"""Shingles: the overlapping pieces of a long text, by which its copies are found (Broder 1997)."""

WIDTH = 9
"""Characters a shingle: long enough that texts share few by chance (Leskovec, Rajaraman and Ullman, chapter 3.2)."""
LONGEST = 20_000
"""Characters of a text that are looked at."""


def shingles(text: str, width: int = WIDTH) -> set[str]:
    """The distinct runs of `width` characters of the text, in small letters; a shorter text is its own shingle."""
    text = text[:LONGEST].lower()
    return {text[start : start + width] for start in range(max(1, len(text) - width + 1))} if text else set()
