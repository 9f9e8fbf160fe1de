"""The tables: stories, their links and clusters, events and their updates."""

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES = """
CREATE TABLE news.clusters (
    id TEXT NOT NULL,
    edition TEXT NOT NULL,
    position BIGINT NOT NULL,
    stories INTEGER NOT NULL,
    publishers INTEGER NOT NULL,
    headline TEXT,
    first_seen TIMESTAMP WITH TIME ZONE,
    last_seen TIMESTAMP WITH TIME ZONE,
    merged_into TEXT,
    CONSTRAINT clusters_pkey PRIMARY KEY (id)
);
CREATE INDEX clusters_merged_into_idx ON news.clusters (merged_into);
COMMENT ON TABLE news.clusters IS 'Clusters: stories about one event, latest state.';
COMMENT ON COLUMN news.clusters.id IS 'Stable id; derived from the story that opened the cluster.';
COMMENT ON COLUMN news.clusters.edition IS 'The stream it belongs to: a language.';
COMMENT ON COLUMN news.clusters.position IS 'Log position of this state; -1 before any has come.';
COMMENT ON COLUMN news.clusters.stories IS 'How many stories it has; 0 once merged into another.';
COMMENT ON COLUMN news.clusters.publishers IS 'From how many different publishers.';
COMMENT ON COLUMN news.clusters.headline IS 'Headline of its first story.';
COMMENT ON COLUMN news.clusters.first_seen IS 'Crawl time of its first story.';
COMMENT ON COLUMN news.clusters.last_seen IS 'Crawl time of its last story.';
COMMENT ON COLUMN news.clusters.merged_into IS 'The cluster that its stories are counted in now.';

CREATE TABLE news.stories (
    id TEXT NOT NULL,
    edition TEXT NOT NULL,
    url TEXT NOT NULL,
    title TEXT NOT NULL,
    publisher TEXT NOT NULL,
    language TEXT NOT NULL,
    crawled_at TIMESTAMP WITH TIME ZONE NOT NULL,
    received_at TIMESTAMP WITH TIME ZONE NOT NULL,
    published_at TIMESTAMP WITH TIME ZONE,
    simhash BIGINT NOT NULL,
    late BOOLEAN NOT NULL,
    position BIGINT NOT NULL,
    CONSTRAINT stories_pkey PRIMARY KEY (id)
);
CREATE INDEX stories_crawled_at_idx ON news.stories (crawled_at);
COMMENT ON TABLE news.stories IS 'Every story, once.';
COMMENT ON COLUMN news.stories.id IS 'The producer''s id, or the hash of the canonical URL.';
COMMENT ON COLUMN news.stories.edition IS 'The stream it was clustered in: its language.';
COMMENT ON COLUMN news.stories.url IS 'Canonical URL.';
COMMENT ON COLUMN news.stories.title IS 'Clean headline.';
COMMENT ON COLUMN news.stories.language IS 'BCP 47 tag.';
COMMENT ON COLUMN news.stories.crawled_at IS 'Event time: when the crawler saw it.';
COMMENT ON COLUMN news.stories.received_at IS 'When the broker took it in.';
COMMENT ON COLUMN news.stories.published_at IS 'When it says it was published.';
COMMENT ON COLUMN news.stories.simhash IS '64-bit SimHash, as a signed integer.';
COMMENT ON COLUMN news.stories.late IS 'It came later than the look-back allows to match it.';
COMMENT ON COLUMN news.stories.position IS 'Log position of its assignment.';

CREATE TABLE news.cluster_stories (
    story_id TEXT NOT NULL,
    cluster_id TEXT NOT NULL,
    position BIGINT NOT NULL,
    CONSTRAINT cluster_stories_pkey PRIMARY KEY (story_id),
    CONSTRAINT cluster_stories_story_id_fkey FOREIGN KEY(story_id) REFERENCES news.stories (id) ON DELETE CASCADE,
    CONSTRAINT cluster_stories_cluster_id_fkey FOREIGN KEY(cluster_id) REFERENCES news.clusters (id)
);
CREATE INDEX cluster_stories_cluster_id_idx ON news.cluster_stories (cluster_id);
COMMENT ON TABLE news.cluster_stories IS 'Which cluster each story was put in when it came.';
COMMENT ON COLUMN news.cluster_stories.cluster_id IS 'The cluster it joined; see merged_into.';
COMMENT ON COLUMN news.cluster_stories.position IS 'Log position of its assignment.';

CREATE TABLE news.events (
    id TEXT NOT NULL,
    cluster_id TEXT NOT NULL,
    edition TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    state TEXT NOT NULL,
    headline TEXT NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    first_seen TIMESTAMP WITH TIME ZONE NOT NULL,
    last_seen TIMESTAMP WITH TIME ZONE NOT NULL,
    stories_in_window INTEGER NOT NULL,
    publishers_in_window INTEGER NOT NULL,
    copies_in_window INTEGER NOT NULL,
    stories_total INTEGER NOT NULL,
    merged_into TEXT,
    CONSTRAINT events_pkey PRIMARY KEY (id),
    CONSTRAINT events_cluster_id_fkey FOREIGN KEY(cluster_id) REFERENCES news.clusters (id)
);
CREATE INDEX events_cluster_id_idx ON news.events (cluster_id);
COMMENT ON TABLE news.events IS 'Breaking events, latest state.';
COMMENT ON COLUMN news.events.sequence IS 'Sequence of the latest update.';
COMMENT ON COLUMN news.events.state IS 'started, updated or ended.';
COMMENT ON COLUMN news.events.headline IS 'Headline of the most central story.';
COMMENT ON COLUMN news.events.updated_at IS 'Stream time of the latest update.';
COMMENT ON COLUMN news.events.merged_into IS 'The event that goes on for this one.';

CREATE TABLE news.story_links (
    story_id TEXT NOT NULL,
    other_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    score DOUBLE PRECISION,
    CONSTRAINT story_links_pkey PRIMARY KEY (story_id, other_id, kind),
    CONSTRAINT story_links_story_id_fkey FOREIGN KEY(story_id) REFERENCES news.stories (id) ON DELETE CASCADE
);
CREATE INDEX story_links_other_id_idx ON news.story_links (other_id);
COMMENT ON TABLE news.story_links IS 'Stories found similar, and near-duplicates.';
COMMENT ON COLUMN news.story_links.other_id IS 'The earlier story.';
COMMENT ON COLUMN news.story_links.kind IS 'duplicate (near-copy of the first such story) or similar.';
COMMENT ON COLUMN news.story_links.score IS 'Jaccard similarity of the two token sets; none for duplicates of an unlisted story.';

CREATE TABLE news.event_updates (
    event_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    state TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    position BIGINT NOT NULL,
    stories_in_window INTEGER NOT NULL,
    stories_total INTEGER NOT NULL,
    record JSONB NOT NULL,
    CONSTRAINT event_updates_pkey PRIMARY KEY (event_id, sequence),
    CONSTRAINT event_updates_event_id_fkey FOREIGN KEY(event_id) REFERENCES news.events (id) ON DELETE CASCADE
);
COMMENT ON TABLE news.event_updates IS 'Every update of every event: the log behind `events`.';
COMMENT ON COLUMN news.event_updates.at IS 'Stream time.';
COMMENT ON COLUMN news.event_updates.record IS 'The whole update as it stands on the topic, with its evidence.';
"""


def upgrade() -> None:
    """Make the tables."""
    op.execute(TABLES)


def downgrade() -> None:
    """Take the tables away, and all that is in them."""
    for table in ("event_updates", "events", "story_links", "cluster_stories", "stories", "clusters"):
        op.execute(f"DROP TABLE news.{table}")
