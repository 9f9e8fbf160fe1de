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
from tests.multilingual import NOON

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
    """The pairs of alerts of these events that have different languages, with whether they are of one event."""
    found = [
        (event, link.Alert(f"{event} {language}", language, NOON, link.profile(titles, language)))
        for (event, language), titles in alerts().items()
        if event in events
    ]
    for (left, alert), (right, other) in itertools.combinations(found, 2):
        if alert.edition != other.edition:
            yield left == right, alert, other


def look_alikes():
    """Pairs of alerts that share a country, a name or a number, and are not about one happening."""
    found = defaultdict(lambda: defaultdict(list))
    for language, of_language in multilingual.rows("two_happenings").items():
        for row in of_language:
            found[int(row["event"])][language].append(row["title"])
    for number, sides in sorted(found.items()):
        one, other = (link.Alert(f"{number} {at}", at, NOON, link.profile(titles, at)) for at, titles in sides.items())
        yield False, one, other


def learn(some):
    """Weights by logistic regression with a ridge, by Newton's method."""
    same = np.array([float(of_one) for of_one, _, _ in some])
    features = np.array([link.features(alert.profile, other.profile) for _, alert, other in some])
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
        found = [(of_one, link.link(alert, other) is not None) for of_one, alert, other in some]
    finally:
        link.WEIGHTS = shipped
    true = sum(of_one and linked for of_one, linked in found)
    return true / max(1, sum(linked for _, linked in found)), true / sum(of_one for of_one, _ in found)


def halves():
    """The pairs of the two halves, with every other look-alike in each."""
    events, others = {event for event, _ in alerts()}, list(look_alikes())
    return [*pairs(HALF), *others[::2]], [*pairs(events - HALF), *others[1::2]]


def main():
    """Print both."""
    one, other = halves()
    for learned, measured in ((one, other), (other, one)):
        precision, recall = scores(measured, learn(learned))
        sys.stdout.write(
            f"learned on one half, measured on the other: precision {precision:.3f}, recall {recall:.3f}\n"
        )
    precision, recall = scores([*one, *other], learn([*one, *other]))
    sys.stdout.write(f"learned and measured on both: precision {precision:.3f}, recall {recall:.3f}\n")
    sys.stdout.write(f"{learn([*one, *other])}\n")


if __name__ == "__main__":
    main()
