"""Parts of editions: a language can be split into several editions, `en` and `en-sport`. Searches and reports know both."""

from importlib import resources

from alembic import op

revision = "0013"
down_revision = "0012"

REPORTS = ("helpers", "events", "now", "stories", "publishers", "volume", "world")

FUNCTIONS = """
CREATE OR REPLACE FUNCTION news.text_search_config(edition text) RETURNS regconfig LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE split_part(edition, '-', 1)
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

CREATE OR REPLACE FUNCTION news.is_written_without_spaces(edition text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT split_part(edition, '-', 1) IN ('zh', 'ja', 'th', 'lo', 'km', 'my', 'ko', 'yue')
$$;
"""


COMMENTS = """
COMMENT ON COLUMN news.clusters.edition IS 'The stream it belongs to: a language, or a part of one.';
COMMENT ON COLUMN news.events.edition IS 'The stream it belongs to: a language, or a part of one.';
COMMENT ON COLUMN news.stories.edition IS 'The stream it was clustered in: its language, or a part of it.';
"""


def upgrade() -> None:
    """Replace the functions; those of search give the same as before for every edition that there was, so their index stays."""
    op.execute(FUNCTIONS)
    op.execute(COMMENTS)
    for part in REPORTS:
        statements = (resources.files("migrations") / "reports" / f"{part}.sql").read_text(encoding="utf-8")
        op.get_bind().exec_driver_sql(statements.replace("%", "%%"))


def downgrade() -> None:
    """Nothing to undo: without parts, the functions give what those of 0012 gave."""
