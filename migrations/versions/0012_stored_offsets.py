"""Stored offsets: how far each partition of a topic is stored, so that a restored older copy is noticed."""

from alembic import op

revision = "0012"
down_revision = "0011"

UPGRADE = """
CREATE TABLE news.stored_offsets (
    topic text,
    partition integer,
    next_offset bigint NOT NULL,
    missing_from bigint,
    CONSTRAINT stored_offsets_pkey PRIMARY KEY (topic, partition)
);
COMMENT ON TABLE news.stored_offsets IS 'How far each partition of a topic is stored.';
COMMENT ON COLUMN news.stored_offsets.topic IS 'The topic; empty in a row that says that what was stored before revision 0012 is not known.';
COMMENT ON COLUMN news.stored_offsets.partition IS 'The number of the partition.';
COMMENT ON COLUMN news.stored_offsets.next_offset IS 'The offset after the last record that is stored.';
COMMENT ON COLUMN news.stored_offsets.missing_from IS 'The offset from which records are missing: an older copy of the database was restored. None if none are.';
INSERT INTO news.stored_offsets (topic, partition, next_offset) SELECT '', 0, 0 WHERE EXISTS (SELECT FROM news.stories);
"""


def upgrade() -> None:
    """Make the table."""
    op.execute(UPGRADE)


def downgrade() -> None:
    """Drop it."""
    op.execute("DROP TABLE news.stored_offsets")
