"""Headlines in many languages as streams. `python -m tests.multilingual` prints two tables of docs/quality.md.

Arrival times are made up: events begin within half a day, and the stories of each come within one to four hours.
"""

import csv
import random
import sys
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import NamedTuple

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
"""Minutes after the beginning of the stream (noon) at which a breaking event begins."""
SEEDS = 1, 2, 3, 4
"""Of the arrival times. With other times, other headlines merge by chance: one seed alone says little."""


def rows(name):
    """The rows of a file, by language."""
    found = defaultdict(list)
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            found[row["language"]].append(row)
    return dict(found)


def story(identity, row, minutes):
    """A story that comes `minutes` after noon and does not name its language."""
    return Story(
        id=identity,
        url=f"https://{row['publisher'].encode().hex()[:40]}.example/{identity}",
        title=row["title"],
        publisher=row["publisher"],
        crawled_at=NOON + timedelta(minutes=minutes),
    )


def stream(of_language, seed=1, breaking=None, breaks_at=COLD):
    """Stories in order, and the event of each. Those of `breaking` come every five minutes from `breaks_at` on."""
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
    """B-cubed over the stories of events that have more than one."""
    clusters, sizes = final_clusters(steps), Counter(events.values())
    ids = [identity for identity in events if sizes[events[identity]] > 1]
    return bcubed([clusters[identity] for identity in ids], [events[identity] for identity in ids])


def paraphrases(of_language):
    """The scores of the two events of a language, whose stories come in turns."""
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


class Burst(NamedTuple):
    """What became of a breaking event among other news."""

    largest: int
    """how many of its headlines are in the cluster that holds most of them"""
    strangers: int
    """other headlines in that cluster"""
    alerts: int
    """of the whole stream"""


def burst(language, headlines, breaks_at, seed=1):
    """Replay a breaking event of these headlines among the other headlines of `multilingual.csv` in the language."""
    others = [row for row in rows("multilingual")[language] if row["event"] != "main"]
    event = [row | {"event": "breaking"} for row in headlines]
    stories, events = stream([*event, *others], seed, "breaking", breaks_at)
    steps = run(stories)
    clusters = final_clusters(steps)
    ((fullest, largest),) = Counter(clusters[name] for name, of in events.items() if of == "breaking").most_common(1)
    strangers = sum(of != "breaking" and clusters[name] == fullest for name, of in events.items())
    return Burst(largest, strangers, len(alerts(steps)))


def breaking_events():
    """The headlines of each breaking event, by language and event; `main` of `multilingual.csv` is event 0."""
    found = defaultdict(list)
    for language, of_language in rows("breaking_events").items():
        for row in of_language:
            found[language, int(row["event"])].append(row)
    for language in {language for language, _ in found}:
        found[language, 0] = [row for row in rows("multilingual")[language] if row["event"] == "main"]
    return dict(sorted(found.items()))


def main():
    """Print the tables."""
    write = sys.stdout.write
    write("| language | stories | B-cubed P / R / F1 | paraphrases: P / R |\n|---|---|---|---|\n")
    told = [rows(name) for name in ("paraphrases", "paraphrases_2")]
    for language, of_language in rows("multilingual").items():
        breaking = "main" if any(row["event"] == "main" for row in of_language) else None
        streams = [stream(of_language, seed, breaking) for seed in SEEDS]
        found = zip(*(scores(run(stories), events) for stories, events in streams), strict=True)
        cells = [language, str(len(of_language)), " / ".join(f"{mean(values):.2f}" for values in found)]
        four = [paraphrases(some[language]) for some in told if language in some]
        cells.append(
            f"{mean(two.precision for two in four):.2f} / {mean(two.recall for two in four):.2f}" if four else ""
        )
        write(f"| {' | '.join(cells)} |\n")
    write(
        "\n| language | runs of each kind | one alert: new edition, ten hours old | headlines in the largest cluster, others |"
    )
    write("\n|---|---|---|---|\n")
    by_language = groupby(breaking_events().items(), key=lambda event: event[0][0])
    for language, group in by_language:
        events = [headlines for _, headlines in group]
        cold, warm = (
            [burst(language, headlines, at, seed) for headlines in events for seed in SEEDS] for at in (COLD, WARM)
        )
        one = [sum(found.alerts == 1 for found in some) for some in (cold, warm)]
        largest, strangers = (mean(getattr(found, name) for found in cold + warm) for name in ("largest", "strangers"))
        write(f"| {language} | {len(cold)} | {one[0]}, {one[1]} | {largest:.1f} of 20, {strangers:.1f} |\n")


if __name__ == "__main__":
    main()
