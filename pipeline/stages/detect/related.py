"""Related events: which other active events an alert reads like.

Two events of one edition can be two sides of one happening, or two happenings of one kind; words do not tell which. So an alert
names the events that it may belong to, and is not held back.
"""

import math

from pipeline.records import RelatedEvent
from pipeline.stages.detect.renewal import MIN_FOR_SIMILARITY, Burst, burst
from pipeline.stages.detect.state import CountedCluster, DetectState
from pipeline.stages.detect.window_story import WindowStory

RELATED_AT = 0.2
"""The cosine from which events are related."""
MAX_RELATED = 5


def related_events(state: DetectState, counted: CountedCluster, window: list[WindowStory]) -> list[RelatedEvent]:
    """The active events of other clusters that read like this cluster's event, which breaks in `window`; the most alike first."""
    if len(window) < MIN_FOR_SIMILARITY:
        return []
    new = burst([story.weights for story in window])
    found: list[RelatedEvent] = []
    for other in state.active():
        if other is counted:
            continue
        event = other.events[-1]
        broken = other.broken_window(event)
        if len(broken) < MIN_FOR_SIMILARITY:
            continue
        score = cosine(other.burst_of(event, broken), new)
        if score >= RELATED_AT:
            found.append(RelatedEvent(event_id=event.event_id, score=round(score, 3)))
    return sorted(found, key=lambda related: (-related.score, related.event_id))[:MAX_RELATED]


def cosine(left: Burst, right: Burst) -> float:
    """The cosine of the mean vectors of two bursts."""
    across = math.fsum(weight * right.mean[token] for token, weight in left.mean.items() if token in right.mean)
    return across / math.sqrt(left.square * right.square)
