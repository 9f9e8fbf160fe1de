"""Write records as this version of the contract has them: `python -m tests.contracts.keep`."""

import json
from datetime import timedelta
from pathlib import Path

import msgspec

from pipeline.codec import encode
from pipeline.records import Amendment, DeadLetter, Story, Tick
from pipeline.replay import AmendmentStep, Step, TimeStep, replay_log
from pipeline.schemas import VERSION
from pipeline.stages.fingerprint import fingerprint
from pipeline.stages.normalise import normalise
from pipeline.stages.rules import DetectRule
from tests.make import NOON

FOLDER = Path(__file__).parent
TITLES = (
    "Ferry with 200 aboard runs aground",
    "Ferry runs aground with 200 aboard",
    "Passengers taken off ferry aground",
)


def _stories():
    return [
        Story(
            url=f"https://news{number}.example/{number}",
            title=title,
            publisher=f"Paper {number}",
            crawled_at=NOON + timedelta(minutes=number),
            published_at=NOON,
            language="en",
            body="A ferry with 200 people aboard ran aground." if number else None,
            id=f"s{number}",
            extra={"desk": "world"},
        )
        for number, title in enumerate(TITLES)
    ]


def _log():
    stories = _stories()
    stories.append(msgspec.structs.replace(stories[0], title="Ferry with 210 aboard runs aground"))
    for number, story in enumerate(stories):
        yield number, fingerprint(normalise(story, story.crawled_at))
    yield (
        10,
        Amendment(
            id="a1",
            edition="en",
            action="split",
            by="ann",
            reason="another",
            stories=["s2"],
            at=NOON + timedelta(hours=1),
        ),
    )
    yield 11, Tick(edition="en", behind_ms=1, at=NOON + timedelta(hours=9))


def records():
    """One or more records of every kind."""
    yield from (("story", story) for story in _stories())
    yield (
        "dead_letter",
        DeadLetter(
            stage="normalise", error="Not JSON.", topic="newsburst.stories", partition=0, offset=7, received_at=NOON
        ),
    )
    for _, record in _log():
        if isinstance(record, Amendment):
            yield "amendment", record
        elif not isinstance(record, Tick):
            yield "normalised_story", record.story
            yield "fingerprint", record
    for step in replay_log(_log(), detect_rule=DetectRule(threshold=1, min_publishers=2)):
        if isinstance(step, Step):
            yield "assignment", step.assignment
            yield from (("cluster", cluster) for cluster in step.clusters)
        elif isinstance(step, TimeStep):
            yield "stream_time", step.passed
        elif isinstance(step, AmendmentStep):
            yield "amended", step.amended
        yield from (("event_update", update) for update in step.updates)


def main():
    """Write them."""
    lines = [
        json.dumps({"kind": kind, "record": json.loads(encode(record))}, ensure_ascii=False)
        for kind, record in records()
    ]
    (FOLDER / f"records-{VERSION}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
