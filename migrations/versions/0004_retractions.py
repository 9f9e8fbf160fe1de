"""Retracted stories, which reports leave out. The column has a default for workers that do not know it yet."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

COLUMN = """
ALTER TABLE news.stories ADD COLUMN retracted boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN news.stories.retracted IS 'Its publisher took it back: reports leave it out.';
COMMENT ON COLUMN news.clusters.headline IS 'Headline of its first story; none while that is retracted.';
COMMENT ON COLUMN news.stories.position IS 'Log position of its assignment, or of its last revision.';
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
      {counts}
      AND s.crawled_at >= e.first_seen
      AND NOT EXISTS (
          SELECT FROM news.events later
          WHERE later.cluster_id = e.cluster_id AND later.id <> e.id AND later.merged_into IS NULL
            AND later.first_seen > e.first_seen AND s.crawled_at >= later.first_seen
      )
    ORDER BY s.crawled_at, s.id
$$;
"""


def upgrade() -> None:
    """Add the column, and leave retracted stories out of the report of an event."""
    op.execute(COLUMN)
    op.execute(REPORT_EVENT.format(counts="AND NOT s.retracted"))


def downgrade() -> None:
    """Take the column away."""
    op.execute(REPORT_EVENT.format(counts=""))
    op.execute("ALTER TABLE news.stories DROP COLUMN retracted")
