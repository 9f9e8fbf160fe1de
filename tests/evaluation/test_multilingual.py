"""Other languages: events told in other words, breaking events among other news, and bursts that share a word."""

from collections import Counter, defaultdict
from statistics import mean

import pytest

from pipeline.evaluation.evaluate import final_clusters
from pipeline.stages.rules import DetectRule
from tests import multilingual

LANGUAGES = sorted(multilingual.rows("paraphrases"))
SIX = sorted(multilingual.rows("six_events"))


def test_what_is_said_in_other_words_is_found_in_sixteen_languages():
    found = [multilingual.paraphrases(rows) for rows in multilingual.rows("paraphrases").values()]
    assert len(found) == 16
    assert mean(scores.recall for scores in found) >= 0.85
    assert mean(scores.precision for scores in found) >= 0.98


@pytest.mark.parametrize("language", SIX)
@pytest.mark.parametrize("breaks_at", [multilingual.COLD, multilingual.WARM], ids=["cold", "warm"])
def test_most_of_a_breaking_event_is_one_cluster_in_any_language(language, breaks_at):
    """More than 15 of the 20 headlines would be an alert: docs/quality.md says in which languages they are."""
    others = [row for row in multilingual.rows("multilingual")[language] if row["event"] != "main"]
    event = [row | {"event": "breaking"} for row in multilingual.rows("six_events")[language]]
    stories, events = multilingual.stream([*event, *others], breaking="breaking", breaks_at=breaks_at)
    steps = multilingual.run(stories)
    clusters = final_clusters(steps)
    largest, count = Counter(clusters[story] for story, event in events.items() if event == "breaking").most_common(1)[
        0
    ]
    strangers = [story for story, event in events.items() if event != "breaking" and clusters[story] == largest]
    assert count >= 11
    assert 2 * len(strangers) <= count  # some are much alike, as two landslides are
    assert (count > DetectRule().threshold) <= len(multilingual.alerts(steps)) <= 1


@pytest.mark.parametrize("minutes", [0, 5, 30])
def test_two_bursts_that_share_a_word_are_two_events(minutes):
    by_event = defaultdict(list)
    for row in multilingual.rows("two_bursts")["en"]:
        by_event[row["event"]].append(row)
    stories = [
        multilingual.story(f"{event}-{number}", row, 2 * number + (minutes if event == "cathedral" else 0))
        for event, some in by_event.items()
        for number, row in enumerate(some)
    ]
    stories.sort(key=lambda story: (story.crawled_at, story.id))
    alerts = multilingual.alerts(multilingual.run(stories))
    assert [{story.id.partition("-")[0] for story in alert.stories} for alert in alerts] in (
        [{"ferries"}, {"cathedral"}],
        [{"cathedral"}, {"ferries"}],
    )
