"""A month of news: neither the quality nor the size of the state drifts."""

from datetime import timedelta

import msgspec
import numpy as np
import pytest

from pipeline.evaluation.alerts import judge
from pipeline.evaluation.evaluate import final_clusters
from pipeline.evaluation.labels import Labels
from pipeline.evaluation.metrics import bcubed, scores
from pipeline.languages.background import background
from pipeline.replay import Step, fingerprints
from pipeline.stages.cluster.stage import cluster
from pipeline.stages.cluster.state import ClusterState
from pipeline.stages.detect.stage import detect
from pipeline.stages.detect.state import DetectState
from pipeline.stages.rules import DetectRule
from tests import sample

PERIOD = timedelta(days=5, hours=20)
"""From one showing of the sample to the next: its end has left the look-back when it begins again."""


def shown_again(record, times):
    """A story of the sample as it comes in the showing of this number, under another id."""
    story = msgspec.structs.replace(
        record.story,
        id=f"{record.story.id}-{times}",
        crawled_at=record.story.crawled_at + times * PERIOD,
        received_at=record.story.received_at + times * PERIOD,
    )
    return msgspec.structs.replace(record, story=story)


def test_the_last_week_of_a_month_is_as_good_as_the_first_and_the_state_as_small():
    records = [record for _, record in fingerprints(sample.stories(), sample.RECEIVED)]
    truth = sample.labels().events
    cluster_states, detect_states = ClusterState(background("en")), DetectState()
    quality, sizes = [], []
    position = 0
    for times in range(6):
        steps = []
        for record in records:
            outcome = cluster(cluster_states, shown_again(record, times), position)
            updates = detect(detect_states, outcome.assignment).updates
            steps.append(Step(outcome.assignment, outcome.clusters, updates))
            position += 1
        labels = {f"{story_id}-{times}": label for story_id, label in truth.items()}
        clusters = final_clusters(steps)
        found = bcubed([clusters[story_id] for story_id in labels if story_id in clusters], [
            label for story_id, label in labels.items() if story_id in clusters
        ])  # fmt: skip
        judged = judge(steps, Labels(labels, {}), DetectRule())
        alerts = len(judged.alerts) + len(judged.repeats) + len(judged.false)
        reported = scores(len(judged.alerts) / alerts, len(judged.alerts) / len(judged.due))
        quality.append((found.f1, reported.f1))
        window = cluster_states.window
        sizes.append(
            [
                len(cluster_states.seen),
                len(window.centroids.entries),
                len(window.facts),
                len(cluster_states.lifetimes.survivor),
                len(cluster_states.index),
                sum(len(counted.stories) for counted in detect_states.clusters.values()),
                len(detect_states.clusters),
            ]
        )
    assert quality[-1] == pytest.approx(quality[0], abs=0.02)
    largest = np.max(sizes[1:-1], axis=0)  # what lives at the end of a pass differs with its merges
    assert (np.array(sizes[-1]) <= 1.1 * largest).all()
