"""Stories by position, partitioned by time; event and story, versions of stories, and publishers as tables; a comment on every column.

What stands is carried over. Of events from before, the stories are those that their cluster had when the latest update was made;
the numbers of the event and of its latest update are set to how many they are, and how near each is to the centre is not known.
"""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

AWAY = """
DROP VIEW news.report_breaking_now;
DROP FUNCTION news.report_event, news.report_world;
ALTER TABLE news.stories RENAME TO old_stories;
ALTER INDEX news.stories_pkey RENAME TO old_stories_pkey;
ALTER INDEX news.stories_crawled_at_idx RENAME TO old_stories_crawled_at_idx;
ALTER TABLE news.cluster_stories RENAME TO old_cluster_stories;
ALTER TABLE news.story_links RENAME TO old_story_links;
"""

TABLES = """
CREATE TABLE news.stories (
    edition TEXT NOT NULL,
    position BIGINT NOT NULL,
    crawled_at TIMESTAMP WITH TIME ZONE NOT NULL,
    id TEXT NOT NULL,
    url TEXT NOT NULL,
    title TEXT NOT NULL,
    publisher TEXT NOT NULL,
    family TEXT NOT NULL,
    language TEXT NOT NULL,
    received_at TIMESTAMP WITH TIME ZONE NOT NULL,
    published_at TIMESTAMP WITH TIME ZONE,
    simhash BIGINT NOT NULL,
    late BOOLEAN NOT NULL,
    retracted BOOLEAN NOT NULL,
    revision BIGINT NOT NULL,
    cluster_id TEXT NOT NULL,
    duplicate_of TEXT,
    similar_ids TEXT[],
    similar_scores REAL[],
    extra JSONB,
    CONSTRAINT stories_pkey PRIMARY KEY (edition, position, crawled_at),
    CONSTRAINT stories_cluster_id_fkey FOREIGN KEY(cluster_id) REFERENCES news.clusters (id)
) PARTITION BY RANGE (crawled_at);
CREATE INDEX stories_cluster_id_idx ON news.stories (cluster_id);
CREATE INDEX stories_crawled_at_idx ON news.stories (crawled_at);
CREATE INDEX stories_duplicate_of_idx ON news.stories (duplicate_of) WHERE duplicate_of IS NOT NULL;
CREATE INDEX stories_id_idx ON news.stories (id);
CREATE INDEX stories_url_idx ON news.stories USING hash (url);
COMMENT ON TABLE news.stories IS 'Stories as they are now. One that is sent again after its cluster has died is another row.';
COMMENT ON COLUMN news.stories.edition IS 'The stream it was clustered in: its language.';
COMMENT ON COLUMN news.stories.position IS 'Log position of its assignment: unique within the edition, and later is larger.';
COMMENT ON COLUMN news.stories.crawled_at IS 'Event time: when the crawler saw it.';
COMMENT ON COLUMN news.stories.id IS 'The producer''s id, or the hash of the canonical URL.';
COMMENT ON COLUMN news.stories.url IS 'Canonical URL.';
COMMENT ON COLUMN news.stories.title IS 'Clean headline.';
COMMENT ON COLUMN news.stories.publisher IS 'The publisher''s name as it came, or the host of the URL.';
COMMENT ON COLUMN news.stories.family IS 'The publisher''s family: its feeds count once.';
COMMENT ON COLUMN news.stories.language IS 'BCP 47 tag.';
COMMENT ON COLUMN news.stories.received_at IS 'When the broker took it, or its last revision, in.';
COMMENT ON COLUMN news.stories.published_at IS 'When it says it was published.';
COMMENT ON COLUMN news.stories.simhash IS '64-bit SimHash of its headline, as a signed integer.';
COMMENT ON COLUMN news.stories.late IS 'It was crawled longer before stream time than the look-back: it joined and counted, but started no event.';
COMMENT ON COLUMN news.stories.retracted IS 'Its publisher took it back: reports leave it out.';
COMMENT ON COLUMN news.stories.revision IS 'Log position of its last revision; the same as position if it was never revised.';
COMMENT ON COLUMN news.stories.cluster_id IS 'The cluster it joined; where that was merged, clusters.merged_into leads on.';
COMMENT ON COLUMN news.stories.duplicate_of IS 'Id of the first story that it is a near-duplicate of, of the same edition.';
COMMENT ON COLUMN news.stories.similar_ids IS 'Ids of earlier stories that are most similar, the best first.';
COMMENT ON COLUMN news.stories.similar_scores IS 'Their scores: the Jaccard similarity of the two sets of tokens.';
COMMENT ON COLUMN news.stories.extra IS 'Fields that its producer sent beside those that Newsburst knows.';

CREATE TABLE news.story_versions (
    edition TEXT NOT NULL,
    position BIGINT NOT NULL,
    crawled_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revision BIGINT NOT NULL,
    id TEXT NOT NULL,
    title TEXT NOT NULL,
    url TEXT NOT NULL,
    publisher TEXT NOT NULL,
    retracted BOOLEAN NOT NULL,
    received_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT story_versions_pkey PRIMARY KEY (edition, position, crawled_at, revision)
);
COMMENT ON TABLE news.story_versions IS 'Versions of stories before their last revision; the last version is in `stories`.';
COMMENT ON COLUMN news.story_versions.edition IS 'Edition of the story.';
COMMENT ON COLUMN news.story_versions.position IS 'Position of the story.';
COMMENT ON COLUMN news.story_versions.crawled_at IS 'Crawl time of the story.';
COMMENT ON COLUMN news.story_versions.revision IS 'Log position of this version.';
COMMENT ON COLUMN news.story_versions.id IS 'Id of the story.';
COMMENT ON COLUMN news.story_versions.title IS 'Its headline in this version.';
COMMENT ON COLUMN news.story_versions.url IS 'Its URL in this version.';
COMMENT ON COLUMN news.story_versions.publisher IS 'Its publisher in this version.';
COMMENT ON COLUMN news.story_versions.retracted IS 'Whether it was retracted in this version.';
COMMENT ON COLUMN news.story_versions.received_at IS 'When the broker took this version in.';

CREATE TABLE news.publishers (
    edition TEXT NOT NULL,
    family TEXT NOT NULL,
    first_story_at TIMESTAMP WITH TIME ZONE NOT NULL,
    last_story_at TIMESTAMP WITH TIME ZONE NOT NULL,
    country TEXT,
    CONSTRAINT publishers_pkey PRIMARY KEY (edition, family)
);
COMMENT ON TABLE news.publishers IS 'Publishers that stories came from.';
COMMENT ON COLUMN news.publishers.edition IS 'The edition that it publishes in.';
COMMENT ON COLUMN news.publishers.family IS 'The publisher''s family: its feeds count once.';
COMMENT ON COLUMN news.publishers.first_story_at IS 'Crawl time of its first story.';
COMMENT ON COLUMN news.publishers.last_story_at IS 'Crawl time of its last story.';
COMMENT ON COLUMN news.publishers.country IS 'Its country (ISO 3166), where the host of its URLs shows it.';

CREATE TABLE news.event_stories (
    event_id TEXT NOT NULL,
    edition TEXT NOT NULL,
    position BIGINT NOT NULL,
    crawled_at TIMESTAMP WITH TIME ZONE NOT NULL,
    sequence INTEGER NOT NULL,
    score SMALLINT,
    is_stray BOOLEAN NOT NULL,
    CONSTRAINT event_stories_pkey PRIMARY KEY (event_id, edition, position),
    CONSTRAINT event_stories_score_check CHECK (score BETWEEN 0 AND 100),
    CONSTRAINT event_stories_event_id_fkey FOREIGN KEY(event_id) REFERENCES news.events (id) ON DELETE CASCADE
);
CREATE INDEX event_stories_edition_position_idx ON news.event_stories (edition, position);
COMMENT ON TABLE news.event_stories IS 'Which stories each event has, as of its latest update. `stories` has their headlines.';
COMMENT ON COLUMN news.event_stories.event_id IS 'The event.';
COMMENT ON COLUMN news.event_stories.edition IS 'Edition of the story, and of the event.';
COMMENT ON COLUMN news.event_stories.position IS 'Position of the story.';
COMMENT ON COLUMN news.event_stories.crawled_at IS 'Crawl time of the story.';
COMMENT ON COLUMN news.event_stories.sequence IS 'The update of the event by which this is known: the latest.';
COMMENT ON COLUMN news.event_stories.score IS 'Nearness to the event''s centre, 0 to 100: the cosine of the two TF-IDF vectors in hundredths. None for events from before it was kept.';
COMMENT ON COLUMN news.event_stories.is_stray IS 'Whether it is probably not about the event: far from its centre, or before the story near the centre with which the event begins.';
"""

PARTITIONS = """
CREATE FUNCTION news.make_partition(at timestamptz) RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    day timestamp := at AT TIME ZONE 'UTC';
    step text := CASE WHEN day >= '2024-01-01' THEN 'month' ELSE 'year' END;
    low timestamp := date_trunc(step, day);
    high timestamp := low + CASE WHEN step = 'month' THEN interval '1 month' ELSE interval '1 year' END;
    name text := 'stories_' || to_char(low, CASE WHEN step = 'month' THEN 'YYYY_MM' ELSE 'YYYY' END);
BEGIN
    IF NOT has_table_privilege(session_user, 'news.stories', 'INSERT') THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s may not write stories', session_user);
    END IF;
    IF day < '2000-01-01' THEN
        name := 'stories_before_2000';
        high := '2000-01-01';
    END IF;
    IF to_regclass('news.' || name) IS NULL THEN
        LOCK TABLE news.stories IN SHARE UPDATE EXCLUSIVE MODE;  -- of several that make one, one does; the others see it then
        IF to_regclass('news.' || name) IS NULL THEN
            EXECUTE format('CREATE TABLE news.%I (LIKE news.stories INCLUDING INDEXES INCLUDING COMMENTS)', name);
            EXECUTE format('COMMENT ON TABLE news.%I IS %L', name, 'A part of news.stories, by time: query that.');
            EXECUTE format('ALTER TABLE news.stories ATTACH PARTITION news.%I FOR VALUES FROM (%s) TO (%L)', name,
                           CASE WHEN day < '2000-01-01' THEN 'MINVALUE' ELSE quote_literal(low::text || '+00') END, high::text || '+00');
        END IF;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass('news.' || name) AND inhparent = 'news.stories'::regclass) THEN
        RAISE object_not_in_prerequisite_state
        USING MESSAGE = format('news.%s is no partition of news.stories: attach it again, or give it another name', name);
    END IF;
    RETURN name;
END
$$;
COMMENT ON FUNCTION news.make_partition IS 'Has a partition for stories of this time, and returns its name: a month from 2024 on, a year before, one for all before 2000. Only for roles that may insert stories.';

CREATE FUNCTION news.forget_left_stories(events text[], sequences int[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT has_table_privilege(session_user, 'news.event_stories', 'INSERT') THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s may not write the stories of events', session_user);
    END IF;
    DELETE FROM news.event_stories s
    USING unnest(events, sequences) AS latest (event_id, sequence)
    WHERE s.event_id = latest.event_id AND s.sequence < latest.sequence;
END
$$;
COMMENT ON FUNCTION news.forget_left_stories IS 'Deletes the rows of stories that events had before these updates and do not have any more. Only for roles that may insert them.';
"""

DATA = """
SELECT news.make_partition(month) FROM (SELECT DISTINCT date_trunc('month', crawled_at, 'UTC') AS month FROM news.old_stories) months;

INSERT INTO news.clusters (id, edition, position, stories, publishers)
SELECT DISTINCT merged_into, edition, -1, 0, 0 FROM news.clusters WHERE merged_into IS NOT NULL ON CONFLICT DO NOTHING;

INSERT INTO news.stories
SELECT s.edition, life.at, s.crawled_at, s.id, s.url, s.title, s.publisher, s.family, s.language, s.received_at, s.published_at, s.simhash,
       s.late, s.retracted, greatest(s.position, life.at), life.cluster_id, copied.other_id, alike.ids, alike.scores, NULL
FROM (
    SELECT story_id, edition, cluster_id,
           CASE WHEN position >= 0 AND row_number() OVER (PARTITION BY edition, position ORDER BY story_id, cluster_id) = 1 THEN position
                ELSE -row_number() OVER (PARTITION BY edition ORDER BY position, story_id, cluster_id) END AS at
    FROM news.old_cluster_stories
) life
JOIN news.old_stories s ON s.edition = life.edition AND s.id = life.story_id
LEFT JOIN (
    SELECT edition, story_id, array_agg(other_id ORDER BY score DESC, other_id) AS ids, array_agg(score::real ORDER BY score DESC, other_id) AS scores
    FROM news.old_story_links WHERE kind = 'similar' GROUP BY edition, story_id
) alike ON alike.edition = s.edition AND alike.story_id = s.id
LEFT JOIN (
    SELECT edition, story_id, min(other_id) AS other_id FROM news.old_story_links WHERE kind = 'duplicate' GROUP BY edition, story_id
) copied ON copied.edition = s.edition AND copied.story_id = s.id;

INSERT INTO news.publishers
SELECT edition, family, min(crawled_at), max(crawled_at), NULL FROM news.stories GROUP BY edition, family;

UPDATE news.events e SET merged_into = NULL
WHERE merged_into IS NOT NULL AND NOT EXISTS (SELECT FROM news.events o WHERE o.id = e.merged_into);

INSERT INTO news.event_stories
SELECT e.id, s.edition, s.position, s.crawled_at, e.sequence, NULL, false
FROM news.events e
JOIN news.event_updates u ON u.event_id = e.id AND u.sequence = e.sequence
CROSS JOIN LATERAL (
    WITH RECURSIVE family AS (
        SELECT e.cluster_id AS id
        UNION
        SELECT c.id FROM news.clusters c JOIN family g ON c.merged_into = g.id WHERE c.position <= u.position
    )
    SELECT id FROM family
) AS f
JOIN news.stories s ON s.edition = e.edition AND s.cluster_id = f.id
WHERE NOT s.retracted AND s.crawled_at >= e.first_seen AND s.position <= u.position
  AND NOT EXISTS (
      SELECT FROM news.events later
      WHERE later.cluster_id = e.cluster_id AND later.id <> e.id AND later.merged_into IS NULL
        AND later.first_seen > e.first_seen AND s.crawled_at >= later.first_seen
  )
ON CONFLICT DO NOTHING;

UPDATE news.events e SET
    started_at = (SELECT u.at FROM news.event_updates u WHERE u.event_id = e.id AND u.sequence = 1),
    ended_at = CASE WHEN e.state = 'ended' THEN e.updated_at END,
    stories_total = (SELECT count(*) FROM news.event_stories m WHERE m.event_id = e.id),
    publishers_total = (SELECT count(DISTINCT s.family) FROM news.event_stories m
                        JOIN news.stories s USING (edition, position, crawled_at) WHERE m.event_id = e.id),
    reopened = (SELECT count(*) FROM (SELECT state, lag(state) OVER (ORDER BY sequence) AS before
                                      FROM news.event_updates u WHERE u.event_id = e.id) x
                WHERE before = 'ended' AND state <> 'ended');
UPDATE news.event_updates u SET stories_total = e.stories_total FROM news.events e WHERE e.id = u.event_id AND e.sequence = u.sequence;
"""

GRANTS = """
DO $$
DECLARE given record;
BEGIN
    FOR given IN
        SELECT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(r.rolname) END AS grantee, a.privilege_type, t.name
        FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a LEFT JOIN pg_roles r ON r.oid = a.grantee
        CROSS JOIN unnest(ARRAY['stories', 'story_versions', 'publishers', 'event_stories', 'cluster_stories', 'story_links']) AS t (name)
        WHERE c.oid = 'news.old_stories'::regclass AND a.grantee <> c.relowner
          AND (a.privilege_type = 'SELECT' OR t.name NOT IN ('cluster_stories', 'story_links'))
    LOOP
        EXECUTE format('GRANT %s ON news.%I TO %s', given.privilege_type, given.name, given.grantee);
    END LOOP;
END
$$;
DROP TABLE news.old_story_links, news.old_cluster_stories, news.old_stories;
"""

VIEWS = """
CREATE VIEW news.cluster_stories AS SELECT id AS story_id, edition, cluster_id, position FROM news.stories;
COMMENT ON VIEW news.cluster_stories IS 'Which cluster each story was put in when it came.';
COMMENT ON COLUMN news.cluster_stories.story_id IS 'Id of the story.';
COMMENT ON COLUMN news.cluster_stories.edition IS 'Edition of both.';
COMMENT ON COLUMN news.cluster_stories.cluster_id IS 'The cluster it joined; where that was merged, clusters.merged_into leads on.';
COMMENT ON COLUMN news.cluster_stories.position IS 'Position of the story.';
CREATE VIEW news.story_links AS
SELECT s.id AS story_id, s.edition, l.other_id, 'similar' AS kind, l.score::double precision AS score
FROM news.stories s CROSS JOIN LATERAL unnest(s.similar_ids, s.similar_scores) AS l (other_id, score)
UNION ALL
SELECT s.id, s.edition, s.duplicate_of, 'duplicate', s.similar_scores[array_position(s.similar_ids, s.duplicate_of)]
FROM news.stories s WHERE s.duplicate_of IS NOT NULL;
COMMENT ON VIEW news.story_links IS 'Stories found similar, and near-duplicates, a row each: similar_ids and duplicate_of of `stories`.';
COMMENT ON COLUMN news.story_links.story_id IS 'Id of the story.';
COMMENT ON COLUMN news.story_links.edition IS 'Edition of both stories.';
COMMENT ON COLUMN news.story_links.other_id IS 'Id of the earlier story.';
COMMENT ON COLUMN news.story_links.kind IS 'duplicate (near-copy of the first such story) or similar.';
COMMENT ON COLUMN news.story_links.score IS 'Jaccard similarity of the two token sets; none for duplicates of an unlisted story.';
"""

COLUMNS = """
ALTER TABLE news.events
    ADD COLUMN started_at timestamptz,
    ADD COLUMN ended_at timestamptz,
    ADD COLUMN publishers_total integer,
    ADD COLUMN reopened integer NOT NULL DEFAULT 0;
"""

CONSTRAINTS = """
ALTER TABLE news.clusters
    ADD CONSTRAINT clusters_merged_into_fkey FOREIGN KEY (merged_into) REFERENCES news.clusters (id),
    ADD CONSTRAINT clusters_counts_check CHECK (stories >= 0 AND publishers >= 0);
DROP INDEX news.clusters_merged_into_idx, news.events_merged_into_idx;
CREATE INDEX clusters_merged_into_idx ON news.clusters (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX events_merged_into_idx ON news.events (merged_into) WHERE merged_into IS NOT NULL;
CREATE INDEX events_last_seen_idx ON news.events (last_seen);
CREATE INDEX events_started_at_idx ON news.events (started_at);
ALTER TABLE news.events
    ADD CONSTRAINT events_merged_into_fkey FOREIGN KEY (merged_into) REFERENCES news.events (id) ON DELETE CASCADE,
    ADD CONSTRAINT events_state_check CHECK (state IN ('emerging', 'started', 'updated', 'ended', 'reopened')),
    ADD CONSTRAINT events_counts_check CHECK (stories_total >= 0 AND stories_in_window >= 0);
ALTER TABLE news.event_updates ADD CONSTRAINT event_updates_state_check CHECK (state IN ('emerging', 'started', 'updated', 'ended', 'reopened'));
"""

COMMENTS = """
COMMENT ON SCHEMA news IS 'Newsburst: stories, the clusters they form, and the breaking events that clusters become. The reports are the views and functions report_...; each has a comment.';
COMMENT ON COLUMN news.clusters.id IS 'Stable id; derived from the story that opened the cluster, its edition and when it came.';
COMMENT ON COLUMN news.clusters.edition IS 'The stream it belongs to: a language.';
COMMENT ON COLUMN news.clusters.position IS 'Log position of this state; -1 before any has come.';
COMMENT ON COLUMN news.clusters.stories IS 'How many stories it has; 0 once merged into another.';
COMMENT ON COLUMN news.clusters.publishers IS 'From how many different publishers.';
COMMENT ON COLUMN news.clusters.headline IS 'Headline of its first story; none while that is retracted.';
COMMENT ON COLUMN news.clusters.first_seen IS 'Crawl time of its first story.';
COMMENT ON COLUMN news.clusters.last_seen IS 'Crawl time of its last story.';
COMMENT ON COLUMN news.clusters.merged_into IS 'The cluster that its stories are counted in now.';
COMMENT ON COLUMN news.events.id IS 'Stable id; derived from the cluster that broke.';
COMMENT ON COLUMN news.events.cluster_id IS 'Its cluster when the latest update was made.';
COMMENT ON COLUMN news.events.edition IS 'The stream it belongs to: a language.';
COMMENT ON COLUMN news.events.sequence IS 'Sequence of the latest update; 0 if it only emerges, or only an event that was merged into it has come.';
COMMENT ON COLUMN news.events.state IS 'started; updated; ended; reopened: it had ended, and its cluster broke again about the same; or emerging: it has not broken.';
COMMENT ON COLUMN news.events.headline IS 'Headline of the most central story of the latest window.';
COMMENT ON COLUMN news.events.started_at IS 'Stream time of its alert.';
COMMENT ON COLUMN news.events.ended_at IS 'Stream time of its end; none while it is active.';
COMMENT ON COLUMN news.events.updated_at IS 'Stream time of the latest update.';
COMMENT ON COLUMN news.events.first_seen IS 'Crawl time of its first story.';
COMMENT ON COLUMN news.events.last_seen IS 'Crawl time of its last story.';
COMMENT ON COLUMN news.events.stories_in_window IS 'Stories in the window of the latest update.';
COMMENT ON COLUMN news.events.publishers_in_window IS 'Publisher families in that window.';
COMMENT ON COLUMN news.events.copies_in_window IS 'Near-duplicates of other stories in that window.';
COMMENT ON COLUMN news.events.stories_total IS 'Its stories: as many as `event_stories` has rows for it.';
COMMENT ON COLUMN news.events.publishers_total IS 'Publisher families of all its stories.';
COMMENT ON COLUMN news.events.burst_score IS 'How unusual the window is, in standard deviations above what was expected for its edition and hour.';
COMMENT ON COLUMN news.events.reopened IS 'How often it broke again after it had ended.';
COMMENT ON COLUMN news.events.merged_into IS 'The event that goes on for this one.';
COMMENT ON COLUMN news.event_updates.event_id IS 'The event.';
COMMENT ON COLUMN news.event_updates.sequence IS '1 for the alert, then one more with each update; 0 for what only emerges.';
COMMENT ON COLUMN news.event_updates.state IS 'emerging, started, updated, ended or reopened.';
COMMENT ON COLUMN news.event_updates.at IS 'Stream time.';
COMMENT ON COLUMN news.event_updates.position IS 'Log position of the story, or of the tick, that caused it.';
COMMENT ON COLUMN news.event_updates.stories_in_window IS 'Stories in the window.';
COMMENT ON COLUMN news.event_updates.stories_total IS 'Stories of the event by then.';
COMMENT ON COLUMN news.event_updates.record IS 'The update as it stands on the topic, but for `members`.';
COMMENT ON COLUMN news.alert_profiles.event_id IS 'The event.';
COMMENT ON COLUMN news.alert_profiles.edition IS 'Edition of the event.';
COMMENT ON COLUMN news.alert_profiles.at IS 'Stream time of the alert.';
COMMENT ON COLUMN news.alert_profiles.places IS 'Countries (ISO 3166) that its headlines name, with the share that do.';
COMMENT ON COLUMN news.alert_profiles.numbers IS 'The same of numbers.';
COMMENT ON COLUMN news.alert_profiles.names IS 'The same of names, as classes of consonants.';
COMMENT ON COLUMN news.event_links.event_id IS 'An event.';
COMMENT ON COLUMN news.event_links.other_id IS 'An event of another edition. Each link has two rows, one for each of its events.';
COMMENT ON COLUMN news.event_links.score IS 'How probable it is that both are one happening, from .75 to 1.';
COMMENT ON COLUMN news.event_links.places IS 'Countries that the alerts of both name, as codes of ISO 3166.';
COMMENT ON COLUMN news.event_links.numbers IS 'Numbers that both name, with commas written as points.';
"""


def upgrade() -> None:
    """Make the tables, carry over what stands, and describe all."""
    for step in (AWAY, TABLES, PARTITIONS, COLUMNS, DATA, VIEWS, GRANTS, CONSTRAINTS, COMMENTS):
        op.execute(step)


def downgrade() -> None:
    """Not possible: stories that came again are rows of their own."""
    raise NotImplementedError(
        "Revision 0007 cannot be undone: restore the database from a backup that was made before it."
    )
