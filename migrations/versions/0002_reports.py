"""The first reports: what breaks now, an event with its stories, an event's course."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

REPORTS = """
CREATE FUNCTION news.surviving_cluster(cluster text) RETURNS text LANGUAGE sql STABLE AS $$
    WITH RECURSIVE path AS (
        SELECT id, merged_into FROM news.clusters WHERE id = cluster
        UNION
        SELECT c.id, c.merged_into FROM news.clusters c JOIN path p ON c.id = p.merged_into
    )
    SELECT id FROM path WHERE merged_into IS NULL
$$;
COMMENT ON FUNCTION news.surviving_cluster IS 'The cluster that a cluster lives on as, through all merges.';

CREATE FUNCTION news.cluster_family(cluster text) RETURNS SETOF text LANGUAGE sql STABLE AS $$
    WITH RECURSIVE family AS (
        SELECT news.surviving_cluster(cluster) AS id
        UNION
        SELECT c.id FROM news.clusters c JOIN family f ON c.merged_into = f.id
    )
    SELECT id FROM family WHERE id IS NOT NULL
$$;
COMMENT ON FUNCTION news.cluster_family IS 'A cluster and all clusters that were merged with it.';

CREATE VIEW news.report_breaking_now AS
SELECT e.id AS event_id,
       e.headline,
       e.edition,
       c.stories,
       c.publishers,
       s.at AS started_at,
       c.first_seen,
       c.last_seen,
       e.state,
       e.sequence
FROM news.events e
JOIN news.clusters c ON c.id = news.surviving_cluster(e.cluster_id)
LEFT JOIN news.event_updates s ON s.event_id = e.id AND s.sequence = 1
WHERE e.state <> 'ended'
ORDER BY c.last_seen DESC, e.id;
COMMENT ON VIEW news.report_breaking_now IS 'Events that have not ended, the latest first, with the counts of their cluster as it is now.';

CREATE FUNCTION news.report_event(event text)
RETURNS TABLE (story_id text, crawled_at timestamptz, publisher text, title text, url text, copy_of text)
LANGUAGE sql STABLE AS $$
    SELECT s.id, s.crawled_at, s.publisher, s.title, s.url, l.other_id
    FROM news.events e
    JOIN news.cluster_stories m ON m.cluster_id IN (SELECT news.cluster_family(e.cluster_id))
    JOIN news.stories s ON s.id = m.story_id
    LEFT JOIN news.story_links l ON l.story_id = s.id AND l.kind = 'duplicate'
    WHERE e.id = event
    ORDER BY s.crawled_at, s.id
$$;
COMMENT ON FUNCTION news.report_event IS 'All stories of an event, the first first; copy_of names the story that one is a near-duplicate of.';

CREATE FUNCTION news.report_event_timeline(event text)
RETURNS TABLE (sequence int, state text, at timestamptz, stories_in_window int, publishers_in_window int, stories_total int, headline text)
LANGUAGE sql STABLE AS $$
    SELECT u.sequence, u.state, u.at, u.stories_in_window, (u.record ->> 'publishers_in_window')::int, u.stories_total,
           u.record ->> 'headline'
    FROM news.event_updates u
    WHERE u.event_id = event
    ORDER BY u.sequence
$$;
COMMENT ON FUNCTION news.report_event_timeline IS 'The course of an event: each update as it was made.';
"""

DROP = """
DROP FUNCTION news.report_event_timeline;
DROP FUNCTION news.report_event;
DROP VIEW news.report_breaking_now;
DROP FUNCTION news.cluster_family;
DROP FUNCTION news.surviving_cluster;
"""


def upgrade() -> None:
    """Make the reports."""
    op.execute(REPORTS)


def downgrade() -> None:
    """Take the reports away."""
    op.execute(DROP)
