"""The reports in Postgres: what each answers, what it takes, and which of its columns a table shows.

`migrations/reports/` holds their SQL. A report's name is that of its view or function without `report_`, with hyphens.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Report(NamedTuple):
    """A view or function of the schema `news`."""

    name: str
    question: str
    """with which its comment begins"""
    columns: tuple[str, ...]
    """those that are shown in a table"""
    argument: str | None = None
    """the parameter that has to be given"""
    options: tuple[str, ...] = ()
    """the parameters that may be given"""
    relation: str = ""
    """its name in SQL, where that is another one"""
    is_view: bool = False

    @property
    def sql_name(self) -> str:
        """Its name in the schema `news`."""
        return self.relation or f"report_{self.name.replace('-', '_')}"


_ALL = (
    Report(
        "breaking-now",
        "What is breaking now?",
        ("stories", "publishers", "stories_last_hour", "headline", "event_id"),
        is_view=True,
    ),
    Report(
        "growing-now",
        "What is growing fastest?",
        ("last_15_minutes", "last_hour", "hour_before", "new_publishers", "headline", "cluster_id"),
        options=("edition", "at_least"),
    ),
    Report(
        "emerging-now",
        "What is about to break?",
        ("stories", "publishers", "missing_stories", "missing_publishers", "headline", "cluster_id"),
        options=("edition", "at_least"),
    ),
    Report(
        "events",
        "What broke between two times?",
        ("started_at", "stories", "headline", "event_id"),
        options=("since", "until", "edition", "state"),
    ),
    Report(
        "event",
        "Which stories does an event have, and who was first?",
        ("minutes", "publisher", "title"),
        argument="event",
    ),
    Report(
        "event-newest",
        "What has come since the latest update of an active event?",
        ("crawled_at", "publisher", "title"),
        argument="event",
    ),
    Report(
        "event-timeline",
        "What did we know when?",
        ("sequence", "state", "at", "stories_total", "headline"),
        argument="event",
    ),
    Report(
        "event-curve",
        "How did an event grow?",
        ("at", "stories", "publishers", "copies", "stories_so_far", "publishers_so_far"),
        options=("step",),
        argument="event",
    ),
    Report(
        "event-publishers",
        "Who reported an event, and how long after the first?",
        ("minutes", "family", "stories", "copies", "title"),
        argument="event",
    ),
    Report(
        "changes",
        "Which stories of an event were corrected or retracted?",
        ("changed_at", "publisher", "change", "old_title", "new_title"),
        argument="event",
    ),
    Report(
        "copies",
        "Who copied whom in an event?",
        ("original_publisher", "publisher", "minutes", "title"),
        argument="event",
    ),
    Report(
        "related-events",
        "What else belongs to an event?",
        ("relation", "stories", "score", "headline", "event_id"),
        argument="event",
    ),
    Report(
        "linked-events",
        "Which events of other languages are probably the same?",
        ("edition", "minutes_earlier", "score", "headline", "event_id"),
        argument="event",
    ),
    Report(
        "world",
        "What broke in several languages?",
        ("editions", "stories", "publishers", "headline", "event_id"),
        options=("since",),
    ),
    Report(
        "story",
        "What became of a story?",
        (
            "story_id",
            "title",
            "publisher",
            "crawled_at",
            "url",
            "cluster_id",
            "cluster_stories",
            "event_ids",
            "copy_of",
            "copies",
            "late",
            "retracted",
        ),
        argument="story",
    ),
    Report(
        "similar-stories",
        "Which headlines in the whole archive are alike?",
        ("bits", "publisher", "title", "story_id"),
        argument="story",
        options=("distance", "limit"),
        relation="similar_stories",
    ),
    Report(
        "search",
        "What do we have on these words?",
        ("kind", "stories", "headline", "id"),
        argument="query",
        options=("since", "edition", "limit"),
    ),
    Report(
        "first-to-report",
        "Who is first?",
        ("family", "firsts", "events", "share", "median_minutes"),
        options=("since", "edition"),
    ),
    Report(
        "missed-by",
        "What did a publisher miss?",
        ("stories", "publishers", "minutes_behind", "headline", "event_id"),
        argument="family",
        options=("since",),
    ),
    Report(
        "publishers",
        "Who publishes how much?",
        ("family", "edition", "country", "stories", "share_copies", "events"),
        options=("since", "edition"),
    ),
    Report(
        "sources",
        "Which feeds are silent, late or copy?",
        ("publisher", "stories", "stories_per_day", "silent_hours", "is_silent", "share_late", "share_copies"),
        options=("since", "edition"),
    ),
    Report(
        "volume",
        "Is as much coming in as usual?",
        ("edition", "at", "stories", "usual", "ratio"),
        options=("edition", "step", "since"),
    ),
    Report(
        "clusters-daily",
        "How did each day go?",
        ("day", "edition", "stories", "clusters", "stories_alone", "copies", "events"),
        options=("since", "edition"),
    ),
    Report(
        "duplicates",
        "What is copied most?",
        ("copies", "publishers", "title", "story_id"),
        options=("since", "edition"),
    ),
    Report(
        "pipeline-health",
        "Is it running?",
        (
            "edition",
            "stream_time",
            "quiet_seconds",
            "lag_seconds",
            "stories_last_hour",
            "breaking_events",
            "hanging_events",
        ),
        is_view=True,
    ),
)

REPORTS: Mapping[str, Report] = {report.name: report for report in _ALL}
"""By name."""
