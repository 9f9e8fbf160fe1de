"""Publisher families, burst scores, and events that share a cluster with a later one."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

COLUMNS = """
ALTER TABLE news.stories ADD COLUMN family text;
UPDATE news.stories SET family = lower(publisher);
ALTER TABLE news.stories ALTER COLUMN family SET NOT NULL;
COMMENT ON COLUMN news.stories.family IS 'The publisher''s family: its feeds count once.';

ALTER TABLE news.events ADD COLUMN burst_score double precision;
UPDATE news.events SET burst_score = 0;
ALTER TABLE news.events ALTER COLUMN burst_score SET NOT NULL;
COMMENT ON COLUMN news.events.burst_score IS 'How unusual the window is for its edition and hour.';
"""

REPORT_EVENT = """
CREATE OR REPLACE FUNCTION news.report_event(event text)
RETURNS TABLE (story_id text, crawled_at timestamptz, publisher text, title text, url text, copy_of text)
LANGUAGE sql STABLE AS $$
    SELECT s.id, s.crawled_at, s.publisher, s.title, s.url, l.other_id
    FROM news.events e
    JOIN news.cluster_stories m ON m.cluster_id IN (SELECT news.cluster_family(e.cluster_id))
    JOIN news.stories s ON s.id = m.story_id
    LEFT JOIN news.story_links l ON l.story_id = s.id AND l.kind = 'duplicate'
    WHERE e.id = event
      AND s.crawled_at >= e.first_seen
      AND NOT EXISTS (
          SELECT FROM news.events later
          WHERE later.cluster_id = e.cluster_id AND later.id <> e.id AND later.merged_into IS NULL
            AND later.first_seen > e.first_seen AND s.crawled_at >= later.first_seen
      )
    ORDER BY s.crawled_at, s.id
$$;
COMMENT ON FUNCTION news.report_event IS 'All stories of an event, the first first; copy_of names the story that one is a near-duplicate of. Where its cluster has a later event, up to that.';
"""


def upgrade() -> None:
    """Add the columns, and report events apart."""
    op.execute(COLUMNS)
    op.execute(REPORT_EVENT)


def downgrade() -> None:
    """Take the columns away; the report stays, it works without them."""
    op.execute("ALTER TABLE news.stories DROP COLUMN family")
    op.execute("ALTER TABLE news.events DROP COLUMN burst_score")
