"""The examples of docs/reports.md: a database with known stories, the queries of the page, and their output as psql prints it.

`python -m tests.reports` writes the output into the page.
"""

import re
import tempfile
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import msgspec
import sqlalchemy as sa

from pipeline.embedded.postgres import EmbeddedPostgres
from pipeline.records import Story
from pipeline.replay import fingerprints, replay
from pipeline.stages.edition_rules import parse_rules, rule_of
from pipeline.stages.rules import DetectRule
from pipeline.storage.engine import create_engine
from pipeline.storage.migrate import migrate
from pipeline.storage.write import Writer
from tests import sample
from tests.multilingual import rows

PAGE = Path(__file__).parents[1] / "docs" / "reports.md"
RECEIVED = datetime(2014, 4, 1, tzinfo=UTC)
"""When the broker took in the example's stories: the page is to be the same every day."""
UNTIL = datetime(2014, 3, 25, 21, 30, tzinfo=UTC)
"""The example ends in the middle of an event."""
QUAKE = datetime(2014, 3, 25, 20, tzinfo=UTC)
RULES = parse_rules("".join(f"[{edition}]\nthreshold = 6\nmin_publishers = 4\n" for edition in ("tr", "uk", "hi")))
"""For small editions."""
EXAMPLE = re.compile(r"```sql\n(.*?)```\n(?:\n```text\n.*?```\n)?", re.DOTALL)
BATCH = 1_000


def example_stories():
    """The sample, an earthquake in four languages, and a correction, a retraction and a field of our own."""
    found = [story for story in sample.stories() if story.crawled_at <= UNTIL]
    for place, language in enumerate(("tr", "uk", "hi", "en")):
        titles = [row for row in rows("one_event_many_languages")[language] if row["event"] == "quake-iran"]
        found += [
            Story(
                id=f"quake-{language}-{number}",
                url=f"https://news.example/{language}/{number}",
                title=row["title"],
                publisher=row["publisher"],
                language=language,
                crawled_at=QUAKE + timedelta(minutes=3 * number + 11 * place),
                extra={"desk": "Tehran"} if number == 0 else {},
            )
            for number, row in enumerate(titles)
        ]
    found.sort(key=lambda story: story.crawled_at)
    return found


def records():
    """What the stages make of these stories."""
    made = []
    stories = example_stories()
    corrected, retracted = [story for story in stories if "Paltrow" in story.title][10:12]
    stories += [
        msgspec.structs.replace(corrected, title="Gwyneth Paltrow and Chris Martin separate after ten years"),
        msgspec.structs.replace(retracted, retracted=True),
    ]
    for step in replay(fingerprints(stories, RECEIVED), detect_rule=rule_of(DetectRule(), RULES)):
        made += [step.assignment, *step.clusters, *step.updates]
    return made


def prepare(uri):
    """Have a database hold them."""
    migrate(uri)
    writer = Writer(uri)
    made = records()
    for start in range(0, len(made), BATCH):
        writer.write(made[start : start + BATCH])
    with writer.engine.begin() as connection:
        connection.execute(sa.text("ANALYZE"))  # as autovacuum would do later
    writer.close()


PARAMETERS = {
    "event": "SELECT id FROM news.report_search('paltrow separation') WHERE kind = 'event' ORDER BY stories DESC LIMIT 1",
    "active": "SELECT event_id FROM news.report_breaking_now "
    "ORDER BY (SELECT count(*) FROM news.report_event_newest(event_id)) DESC, event_id LIMIT 1",
    "related": "SELECT event_id FROM news.event_updates "
    "WHERE jsonb_array_length(record -> 'related_events') > 0 ORDER BY event_id LIMIT 1",
    "linked": "SELECT event_id FROM news.event_links ORDER BY event_id LIMIT 1",
    "story": "SELECT story_id FROM news.report_duplicates('2014-01-01') LIMIT 1",
}
"""What the examples are about."""


def examples(uri):
    """The page with the output that its queries have now."""
    engine = create_engine(uri)
    with engine.connect() as connection:
        connection.execute(sa.text("SET timezone = 'UTC'"))
        values = {name: connection.scalar(sa.text(query)) for name, query in PARAMETERS.items()}

        def answered(example):
            if example[1].startswith("\\set"):
                return "```sql\n" + "".join(f"\\set {name} {value}\n" for name, value in values.items()) + "```\n"
            query = example[1]
            for name, value in values.items():
                query = query.replace(f":'{name}'", f"'{value}'")
            found = connection.exec_driver_sql(query)
            return f"```sql\n{example[1]}```\n\n```text\n{printed(found.keys(), found.all())}```\n"

        page = EXAMPLE.sub(answered, PAGE.read_text(encoding="utf-8"))
    engine.dispose()
    return page


def printed(names, found):
    """Rows as psql prints them."""
    cells = [[_cell(value) for value in row] for row in found]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    numbers = [
        bool(found) and isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        for value in (found or [names])[0]
    ]
    lines = [
        " " + " | ".join(f"{name:^{width}}" for name, width in zip(names, widths, strict=True)),
        "-" + "-+-".join("-" * width for width in widths) + "-",
        *(
            " "
            + " | ".join(
                f"{text:{'>' if number else '<'}{width}}"
                for text, width, number in zip(row, widths, numbers, strict=True)
            )
            for row in cells
        ),
        f"({len(found)} {'row' if len(found) == 1 else 'rows'})",
    ]
    return "".join(line.rstrip() + "\n" for line in lines)


def _cell(value):
    match value:
        case None:
            return ""
        case bool():
            return "t" if value else "f"
        case datetime():
            return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}+00"
        case list():
            return "{" + ",".join(map(_cell, value)) + "}"
        case float():
            return f"{value:.3g}"
        case _:
            return str(value)


def main():
    """Write the output into the page."""
    with tempfile.TemporaryDirectory() as folder:
        server = EmbeddedPostgres(Path(folder))
        server.start()
        try:
            prepare(server.uri)
            PAGE.write_text(examples(server.uri), encoding="utf-8")
        finally:
            server.stop()


if __name__ == "__main__":
    main()
