"""What the pages and the API read beside the reports: events, clusters and stories, page by page.

Pages are by key: each begins after the last row of the one before, however many rows come in between.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from pipeline.filters import EventFilter
from pipeline.storage.read import Reader, Row

QUARTERS = 32
"""Quarter hours of an event's small chart."""

_EVENT = """e.id AS event_id, e.headline, e.edition, e.state, e.cluster_id, e.stories_total AS stories,
e.publishers_total AS publishers,
e.started_at, e.ended_at, e.updated_at, e.first_seen, e.last_seen, e.burst_score, e.reopened, e.sequence, e.merged_into,
e.dismissed"""
_LIVE = """e.stories_total + live.stories AS stories_now,
coalesce(e.publishers_total + live.publishers, e.publishers_total) AS publishers_now,
greatest(e.last_seen, live.last_at) AS last_story_at"""
_LIVE_FROM = """
LEFT JOIN LATERAL (
    SELECT count(*) AS stories, max(n.crawled_at) AS last_at,
           count(DISTINCT n.family) FILTER (WHERE NOT EXISTS (
               SELECT FROM news.stories_of_event(e.id) m WHERE m.family = n.family)) AS publishers
    FROM news.stories n
    WHERE e.state <> 'ended' AND n.edition = e.edition AND n.cluster_id IN (SELECT news.cluster_family(e.cluster_id))
      AND NOT n.retracted AND n.crawled_at >= e.first_seen
      AND NOT EXISTS (
          SELECT FROM news.event_stories m WHERE m.event_id = e.id AND m.edition = n.edition AND m.position = n.position)
) live ON true"""
"""What has come since the latest update of an active event: the update brings it only when the event has grown by half."""
_CHOSEN = """e.sequence <> 0 AND e.started_at IS NOT NULL
  AND news.is_of(e.edition, CAST(:edition AS text))
  AND (CAST(:state AS text) IS NULL OR e.state = :state)
  AND coalesce(e.publishers_total, e.publishers_in_window) >= :publishers
  AND NOT EXISTS (SELECT FROM unnest(CAST(:words AS text[])) AS word WHERE strpos(lower(e.headline), word) = 0)
  AND (CAST(:publisher AS text) IS NULL OR EXISTS (
        SELECT FROM news.stories_of_event(e.id) s WHERE s.family = :publisher OR lower(s.publisher) = :publisher))"""
_CARD = f"""
SELECT {_EVENT}, {_LIVE}, now.at AS stream_time, first.publisher AS first_publisher, first.crawled_at AS first_at,
       coalesce(lately.bins, '{{}}') AS quarters
FROM news.events e
CROSS JOIN LATERAL (SELECT coalesce(news.stream_time(e.edition), e.last_seen) AS at) now
{_LIVE_FROM}
LEFT JOIN LATERAL (
    SELECT s.publisher, s.crawled_at
    FROM (
        SELECT * FROM news.event_stories m WHERE m.event_id = e.id AND NOT m.is_stray ORDER BY m.crawled_at, m.position LIMIT 1
    ) m
    JOIN news.stories s ON s.edition = m.edition AND s.position = m.position AND s.crawled_at = m.crawled_at
) first ON true
LEFT JOIN LATERAL (
    SELECT jsonb_object_agg(b.quarter, b.stories) AS bins
    FROM (
        SELECT floor(extract(epoch FROM now.at - s.crawled_at) / 900)::int AS quarter, count(*) AS stories
        FROM news.stories s
        WHERE s.edition = e.edition AND s.cluster_id IN (SELECT news.cluster_family(e.cluster_id)) AND NOT s.retracted
          AND s.crawled_at > now.at - interval '{QUARTERS // 4} hours' AND s.crawled_at <= now.at
        GROUP BY 1
    ) b
) lately ON e.state <> 'ended'
"""  # noqa: S608 - our own names


def _chosen(wanted: EventFilter) -> dict[str, Any]:
    return {
        "edition": wanted.edition,
        "state": wanted.state,
        "publishers": wanted.publishers,
        "words": wanted.wanted_words(),
        "publisher": wanted.publisher.lower() if wanted.publisher else None,
    }


def active_events(reader: Reader, wanted: EventFilter, limit: int) -> list[Row]:
    """The events that have not ended, with what their cards show, the latest alert first."""
    statement = f"{_CARD} WHERE e.state <> 'ended' AND {_CHOSEN} ORDER BY e.started_at DESC, e.id DESC LIMIT :limit"
    return reader.rows(statement, **_chosen(wanted), limit=limit)


def cards(reader: Reader, events: Sequence[str]) -> dict[str, Row]:
    """What the cards of these events show, by id."""
    rows = reader.rows(f"{_CARD} WHERE e.id = ANY(:events) AND e.sequence <> 0", events=list(events))
    return {row["event_id"]: row for row in rows}


def events(
    reader: Reader,
    wanted: EventFilter,
    limit: int,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    after: tuple[datetime, str] | None = None,
) -> list[Row]:
    """Events by their alerts, the latest first, from `since` until before `until`; those behind `after`: start and id."""
    at, name = after or (None, None)
    statement = f"""
        SELECT {_EVENT} FROM news.events e
        WHERE {_CHOSEN}
          AND e.started_at >= coalesce(:since, CAST('-infinity' AS timestamptz))
          AND e.started_at < coalesce(:until, CAST('infinity' AS timestamptz))
          AND (CAST(:at AS timestamptz) IS NULL OR (e.started_at, e.id) < (:at, :name))
        ORDER BY e.started_at DESC, e.id DESC LIMIT :limit
    """  # noqa: S608 - our own names
    return reader.rows(statement, **_chosen(wanted), since=since, until=until, at=at, name=name, limit=limit)


def event(reader: Reader, event_id: str) -> Row | None:
    """An event with its first and its latest update as records."""
    statement = f"""
        SELECT {_EVENT}, {_LIVE}, e.stories_in_window, e.publishers_in_window,
               coalesce(news.stream_time(e.edition), e.last_seen) AS stream_time,
               first.record AS alert, latest.record AS latest
        FROM news.events e
        {_LIVE_FROM}
        LEFT JOIN news.event_updates first ON first.event_id = e.id AND first.sequence = 1
        LEFT JOIN news.event_updates latest ON latest.event_id = e.id AND latest.sequence = e.sequence
        WHERE e.id = :event AND e.sequence <> 0
    """  # noqa: S608 - our own names
    return next(iter(reader.rows(statement, event=event_id)), None)


def event_curve(reader: Reader, event_id: str) -> list[Row]:
    """Stories of each quarter of an hour of an event, with those that came since its latest update, and copies among them."""
    return reader.rows(
        """
        SELECT date_bin('15 minutes', s.crawled_at, '2000-01-01Z') AS at, count(*) AS stories, count(s.copy_of) AS copies
        FROM (
            SELECT crawled_at, duplicate_of AS copy_of FROM news.stories_of_event(:event)
            UNION ALL SELECT crawled_at, copy_of FROM news.report_event_newest(:event)
        ) s
        GROUP BY 1 ORDER BY 1
        """,
        event=event_id,
    )


def event_publishers(reader: Reader, event_id: str) -> list[Row]:
    """The first story of each publisher family of an event, by when it came; those with strays alone come last."""
    return reader.rows(
        """
        SELECT * FROM (
            SELECT DISTINCT ON (s.family) s.family, s.publisher, s.crawled_at, s.title, s.url, s.is_stray
            FROM (
                SELECT family, publisher, crawled_at, title, url, is_stray, id FROM news.stories_of_event(:event)
                UNION ALL
                SELECT x.family, n.publisher, n.crawled_at, n.title, n.url, false, n.story_id
                FROM news.report_event_newest(:event) n
                JOIN news.stories x ON x.id = n.story_id AND x.crawled_at = n.crawled_at
            ) s WHERE s.family IS NOT NULL
            ORDER BY s.family, s.is_stray, s.crawled_at, s.id
        ) f ORDER BY f.is_stray, f.crawled_at, f.family
        """,
        event=event_id,
    )


def event_stories(reader: Reader, event_id: str, limit: int, after: tuple[datetime, str] | None = None) -> list[Row]:
    """The stories of an event by crawl time and id, behind `after`."""
    at, name = after or (None, None)
    return reader.rows(
        """
        SELECT s.id AS story_id, s.crawled_at, s.publisher, s.family, s.title, s.url,
               s.duplicate_of AS copy_of, s.score, s.is_stray
        FROM news.stories_of_event(:event) s
        WHERE s.id IS NOT NULL AND (CAST(:at AS timestamptz) IS NULL OR (s.crawled_at, s.id) > (:at, :name))
        ORDER BY s.crawled_at, s.id LIMIT :limit
        """,
        event=event_id,
        at=at,
        name=name,
        limit=limit,
    )


def clusters(
    reader: Reader,
    limit: int,
    *,
    edition: str | None = None,
    span: timedelta = timedelta(hours=4),
    at_least: int = 2,
    after: tuple[int, str] | None = None,
) -> list[Row]:
    """Clusters with at least so many stories in the last span of stream time, the largest first, behind `after`: size and id."""
    size, name = after or (None, None)
    return reader.rows(
        """
        SELECT l.cluster_id, c.headline, l.edition, l.stories, l.publishers,
               c.stories AS stories_total, c.publishers AS publishers_total,               c.first_seen, c.last_seen,
               EXISTS (SELECT FROM news.events e WHERE e.cluster_id = c.id AND e.sequence <> 0) AS has_broken,
               (SELECT e.id FROM news.events e WHERE e.cluster_id = c.id AND e.sequence <> 0 AND e.state <> 'ended'
                ORDER BY e.started_at DESC LIMIT 1) AS event_id
        FROM (
            SELECT x.cluster_id, x.edition, count(*) AS stories, count(DISTINCT x.family) AS publishers
            FROM news.lately(:edition, :span) x GROUP BY x.cluster_id, x.edition HAVING count(*) >= :at_least
        ) l JOIN news.clusters c ON c.id = l.cluster_id
        WHERE CAST(:size AS bigint) IS NULL OR (l.stories, l.cluster_id) < (:size, :name)
        ORDER BY l.stories DESC, l.cluster_id DESC LIMIT :limit
        """,
        edition=edition,
        span=span,
        at_least=at_least,
        size=size,
        name=name,
        limit=limit,
    )


def cluster(reader: Reader, cluster_id: str) -> Row | None:
    """A cluster, with the one that its stories are counted in now, and its events."""
    statement = """
        SELECT c.id AS cluster_id, c.headline, c.edition, c.stories, c.publishers, c.first_seen, c.last_seen,
               CASE WHEN c.merged_into IS NOT NULL THEN news.surviving_cluster(c.id) END AS merged_into,
               ARRAY(
                   SELECT e.id FROM news.events e WHERE e.cluster_id = c.id AND e.sequence <> 0 ORDER BY e.started_at
               ) AS event_ids
        FROM news.clusters c WHERE c.id = :cluster
    """
    return next(iter(reader.rows(statement, cluster=cluster_id)), None)


def cluster_stories(
    reader: Reader, cluster_id: str, limit: int, after: tuple[datetime, str] | None = None
) -> list[Row]:
    """The stories of a cluster and of those merged into it, the latest first, behind `after`: crawl time and id."""
    at, name = after or (None, None)
    return reader.rows(
        """
        SELECT s.id AS story_id, s.crawled_at, s.publisher, s.family, s.title, s.url, s.duplicate_of AS copy_of
        FROM news.stories s
        WHERE s.cluster_id IN (SELECT news.cluster_family(:cluster)) AND NOT s.retracted
          AND (CAST(:at AS timestamptz) IS NULL OR (s.crawled_at, s.id) < (:at, :name))
        ORDER BY s.crawled_at DESC, s.id DESC LIMIT :limit
        """,
        cluster=cluster_id,
        at=at,
        name=name,
        limit=limit,
    )


def story_versions(reader: Reader, edition: str, story_id: str) -> list[Row]:
    """The headlines that a story had before, the first first."""
    return reader.rows(
        """
        SELECT title, received_at, retracted FROM news.story_versions
        WHERE edition = :edition AND id = :story ORDER BY revision
        """,
        edition=edition,
        story=story_id,
    )


def headlines(reader: Reader, event_ids: Sequence[str]) -> list[Row]:
    """Events with their headlines, by when they broke."""
    return reader.rows(
        """
        SELECT e.id AS event_id, e.headline, e.stories_total AS stories, e.state FROM news.events e
        WHERE e.id = ANY(:events) ORDER BY e.started_at, e.id
        """,
        events=list(event_ids),
    )


def titles(reader: Reader, edition: str, stories: Sequence[str]) -> list[Row]:
    """Headlines and publishers of some stories, in the order of their ids."""
    return reader.rows(
        """
        SELECT s.id AS story_id, s.title, s.publisher, s.crawled_at
        FROM unnest(CAST(:stories AS text[])) WITH ORDINALITY AS wanted (id, place)
        JOIN LATERAL (
            SELECT * FROM news.stories x WHERE x.id = wanted.id AND x.edition = :edition ORDER BY x.position DESC LIMIT 1
        ) s ON true
        ORDER BY wanted.place
        """,
        stories=list(stories),
        edition=edition,
    )


def editions(reader: Reader) -> Mapping[str, datetime]:
    """The stream time of each edition: the crawl time of its latest story."""
    rows = reader.rows(
        "SELECT edition, max(last_story_at) AS at FROM news.publishers GROUP BY edition ORDER BY edition"
    )
    return {row["edition"]: row["at"] for row in rows}
