"""Alerts of one happening in several languages. `python -m tests.links` learns the weights of links and measures them.

Each event in each language of `one_event_many_languages.csv` is one alert. The weights are learned on one half of the
events and measured on the other, and the other way round. The two quakes and the two takeovers in Italy are in the same
half, and so are events that happen in the same country. The two ferry accidents and the two resignations are not.
"""

import itertools
import sys
from collections import defaultdict

import numpy as np

from pipeline.stages import link
from tests import multilingual

HALF = frozenset(
    [
        "bank-lariana-noorderbank",
        "blast-gujarat",
        "ferry-java",
        "quake-iran",
        "quake-peru",
        "resign-slovakia",
        "space-launch-india",
        "takeover-bank-italy",
        "verdict-peru",
        "verdict-slovakia",
    ]
)
RIDGE = 0.5


def alerts():
    """The headlines of each alert, by event and language."""
    found = defaultdict(list)
    for rows in multilingual.rows("one_event_many_languages").values():
        for row in rows:
            found[row["event"], row["language"]].append(row["title"])
    return dict(found)


def pairs(events):
    """The pairs of alerts of these events in different languages: whether both are of one event, and their profiles."""
    profiles = {
        (event, language): link.profile(tuple(titles), language)
        for (event, language), titles in alerts().items()
        if event in events
    }
    for left, right in itertools.combinations(profiles, 2):
        if left[1] != right[1]:
            yield left[0] == right[0], profiles[left], profiles[right]


def learn(some):
    """Weights by logistic regression with a ridge, by Newton's method."""
    same = np.array([float(of_one) for of_one, _, _ in some])
    features = np.array([link.features(left, right) for _, left, right in some])
    ridge = RIDGE * np.eye(features.shape[1])
    ridge[0, 0] = 1e-6
    weights = np.zeros(features.shape[1])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-features @ weights))
        slope = features.T @ (likely - same) + ridge @ weights
        weights -= np.linalg.solve((features.T * (likely * (1 - likely))) @ features + ridge, slope)
    return link.LinkWeights(*weights.round(2).tolist())


def scores(some, weights):
    """Precision and recall of links with these weights."""
    link.WEIGHTS, shipped = weights, link.WEIGHTS
    try:
        found = [(of_one, link.link_score(left, right) >= link.LINK_AT) for of_one, left, right in some]
    finally:
        link.WEIGHTS = shipped
    true = sum(of_one and linked for of_one, linked in found)
    return true / max(1, sum(linked for _, linked in found)), true / sum(of_one for of_one, _ in found)


def main():
    """Print precision and recall of both halves, and the weights learned on all events."""
    events = {event for event, _ in alerts()}
    halves = [list(pairs(HALF)), list(pairs(events - HALF))]
    for learned, measured in (halves, halves[::-1]):
        precision, recall = scores(measured, learn(learned))
        sys.stdout.write(
            f"learned on one half, measured on the other: precision {precision:.3f}, recall {recall:.3f}\n"
        )
    sys.stdout.write(f"learned on both: {learn([*halves[0], *halves[1]])}\n")


if __name__ == "__main__":
    main()
