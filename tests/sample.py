"""The three days of labelled headlines that ship, for tests and for the programs beside them."""

import gzip
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from pathlib import Path

from pipeline.evaluation.labels import read_labels
from pipeline.files import load_stories

STORIES = Path(__file__).parents[1] / "samples" / "uci_sample_3days.jsonl.gz"
TRUTH = STORIES.with_name("uci_sample_3days.truth.csv")
RECEIVED = datetime(2030, 1, 1, tzinfo=UTC)


def lines(count=None):
    """The first stories, or all, as lines of JSON without their ends."""
    with gzip.open(STORIES) as stories:
        return [line.strip() for line in islice(stories, count)]


@cache
def stories():
    """All stories."""
    return load_stories(str(STORIES), RECEIVED, "en")


@cache
def labels():
    """The labels of the stories."""
    return read_labels(str(TRUTH))


def write(path, count):
    """Write the first stories to a file; returns its path."""
    path.write_bytes(b"".join(line + b"\n" for line in lines(count)))
    return path
