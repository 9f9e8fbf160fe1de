"""A story is named by its edition and its id, and stays in the clusters of all its lives. Events keep the evidence of stories that go."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

KEYS = """
ALTER TABLE news.cluster_stories ADD COLUMN edition text;
UPDATE news.cluster_stories m SET edition = s.edition FROM news.stories s WHERE s.id = m.story_id;
ALTER TABLE news.story_links ADD COLUMN edition text;
UPDATE news.story_links l SET edition = s.edition FROM news.stories s WHERE s.id = l.story_id;

ALTER TABLE news.cluster_stories DROP CONSTRAINT cluster_stories_story_id_fkey, DROP CONSTRAINT cluster_stories_pkey;
ALTER TABLE news.story_links DROP CONSTRAINT story_links_story_id_fkey, DROP CONSTRAINT story_links_pkey;
ALTER TABLE news.stories DROP CONSTRAINT stories_pkey, ADD CONSTRAINT stories_pkey PRIMARY KEY (id, edition);
ALTER TABLE news.cluster_stories
    ADD CONSTRAINT cluster_stories_pkey PRIMARY KEY (story_id, edition, cluster_id),
    ADD CONSTRAINT cluster_stories_edition_story_id_fkey FOREIGN KEY (edition, story_id) REFERENCES news.stories (edition, id) ON DELETE CASCADE;
ALTER TABLE news.story_links
    ADD CONSTRAINT story_links_pkey PRIMARY KEY (story_id, edition, other_id, kind),
    ADD CONSTRAINT story_links_edition_story_id_fkey FOREIGN KEY (edition, story_id) REFERENCES news.stories (edition, id) ON DELETE CASCADE;

COMMENT ON TABLE news.stories IS 'Every story, once an edition.';
COMMENT ON COLUMN news.stories.id IS 'The producer''s id, or the hash of the canonical URL; unique within the edition.';
COMMENT ON COLUMN news.stories.late IS 'It was crawled longer before stream time than the look-back: it joined and counted, but started no event.';
COMMENT ON COLUMN news.clusters.id IS 'Stable id; derived from the story that opened the cluster, its edition and when it came.';
COMMENT ON TABLE news.cluster_stories IS 'Which cluster each story was put in when it came; more than one where it came again after a cluster had died.';
COMMENT ON COLUMN news.cluster_stories.edition IS 'Edition of the story.';
COMMENT ON COLUMN news.story_links.edition IS 'Edition of both stories.';
"""

REPORT_EVENT = """
CREATE OR REPLACE FUNCTION news.report_event(event text)
RETURNS TABLE (story_id text, crawled_at timestamptz, publisher text, title text, url text, copy_of text)
LANGUAGE sql STABLE AS $$
    WITH kept AS (
        SELECT s.id, s.crawled_at, s.publisher, s.title, s.url, l.other_id
        FROM news.events e
        JOIN news.cluster_stories m ON m.edition = e.edition AND m.cluster_id IN (SELECT news.cluster_family(e.cluster_id))
        JOIN news.stories s ON s.edition = m.edition AND s.id = m.story_id
        LEFT JOIN news.story_links l ON l.edition = s.edition AND l.story_id = s.id AND l.kind = 'duplicate'
        WHERE e.id = event
          AND NOT s.retracted
          AND s.crawled_at >= e.first_seen
          AND NOT EXISTS (
              SELECT FROM news.events later
              WHERE later.cluster_id = e.cluster_id AND later.id <> e.id AND later.merged_into IS NULL
                AND later.first_seen > e.first_seen AND s.crawled_at >= later.first_seen
          )
    ), evidence AS (
        SELECT u.record ->> 'edition' AS edition, x.*
        FROM news.event_updates u,
             jsonb_to_recordset(u.record -> 'stories') AS x (id text, crawled_at timestamptz, publisher text, title text, url text)
        WHERE u.event_id = event
          AND u.sequence = (SELECT max(sequence) FROM news.event_updates WHERE event_id = event)
    )
    SELECT * FROM kept
    UNION ALL
    SELECT v.id, v.crawled_at, v.publisher, v.title, v.url, NULL
    FROM evidence v
    WHERE NOT EXISTS (SELECT FROM news.stories s WHERE s.edition = v.edition AND s.id = v.id)
    ORDER BY 2, 1
$$;
COMMENT ON FUNCTION news.report_event IS 'All stories of an event, the first first; copy_of names the story that one is a near-duplicate of. Where its cluster has a later event, up to that. Of stories that were deleted, those that the last update carries as evidence.';
"""

OLD_KEYS = """
ALTER TABLE news.cluster_stories DROP CONSTRAINT cluster_stories_edition_story_id_fkey, DROP CONSTRAINT cluster_stories_pkey;
ALTER TABLE news.story_links DROP CONSTRAINT story_links_edition_story_id_fkey, DROP CONSTRAINT story_links_pkey;
DELETE FROM news.cluster_stories m USING news.cluster_stories n WHERE m.story_id = n.story_id AND (m.position, m.edition) < (n.position, n.edition);
DELETE FROM news.story_links l USING news.stories s WHERE l.story_id = s.id AND l.edition > s.edition;
DELETE FROM news.stories s USING news.stories t WHERE s.id = t.id AND s.edition > t.edition;
ALTER TABLE news.stories DROP CONSTRAINT stories_pkey, ADD CONSTRAINT stories_pkey PRIMARY KEY (id);
ALTER TABLE news.cluster_stories DROP COLUMN edition,
    ADD CONSTRAINT cluster_stories_pkey PRIMARY KEY (story_id),
    ADD CONSTRAINT cluster_stories_story_id_fkey FOREIGN KEY (story_id) REFERENCES news.stories (id) ON DELETE CASCADE;
ALTER TABLE news.story_links DROP COLUMN edition,
    ADD CONSTRAINT story_links_pkey PRIMARY KEY (story_id, other_id, kind),
    ADD CONSTRAINT story_links_story_id_fkey FOREIGN KEY (story_id) REFERENCES news.stories (id) ON DELETE CASCADE;
"""

OLD_REPORT_EVENT = """
CREATE OR REPLACE FUNCTION news.report_event(event text)
RETURNS TABLE (story_id text, crawled_at timestamptz, publisher text, title text, url text, copy_of text)
LANGUAGE sql STABLE AS $$
    SELECT s.id, s.crawled_at, s.publisher, s.title, s.url, l.other_id
    FROM news.events e
    JOIN news.cluster_stories m ON m.cluster_id IN (SELECT news.cluster_family(e.cluster_id))
    JOIN news.stories s ON s.id = m.story_id
    LEFT JOIN news.story_links l ON l.story_id = s.id AND l.kind = 'duplicate'
    WHERE e.id = event
      AND NOT s.retracted
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
    """Make the keys, and let the report of an event know its evidence."""
    op.execute(KEYS)
    op.execute(REPORT_EVENT)


def downgrade() -> None:
    """Make the old keys; of an id in several editions, the first edition keeps it."""
    op.execute(OLD_REPORT_EVENT)
    op.execute(OLD_KEYS)
