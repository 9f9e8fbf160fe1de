"""Subscriptions: who is told of events, and what has been delivered.

Their addresses are secrets. Row security shows them only to who may change the table: workers' role, and the owner; not to readers.
"""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

TABLES = ("subscriptions", "deliveries", "push_positions")

UPGRADE = """
CREATE TABLE news.subscriptions (
    id text CONSTRAINT subscriptions_pkey PRIMARY KEY,
    kind text NOT NULL CONSTRAINT subscriptions_kind_check CHECK (kind IN ('webhook', 'slack', 'mattermost', 'telegram', 'email')),
    target text NOT NULL,
    secret text,
    edition text,
    publisher text,
    words text,
    publishers integer NOT NULL,
    states text[] NOT NULL,
    created_at timestamptz NOT NULL,
    failing_since timestamptz,
    parked_at timestamptz,
    parked_because text,
    ended_at timestamptz
);
COMMENT ON TABLE news.subscriptions IS 'Who is told of events. Only who may change this table sees its rows.';
COMMENT ON COLUMN news.subscriptions.id IS 'Its name.';
COMMENT ON COLUMN news.subscriptions.kind IS 'The form of what is sent: webhook, slack, mattermost, telegram or email.';
COMMENT ON COLUMN news.subscriptions.target IS 'The URL, or the address of e-mail, that it is sent to.';
COMMENT ON COLUMN news.subscriptions.secret IS 'The key that signs what is sent to a webhook.';
COMMENT ON COLUMN news.subscriptions.edition IS 'Only events of this edition.';
COMMENT ON COLUMN news.subscriptions.publisher IS 'Only events that this publisher reported.';
COMMENT ON COLUMN news.subscriptions.words IS 'Only events whose headline has all of these words.';
COMMENT ON COLUMN news.subscriptions.publishers IS 'Only events with at least so many publishers.';
COMMENT ON COLUMN news.subscriptions.states IS 'The states that are told: started, updated, reopened, ended.';
COMMENT ON COLUMN news.subscriptions.created_at IS 'Since when it is told.';
COMMENT ON COLUMN news.subscriptions.failing_since IS 'Since when nothing could be delivered; none while it works.';
COMMENT ON COLUMN news.subscriptions.parked_at IS 'When it was given up: nothing is sent until it is resumed.';
COMMENT ON COLUMN news.subscriptions.parked_because IS 'Why it was given up.';
COMMENT ON COLUMN news.subscriptions.ended_at IS 'When it was cancelled.';

CREATE TABLE news.deliveries (
    subscription_id text NOT NULL CONSTRAINT deliveries_subscription_id_fkey REFERENCES news.subscriptions (id) ON DELETE CASCADE,
    event_id text NOT NULL,
    sequence integer NOT NULL,
    state text NOT NULL,
    reopened integer NOT NULL,
    status text NOT NULL CONSTRAINT deliveries_status_check CHECK (status IN ('waiting', 'delivered', 'superseded', 'dropped')),
    attempts integer NOT NULL,
    due_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    answer text,
    record jsonb,
    CONSTRAINT deliveries_pkey PRIMARY KEY (subscription_id, event_id, sequence)
);
CREATE INDEX deliveries_due_at_idx ON news.deliveries (due_at) WHERE status = 'waiting';
CREATE INDEX deliveries_changed_at_idx ON news.deliveries (changed_at);
COMMENT ON TABLE news.deliveries IS 'What was sent to subscriptions, and what waits to be sent.';
COMMENT ON COLUMN news.deliveries.subscription_id IS 'The subscription.';
COMMENT ON COLUMN news.deliveries.event_id IS 'The event.';
COMMENT ON COLUMN news.deliveries.sequence IS 'The update of the event.';
COMMENT ON COLUMN news.deliveries.state IS 'Its state.';
COMMENT ON COLUMN news.deliveries.reopened IS 'How often the event had broken again by then.';
COMMENT ON COLUMN news.deliveries.status IS 'waiting; delivered; superseded: a later update took its place; dropped: it was not true any more when it could be sent.';
COMMENT ON COLUMN news.deliveries.attempts IS 'How often it was sent.';
COMMENT ON COLUMN news.deliveries.due_at IS 'When it is sent next.';
COMMENT ON COLUMN news.deliveries.changed_at IS 'When this row was last changed.';
COMMENT ON COLUMN news.deliveries.answer IS 'The last answer, or why there was none.';
COMMENT ON COLUMN news.deliveries.record IS 'The update, until it has been delivered.';

CREATE TABLE news.push_positions (
    partition integer CONSTRAINT push_positions_pkey PRIMARY KEY,
    "offset" bigint NOT NULL
);
COMMENT ON TABLE news.push_positions IS 'How far the topic of events has been read for subscriptions.';
COMMENT ON COLUMN news.push_positions.partition IS 'The partition.';
COMMENT ON COLUMN news.push_positions."offset" IS 'The offset of its next record.';
"""


def upgrade() -> None:
    """Make the tables."""
    op.execute(UPGRADE)
    for table in TABLES:
        op.execute(f"ALTER TABLE news.{table} ENABLE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY {table}_of_writers ON news.{table} "
            f"USING (has_table_privilege('news.{table}', 'UPDATE')) WITH CHECK (has_table_privilege('news.{table}', 'UPDATE'))"
        )


def downgrade() -> None:
    """Drop them."""
    for table in reversed(TABLES):
        op.execute(f"DROP TABLE news.{table}")
