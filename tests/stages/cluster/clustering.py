"""Clustering by hand: stories in, what an edition holds out."""

import numpy as np
from hypothesis import strategies as st

from pipeline.languages.background import Background
from pipeline.similarity.centroids import DOCUMENTS, GROUP, SUM
from pipeline.similarity.tfidf import DOCUMENT_FREQUENCY
from pipeline.stages.cluster.stage import cluster
from pipeline.stages.rules import ClusterRule
from pipeline.times import HOUR

NOTHING = Background(0, {})


WORDS = [f"word{n}" for n in range(14)]


RULE = ClusterRule(look_back=3 * HOUR, bucket_capacity=3, merge_candidate_at=0.01)  # so that stories tie clusters


headlines = st.lists(st.sampled_from(WORDS), min_size=0, max_size=6).map(" ".join)


def keep_rows(rows, outcome):
    """Do to the rows, by story and whether they are revisions, what an outcome says."""
    if outcome is None:
        return
    for story_id in outcome.expired.rows:  # first: a story that comes again after its cluster died is among them
        del rows[story_id, False]
    for story_id in outcome.expired.revised:
        del rows[story_id, True]
    row = outcome.assignment
    rows[row.story.id, row.revision] = row


def run(edition, stories, rows=None):
    """What each story brings; `rows` becomes those that are kept."""
    rows = {} if rows is None else rows
    outcomes = []
    for position, story in enumerate(stories):
        outcome = cluster(edition, story, position)
        outcomes.append(outcome)
        keep_rows(rows, outcome)
    return outcomes


def held_by(edition, group):
    """The sum of weights and the number of headlines by token, as the centroids hold them."""
    owners, entries = edition.window.centroids.owners, edition.window.centroids.entries
    own = np.flatnonzero((owners >= 0) & (owners // GROUP == group)).tolist()
    found = {int(owners[place] % GROUP): (int(entries[place, SUM]), int(entries[place, DOCUMENTS])) for place in own}
    return {token: held for token, held in found.items() if any(held)}


def ties(edition):
    """How many stories tie each two clusters, as the window holds it."""
    owners, entries = edition.window.ties.owners, edition.window.ties.entries
    held = {divmod(int(owners[place]), GROUP): int(entries[place, SUM]) for place in np.flatnonzero(owners >= 0)}
    return {
        (edition.in_group[left].id, edition.in_group[right].id): stories
        for (left, right), stories in held.items()
        if stories
    }


def facts(edition, living):
    return edition.window.facts[living.group].tolist()


def sums(edition, living):
    return held_by(edition, living.group)


def picture(edition):
    """All that the state is, in comparable form."""
    clusters = {
        key: (
            c.first,
            c.position,
            sorted(c.members),
            sorted(c.absorbed),
            sorted(c.amendments),
            c.opened,
            c.last,
            c.publishers,
            c.retracted,
            sums(edition, c),
            facts(edition, c),
        )
        for key, c in edition.clusters.items()
    }
    everywhere = held_by(edition, DOCUMENT_FREQUENCY)
    resolve = edition.lifetimes.resolve
    known = {key: known._replace(cluster_id=resolve(known.cluster_id)) for key, known in edition.seen.items()}
    stories = known, edition.revised, edition.retracted, edition.amendments
    counts = everywhere, ties(edition)
    return clusters, stories, edition.lifetimes.survivor, counts, edition.lifetimes.stream_time, edition.position
