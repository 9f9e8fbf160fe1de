"""What the worker counts, for Prometheus: each record once a stage, with what became of it."""

from collections.abc import Mapping

from prometheus_client import Counter, Gauge, Histogram

RECORDS = Counter("newsburst_records_total", "Records that a stage has dealt with.", ["stage", "outcome"])
"""Outcomes: done, repeated (seen already), revised (seen, now with another text or retracted), late (done, but older than the
look-back), amended, refused (an amendment that cannot be), ticks, dead (in the dead letters)."""


def count(stage: str, outcomes: Mapping[str, int] | None) -> None:
    """Count the records of a batch by what became of them: once a batch, since looking a counter up costs microseconds."""
    for outcome, records in (outcomes or {}).items():
        RECORDS.labels(stage, outcome).inc(records)


DEAD_LETTERS = Counter(
    "newsburst_dead_letters_total",
    "Messages that a stage could not work on, by what is wrong.",
    ["stage", "cause", "reason"],
)
"""Causes: invalid (the record is to blame), failed (the stage is: a fault of ours, or too slow)."""
LAG = Gauge("newsburst_lag", "Offsets that this worker has yet to finish with, as it last saw them.", ["topic"])
GENERATION = Gauge("newsburst_generation", "Generation of the consumer group; 0 during a rebalance.")

UPDATE_SECONDS = Histogram(
    "newsburst_update_seconds",
    "From the broker taking in a story to the event update it caused.",
    buckets=(0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300),
)
