"""Metrics: what a worker counts and measures, for Prometheus.

All that can be preset is 0 from the start, so that a rate over a new worker is right and a dashboard has no holes. Stages time
their batches by `timed`; what is looked at now and then is set by `agents.measure`.
"""

import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import Counter, Gauge, Histogram, Info

OUTCOMES = {
    "normalise": ("done", "dead"),
    "fingerprint": ("done", "dead"),
    "cluster": ("done", "late", "revised", "repeated", "ticks", "amended", "refused", "dead"),
    "detect": ("done", "revised", "repeated", "ticks", "amended", "refused", "dead"),
    "amend": ("done", "dead"),
    "store": ("done", "dead"),
}
"""What can become of a record, by stage: done; late (done, but older than the look-back); repeated (seen already); revised (seen,
now with another text or retracted); amended; refused (an amendment that cannot be); ticks; dead (in the dead letters)."""
STATES = ("started", "updated", "reopened", "ended", "emerging")
"""Of event updates."""
SECONDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

RECORDS = Counter("newsburst_records_total", "Records that a stage has dealt with.", ["stage", "outcome"])
DEAD_LETTERS = Counter(
    "newsburst_dead_letters_total",
    "Messages that a stage could not work on, by what is wrong.",
    ["stage", "cause", "reason"],
)
"""Causes: invalid (the record is to blame), failed (the stage is: a fault of ours, or too slow)."""
DEAD_LETTERS_WAITING = Gauge("newsburst_dead_letters_waiting", "Messages on all topics of dead letters.")
BATCH_SECONDS = Histogram(
    "newsburst_batch_seconds",
    "From taking up a batch of records to its results being safe.",
    ["stage"],
    buckets=SECONDS,
)
COMMITTED = Gauge(
    "newsburst_last_commit_timestamp_seconds", "When results of a stage were last safe; 0: never.", ["stage"]
)
LAG = Gauge("newsburst_lag", "Records that this worker has yet to finish with, of its partitions.", ["topic"])
STREAM_TIME = Gauge("newsburst_stream_time_seconds", "Newest story time of an edition, as Unix time.", ["edition"])
GENERATION = Gauge("newsburst_generation", "Generation of the consumer group; 0 during a rebalance.")
READY = Gauge(
    "newsburst_ready", "1 if the worker has its partitions and reaches Kafka and Postgres, as asked at this scrape."
)
PARTITIONS = Gauge("newsburst_partitions", "Partitions that this worker owns, of all topics.")
LOAD_SECONDS = Histogram(
    "newsburst_load_seconds",
    "From taking a partition over to having its state.",
    ["stage"],
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180),
)
ROWS = Gauge("newsburst_state_rows", "What the state of a stage holds.", ["stage", "kind"])
STATE_BYTES = Gauge("newsburst_state_bytes", "Bytes of the arrays that new stories are compared with.")
BUCKET_FILL = Gauge("newsburst_bucket_fill_ratio", "Share of the buckets of all bands that hold a story.")
CANDIDATES = Histogram(
    "newsburst_candidates",
    "Stories that a new story was compared with: those that share a bucket with it.",
    buckets=(0, 1, 3, 10, 30, 100, 200, 300),
)
EVENTS = Gauge("newsburst_events", "Events of the clusters that are alive.", ["state"])
UPDATES = Counter("newsburst_event_updates_total", "Event updates written.", ["state"])
UPDATE_SECONDS = Histogram(
    "newsburst_update_seconds",
    "From the broker taking in a story to the event update it caused.",
    buckets=(0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300),
)
POSTGRES_WRITES = Counter("newsburst_postgres_writes_total", "Batches written to Postgres.")
POSTGRES_RETRIES = Counter(
    "newsburst_postgres_retries_total", "Batches that Postgres did not take, and that were tried again."
)
BUILD = Info("newsburst_build", "What runs.")


def preset(version: str) -> None:
    """Set all that is known before the first record, for this version of Newsburst."""
    BUILD.info({"version": version, "python": platform.python_version()})
    for stage, outcomes in OUTCOMES.items():
        for outcome in outcomes:
            RECORDS.labels(stage, outcome)
        BATCH_SECONDS.labels(stage)
        COMMITTED.labels(stage)
    for state in STATES:
        UPDATES.labels(state)
    for state in ("active", "ended", "dismissed"):
        EVENTS.labels(state)
    for stage in ("cluster", "detect"):
        LOAD_SECONDS.labels(stage)
        for kind in ("stories", "clusters"):
            ROWS.labels(stage, kind)


def count(stage: str, outcomes: Mapping[str, int] | None) -> None:
    """Count the records of a batch by what became of them: once a batch, since looking a counter up costs microseconds."""
    for outcome, records in (outcomes or {}).items():
        RECORDS.labels(stage, outcome).inc(records)


@contextmanager
def timed(stage: str) -> Iterator[None]:
    """Take the time of a batch, and note when its results are safe, if it ends well."""
    begin = time.perf_counter()
    yield
    BATCH_SECONDS.labels(stage).observe(time.perf_counter() - begin)
    COMMITTED.labels(stage).set_to_current_time()
