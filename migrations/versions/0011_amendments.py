"""Amendments: corrections by hand."""

from alembic import op

revision = "0011"
down_revision = "0010"

UPGRADE = """
CREATE TABLE news.amendments (
    id text CONSTRAINT amendments_pkey PRIMARY KEY,
    edition text NOT NULL,
    position bigint NOT NULL,
    action text NOT NULL
        CONSTRAINT amendments_action_check CHECK (action IN ('move', 'split', 'merge', 'dismiss', 'reinstate', 'pin')),
    amended_by text NOT NULL,
    amended_at timestamptz NOT NULL,
    reason text,
    refused text,
    event_id text,
    headline text,
    cluster_id text,
    clusters text[] NOT NULL,
    stories text[] NOT NULL
);
CREATE INDEX amendments_cluster_id_idx ON news.amendments (cluster_id);
COMMENT ON TABLE news.amendments IS 'Corrections by hand: who amended what, and when.';
COMMENT ON COLUMN news.amendments.id IS 'Its id.';
COMMENT ON COLUMN news.amendments.edition IS 'The edition that it amends.';
COMMENT ON COLUMN news.amendments.position IS 'Its log position: later is larger.';
COMMENT ON COLUMN news.amendments.action IS 'move, split, merge, dismiss, reinstate or pin.';
COMMENT ON COLUMN news.amendments.amended_by IS 'Who asked for it.';
COMMENT ON COLUMN news.amendments.amended_at IS 'When the broker took it in.';
COMMENT ON COLUMN news.amendments.reason IS 'Why, in the words of who asked.';
COMMENT ON COLUMN news.amendments.refused IS 'Why it changed nothing; none if it took effect.';
COMMENT ON COLUMN news.amendments.event_id IS 'The event that it is about, if it is about one.';
COMMENT ON COLUMN news.amendments.headline IS 'The headline that was pinned.';
COMMENT ON COLUMN news.amendments.cluster_id IS 'The cluster that holds the stories since, or that of the event.';
COMMENT ON COLUMN news.amendments.clusters IS 'The clusters that stories left or that were merged; if none were, those that were named.';
COMMENT ON COLUMN news.amendments.stories IS 'The ids of the stories that were moved; if none were, of those that were named.';

ALTER TABLE news.stories ADD COLUMN amended bigint;
COMMENT ON COLUMN news.stories.amended IS 'Log position of the amendment that put it into its cluster; none if none did.';
COMMENT ON COLUMN news.events.ended_at IS 'When it ended; none while it is active.';
UPDATE news.events e
SET ended_at = LEAST(e.ended_at, e.last_seen + (u.record -> 'rule' ->> 'window_seconds')::numeric * interval '1 second')
FROM news.event_updates u WHERE u.event_id = e.id AND u.sequence = e.sequence AND e.ended_at IS NOT NULL;
ALTER TABLE news.events ADD COLUMN dismissed boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN news.events.dismissed IS 'Whether somebody dismissed it by hand: it is no event.';
"""


def upgrade() -> None:
    """Make them."""
    op.execute(UPGRADE)


def downgrade() -> None:
    """Drop them."""
    op.execute("ALTER TABLE news.events DROP COLUMN dismissed")
    op.execute("ALTER TABLE news.stories DROP COLUMN amended")
    op.execute("DROP TABLE news.amendments")
