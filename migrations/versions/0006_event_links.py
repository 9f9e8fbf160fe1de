"""Links of events of different editions that are probably one happening, and the reports on them."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

LINKS = """
CREATE TABLE news.event_links (
    event_id text NOT NULL,
    other_id text NOT NULL,
    score double precision NOT NULL,
    places text[] NOT NULL,
    numbers text[] NOT NULL,
    CONSTRAINT event_links_pkey PRIMARY KEY (event_id, other_id),
    CONSTRAINT event_links_event_id_fkey FOREIGN KEY (event_id) REFERENCES news.events (id) ON DELETE CASCADE,
    CONSTRAINT event_links_other_id_fkey FOREIGN KEY (other_id) REFERENCES news.events (id) ON DELETE CASCADE
);
CREATE INDEX event_links_other_id_idx ON news.event_links (other_id);
CREATE INDEX events_merged_into_idx ON news.events (merged_into);
CREATE INDEX event_updates_alerts_idx ON news.event_updates (at) WHERE sequence = 1;
COMMENT ON TABLE news.event_links IS 'Events of different editions that are probably one happening.';
COMMENT ON COLUMN news.event_links.other_id IS 'An event of another edition. Each link has two rows, one for each of its events.';
COMMENT ON COLUMN news.event_links.score IS 'How probable it is that both are one happening, from .7 to 1.';
COMMENT ON COLUMN news.event_links.places IS 'Countries that the alerts of both name, as codes of ISO 3166.';
COMMENT ON COLUMN news.event_links.numbers IS 'Numbers that both name, with commas written as points.';
"""

REPORTS = """
CREATE FUNCTION news.happening(event text) RETURNS SETOF text LANGUAGE sql STABLE AS $$
    WITH RECURSIVE same AS (
        SELECT event AS id
        UNION
        SELECT further.id
        FROM same, LATERAL (
            SELECT l.other_id AS id FROM news.event_links l WHERE l.event_id = same.id
            UNION ALL SELECT e.merged_into FROM news.events e WHERE e.id = same.id AND e.merged_into IS NOT NULL
            UNION ALL SELECT e.id FROM news.events e WHERE e.merged_into = same.id
        ) AS further
    )
    SELECT id FROM same
$$;
COMMENT ON FUNCTION news.happening IS 'An event, and all events that are probably one happening with it: linked to it or merged with it, directly or through others.';

CREATE FUNCTION news.report_linked_events(event text)
RETURNS TABLE (event_id text, edition text, headline text, state text, started_at timestamptz, minutes_earlier numeric, score double precision,
               places text[], numbers text[])
LANGUAGE sql STABLE AS $$
    SELECT e.id, e.edition, e.headline, e.state, a.at, round(extract(epoch FROM own.at - a.at) / 60, 1), l.score, l.places, l.numbers
    FROM news.happening(event) AS h (id)
    JOIN news.events e ON e.id = h.id AND e.merged_into IS NULL
    JOIN news.event_updates a ON a.event_id = e.id AND a.sequence = 1
    JOIN news.events this ON this.id = event AND this.edition <> e.edition
    JOIN news.event_updates own ON own.event_id = event AND own.sequence = 1
    LEFT JOIN news.event_links l ON l.event_id = event AND l.other_id = e.id
    ORDER BY a.at, e.id
$$;
COMMENT ON FUNCTION news.report_linked_events IS 'The events of other editions that are probably one happening with this one, in the order of their alerts; minutes_earlier is by how many minutes their alerts came before its alert, negative if later. Those without a score are linked through another event.';

CREATE FUNCTION news.report_world(since timestamptz DEFAULT now() - interval '1 day')
RETURNS TABLE (event_id text, headline text, editions text[], events bigint, stories bigint, publishers bigint, started_at timestamptz,
               last_seen timestamptz)
LANGUAGE sql STABLE AS $$
    WITH one AS (
        SELECT e.id, min(h.id) AS happening
        FROM news.events e, news.happening(e.id) AS h (id)
        WHERE e.last_seen >= since AND EXISTS (SELECT FROM news.event_links l WHERE l.event_id = e.id)
        GROUP BY e.id
    ), member AS (
        SELECT o.happening, e.*, a.at AS alerted_at
        FROM (SELECT DISTINCT happening FROM one) o
        CROSS JOIN LATERAL news.happening(o.happening) AS h (id)
        JOIN news.events e ON e.id = h.id AND e.merged_into IS NULL
        JOIN news.event_updates a ON a.event_id = e.id AND a.sequence = 1
    ), told AS (
        SELECT m.happening, count(DISTINCT (s.edition, s.id)) AS stories, count(DISTINCT s.family) AS publishers
        FROM member m
        JOIN news.cluster_stories c ON c.edition = m.edition AND c.cluster_id IN (SELECT news.cluster_family(m.cluster_id))
        JOIN news.stories s ON s.edition = c.edition AND s.id = c.story_id
        WHERE NOT s.retracted AND s.crawled_at >= m.first_seen
        GROUP BY m.happening
    )
    SELECT (array_agg(m.id ORDER BY m.alerted_at, m.id))[1], (array_agg(m.headline ORDER BY m.alerted_at, m.id))[1],
           (SELECT array_agg(x.edition ORDER BY x.first, x.edition)
            FROM (SELECT edition, min(alerted_at) AS first FROM member WHERE happening = m.happening GROUP BY edition) x),
           count(*), max(t.stories), max(t.publishers), min(m.alerted_at), max(m.last_seen)
    FROM member m LEFT JOIN told t USING (happening)
    GROUP BY m.happening
    ORDER BY max(m.last_seen) DESC, m.happening
$$;
COMMENT ON FUNCTION news.report_world IS 'Happenings that broke in several editions and had a story since the given time, the one with the latest story first: the event that broke first, the editions in the order of their alerts, and stories and publishers counted over all languages.';
"""

DROP = """
DROP FUNCTION news.report_world;
DROP FUNCTION news.report_linked_events;
DROP FUNCTION news.happening;
DROP INDEX news.event_updates_alerts_idx;
DROP INDEX news.events_merged_into_idx;
DROP TABLE news.event_links;
"""


def upgrade() -> None:
    """Make the table and the reports. Old alerts are compared with new ones, with each other only if written again."""
    op.execute(LINKS)
    op.execute(REPORTS)


def downgrade() -> None:
    """Drop the table and the reports."""
    op.execute(DROP)
