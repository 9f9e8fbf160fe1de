"""Counting by hand: assignments in, updates out."""

from hypothesis import strategies as st

from pipeline.codec import decode, encode
from pipeline.records import Detection
from pipeline.stages.detect.stage import detect
from pipeline.stages.rules import DetectRule
from pipeline.times import HOUR, SECOND, to_micros
from tests.make import LONGEST, NOON, assignment, revision

RULE = DetectRule(threshold=3, window=HOUR, min_publishers=2, look_back=3 * HOUR)


# For each place in a stream, how far before it a story came that is revised there instead, and whether it is retracted.
revisions = st.lists(
    st.tuples(st.sampled_from([0, 0, 0, 0, 1, 2, 3, 5, 8, 13]), st.booleans()), min_size=LONGEST, max_size=LONGEST
)


def stories(stream, step=7):
    """Assignments as the cluster stage could make them: a merged cluster gets no more stories."""
    merged = {}
    made = []
    for position, (drawn, shift, publisher, merges) in enumerate(stream):
        cluster_id = drawn
        while cluster_id in merged:
            cluster_id = merged[cluster_id]
        absorbed = [other for other in "abc" if other > cluster_id and other not in merged] if merges else []
        merged |= dict.fromkeys(absorbed, cluster_id)
        made.append(
            assignment(
                position, f"c{cluster_id}", f"s{position}", minutes=step * position + shift, publisher=publisher,
                merged=[f"c{other}" for other in absorbed],
            )
        )  # fmt: skip
    return made


def revised(log, revisions):
    """The log with some of its assignments made revisions of earlier ones, as the cluster stage would make them."""
    merged, gone, made = {}, set(), []
    for row in log:
        back, retracted = revisions[row.position]
        old = log[max(0, row.position - back)]
        if old is row or old.position in gone or old.revision:
            made.append(row)
            merged |= dict.fromkeys(row.merged, row.cluster_id)
            continue
        gone.add(row.position)  # its story never came
        cluster_id = old.cluster_id
        while cluster_id in merged:
            cluster_id = merged[cluster_id]
        minutes = (to_micros(old.story.crawled_at) - to_micros(NOON)) / 60 / SECOND
        publisher = row.story.publisher
        made.append(
            revision(
                row.position, cluster_id, old.story.id, "new text", minutes, publisher=publisher, retracted=retracted
            )
        )
    return made


def keep_row(kept, outcome):
    """Do to the rows, by story and whether they are revisions, what an outcome says."""
    for story_id in outcome.expired.rows:
        del kept[story_id, False]
    for story_id in outcome.expired.revised:
        del kept[story_id, True]
    row = outcome.row.assignment
    kept[row.story.id, row.revision] = outcome.row


def in_order(kept):
    """The rows as they come from a changelog."""
    rows = [decode(encode(row), Detection) for row in kept.values()]
    return sorted(rows, key=lambda row: row.assignment.position)


def run(edition, rows, kept=None):
    """The updates that assignments bring; `kept` becomes the rows that are kept."""
    kept = {} if kept is None else kept
    updates = []
    for row in rows:
        outcome = detect(edition, row)
        updates += outcome.updates
        keep_row(kept, outcome)
    return updates


def burst(count, at=0.0, cluster_id="ca", first=0, publishers="pqrs", step=1.0):
    return [
        assignment(
            first + n,
            cluster_id,
            f"{cluster_id}{first + n}",
            minutes=at + step * n,
            publisher=publishers[n % len(publishers)],
        )
        for n in range(count)
    ]


def picture(edition):
    counted = {
        key: (c.stories, sorted(c.retracted), c.publishers, c.events, sorted(c.absorbed), c.emerged)
        for key, c in edition.clusters.items()
    }
    return counted, edition.revised, edition.lifetimes.survivor, edition.lifetimes.stream_time, edition.position
