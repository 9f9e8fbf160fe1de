"""Headlines in many languages as streams. `python -m tests.multilingual` prints the table of docs/quality.md.

When each comes is made up: the stories of an event over one to four hours, all events over half a day.
"""

import csv
import random
import sys
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pipeline.evaluation.evaluate import final_clusters
from pipeline.evaluation.metrics import bcubed
from pipeline.records import Story
from pipeline.replay import fingerprints, replay
from pipeline.stages.rules import ClusterRule, DetectRule

FOLDER = Path(__file__).with_name("headlines")
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
RECEIVED = NOON + timedelta(days=30)
HALF_A_DAY = 12 * 60
COLD, WARM = 5, 10 * 60
"""Minutes after the first story of all at which an event breaks."""


def rows(name):
    """The rows of a file, by language."""
    found = defaultdict(list)
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            found[row["language"]].append(row)
    return dict(found)


def story(identity, row, minutes):
    """A story whose language nobody names; `minutes` after noon."""
    return Story(
        id=identity,
        url=f"https://{row['publisher'].encode().hex()[:40]}.example/{identity}",
        title=row["title"],
        publisher=row["publisher"],
        crawled_at=NOON + timedelta(minutes=minutes),
    )


def stream(of_language, seed=1, breaking=None, breaks_at=COLD):
    """Stories in order, and the event of each: those of `breaking`, every five minutes from `breaks_at` on, among the others."""
    draw = random.Random(seed)
    by_event = defaultdict(list)
    for row in of_language:
        by_event[row["event"]].append(row)
    timed = []
    for event, members in by_event.items():
        start, span = draw.uniform(0, HALF_A_DAY), draw.uniform(60, 240)
        if event == breaking:
            times = [breaks_at + 5 * number for number in range(len(members))]
        else:
            times = sorted(start + draw.uniform(0, span) for _ in members)
        timed += [(minutes, f"{event}-{number}", event) for number, minutes in enumerate(times)]
    timed.sort()
    rows_of = {f"{event}-{number}": row for event, some in by_event.items() for number, row in enumerate(some)}
    stories = [story(identity, rows_of[identity], minutes) for minutes, identity, _ in timed]
    return stories, {identity: event for _, identity, event in timed}


def run(stories):
    """The steps of a replay with default settings."""
    return list(replay(fingerprints(stories, RECEIVED), ClusterRule(), DetectRule()))


def alerts(steps):
    """The alerts among the updates."""
    return [update for step in steps for update in step.updates if update.sequence == 1]


def scores(steps, events):
    """B-cubed over the stories whose event has others."""
    clusters, sizes = final_clusters(steps), Counter(events.values())
    ids = [identity for identity in events if sizes[events[identity]] > 1]
    return bcubed([clusters[identity] for identity in ids], [events[identity] for identity in ids])


def paraphrases(of_language):
    """The two events of a language, told by turns: their scores."""
    numbers = Counter()
    stories, events = [], {}
    for row in of_language:
        number = numbers[row["event"]]
        numbers[row["event"]] += 1
        identity = f"{row['event']}-{number}"
        events[identity] = row["event"]
        stories.append(story(identity, row, 10 * number + (3 if row["event"] == "b" else 0)))
    stories.sort(key=lambda story: story.crawled_at)
    return scores(run(stories), events)


def main():
    """Print the table."""
    told = rows("paraphrases")
    sys.stdout.write(
        "| language | stories | B-cubed P / R / F1 | breaking event: stories in its cluster, alerts | paraphrases: P / R |\n"
    )
    sys.stdout.write("|---|---|---|---|---|\n")
    for language, of_language in rows("multilingual").items():
        breaking = "main" if any(row["event"] == "main" for row in of_language) else None
        stories, events = stream(of_language, breaking=breaking)
        steps = run(stories)
        found = scores(steps, events)
        cells = [language, str(len(stories)), " / ".join(f"{value:.2f}" for value in found)]
        clusters = final_clusters(steps)
        fullest = Counter(clusters[identity] for identity, event in events.items() if event == "main").most_common(1)
        cells.append(f"{fullest[0][1]} of 20, {len(alerts(steps))}" if fullest else "")
        two = paraphrases(told[language]) if language in told else None
        cells.append(f"{two.precision:.2f} / {two.recall:.2f}" if two else "")
        sys.stdout.write(f"| {' | '.join(cells)} |\n")


if __name__ == "__main__":
    main()
