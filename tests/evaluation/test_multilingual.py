"""Other languages: events told in other words, breaking events among other news, and bursts that share a word."""

from collections import defaultdict
from statistics import mean

import pytest

from pipeline.stages.rules import DetectRule
from tests import multilingual

SIX = sorted(multilingual.rows("breaking_events"))


def test_what_is_said_in_other_words_is_found_in_sixteen_languages():
    for name in ("paraphrases", "paraphrases_2"):
        found = [multilingual.paraphrases(rows) for rows in multilingual.rows(name).values()]
        assert len(found) == 16
        assert mean(scores.recall for scores in found) >= 0.95
        assert min(scores.precision for scores in found) == 1


@pytest.mark.parametrize("language", SIX)
@pytest.mark.parametrize("breaks_at", [multilingual.COLD, multilingual.WARM], ids=["cold", "warm"])
def test_a_breaking_event_gives_one_alert_in_six_languages(language, breaks_at):
    found = multilingual.burst(language, multilingual.breaking_events()[language, 2], breaks_at)
    assert found.alerts == 1
    assert found.largest > DetectRule().threshold


def test_most_breaking_events_give_one_alert():
    """docs/quality.md says how many do in each language, and what becomes of the others."""
    found = [
        multilingual.burst(language, headlines, multilingual.WARM)
        for (language, _), headlines in multilingual.breaking_events().items()
    ]
    assert len(found) == 56
    assert sum(burst.alerts == 1 for burst in found) >= 42
    assert mean(burst.largest for burst in found) >= 16


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
