"""Indexes for the reports: words of headlines, blocks of SimHashes, and active events."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

FUNCTIONS = """
CREATE FUNCTION news.text_search_config(edition text) RETURNS regconfig LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE edition
        WHEN 'ar' THEN 'pg_catalog.arabic'::regconfig WHEN 'ca' THEN 'pg_catalog.catalan'::regconfig
        WHEN 'da' THEN 'pg_catalog.danish'::regconfig WHEN 'de' THEN 'pg_catalog.german'::regconfig
        WHEN 'el' THEN 'pg_catalog.greek'::regconfig WHEN 'en' THEN 'pg_catalog.english'::regconfig
        WHEN 'es' THEN 'pg_catalog.spanish'::regconfig WHEN 'eu' THEN 'pg_catalog.basque'::regconfig
        WHEN 'fi' THEN 'pg_catalog.finnish'::regconfig WHEN 'fr' THEN 'pg_catalog.french'::regconfig
        WHEN 'ga' THEN 'pg_catalog.irish'::regconfig WHEN 'hi' THEN 'pg_catalog.hindi'::regconfig
        WHEN 'hu' THEN 'pg_catalog.hungarian'::regconfig WHEN 'hy' THEN 'pg_catalog.armenian'::regconfig
        WHEN 'id' THEN 'pg_catalog.indonesian'::regconfig WHEN 'it' THEN 'pg_catalog.italian'::regconfig
        WHEN 'lt' THEN 'pg_catalog.lithuanian'::regconfig WHEN 'nb' THEN 'pg_catalog.norwegian'::regconfig
        WHEN 'ne' THEN 'pg_catalog.nepali'::regconfig WHEN 'nl' THEN 'pg_catalog.dutch'::regconfig
        WHEN 'no' THEN 'pg_catalog.norwegian'::regconfig WHEN 'pt' THEN 'pg_catalog.portuguese'::regconfig
        WHEN 'ro' THEN 'pg_catalog.romanian'::regconfig WHEN 'ru' THEN 'pg_catalog.russian'::regconfig
        WHEN 'sr' THEN 'pg_catalog.serbian'::regconfig WHEN 'sv' THEN 'pg_catalog.swedish'::regconfig
        WHEN 'ta' THEN 'pg_catalog.tamil'::regconfig WHEN 'tr' THEN 'pg_catalog.turkish'::regconfig
        ELSE 'pg_catalog.simple'::regconfig
    END
$$;
COMMENT ON FUNCTION news.text_search_config IS 'The text search configuration of an edition; simple where Postgres has none for its language.';

CREATE FUNCTION news.is_written_without_spaces(edition text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT edition IN ('zh', 'ja', 'th', 'lo', 'km', 'my', 'ko', 'yue')
$$;
COMMENT ON FUNCTION news.is_written_without_spaces IS 'Whether headlines of an edition are searched by pairs of signs, as its words are not separated (ko: or have endings).';

CREATE FUNCTION news.sign_pairs(line text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(DISTINCT pair), '{}') FROM (
        SELECT substr(word, n, 2) AS pair
        FROM regexp_split_to_table(lower(line), '[[:space:][:punct:]]+') AS word, generate_series(1, greatest(1, length(word) - 1)) AS n
    ) x WHERE pair <> ''
$$;
COMMENT ON FUNCTION news.sign_pairs IS 'The pairs of neighbouring signs of each word of a line; a word of one sign is itself.';

CREATE FUNCTION news.headline_words(edition text, title text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN news.is_written_without_spaces(edition) THEN array_to_tsvector(news.sign_pairs(title))
                ELSE to_tsvector(news.text_search_config(edition), title) END
$$;
COMMENT ON FUNCTION news.headline_words IS 'The words by which a headline is found: stems in the language of its edition; or pairs of signs, where words are not separated.';

CREATE FUNCTION news.simhash_blocks(simhash bigint) RETURNS int[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ARRAY[(simhash & 65535)::int, (simhash >> 16 & 65535)::int + 65536, (simhash >> 32 & 65535)::int + 131072,
                 (simhash >> 48 & 65535)::int + 196608]
$$;
COMMENT ON FUNCTION news.simhash_blocks IS 'The four blocks of 16 bits of a SimHash, each with its place: two that differ in 3 bits or fewer share a block (Manku, Jain and Das Sarma 2007).';
"""

INDEXES = """
CREATE INDEX stories_headline_idx ON news.stories USING gin (news.headline_words(edition, title));
CREATE INDEX events_active_idx ON news.events (last_seen) WHERE state <> 'ended';
CREATE INDEX stories_simhash_idx ON news.stories USING gin (news.simhash_blocks(simhash));
"""


def upgrade() -> None:
    """Make the functions and the indexes."""
    op.execute(FUNCTIONS)
    op.execute(INDEXES)


def downgrade() -> None:
    """Drop both."""
    op.execute("DROP INDEX news.stories_headline_idx, news.stories_simhash_idx, news.events_active_idx")
    for function in (
        "headline_words",
        "sign_pairs",
        "is_written_without_spaces",
        "text_search_config",
        "simhash_blocks",
    ):
        op.execute(f"DROP FUNCTION news.{function}")
