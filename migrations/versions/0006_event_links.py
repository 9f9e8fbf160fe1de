"""Links of events of different editions that are probably one happening, and the reports on them."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

LINKS = """
CREATE TABLE news.event_links (
    event_id text NOT NULL,
    other_id text NOT NULL,
    score double precision NOT NULL,
    places text[] NOT NULL,
    numbers text[] NOT NULL,
    CONSTRAINT event_links_pkey PRIMARY KEY (event_id, other_id),
    CONSTRAINT event_links_event_id_fkey FOREIGN KEY (event_id) REFERENCES news.events (id) ON DELETE CASCADE,
    CONSTRAINT event_links_other_id_fkey FOREIGN KEY (other_id) REFERENCES news.events (id) ON DELETE CASCADE
);
CREATE INDEX event_links_other_id_idx ON news.event_links (other_id);
CREATE INDEX events_merged_into_idx ON news.events (merged_into);
CREATE TABLE news.alert_profiles (
    event_id text NOT NULL,
    edition text NOT NULL,
    at timestamptz NOT NULL,
    places jsonb NOT NULL,
    numbers jsonb NOT NULL,
    names jsonb NOT NULL,
    CONSTRAINT alert_profiles_pkey PRIMARY KEY (event_id),
    CONSTRAINT alert_profiles_event_id_fkey FOREIGN KEY (event_id) REFERENCES news.events (id) ON DELETE CASCADE
);
CREATE INDEX alert_profiles_at_idx ON news.alert_profiles (at);
COMMENT ON TABLE news.alert_profiles IS 'What the headlines of alerts name: by this, events of different editions are linked.';
COMMENT ON COLUMN news.alert_profiles.at IS 'Stream time of the alert.';
COMMENT ON COLUMN news.alert_profiles.places IS 'Countries (ISO 3166) that its headlines name, with the share that do.';
COMMENT ON COLUMN news.alert_profiles.numbers IS 'The same of numbers.';
COMMENT ON COLUMN news.alert_profiles.names IS 'The same of names, as classes of consonants.';
COMMENT ON TABLE news.event_links IS 'Events of different editions that are probably one happening.';
COMMENT ON COLUMN news.event_links.other_id IS 'An event of another edition. Each link has two rows, one for each of its events.';
COMMENT ON COLUMN news.event_links.score IS 'How probable it is that both are one happening, from .75 to 1.';
COMMENT ON COLUMN news.event_links.places IS 'Countries that the alerts of both name, as codes of ISO 3166.';
COMMENT ON COLUMN news.event_links.numbers IS 'Numbers that both name, with commas written as points.';
"""

REPORTS = """
CREATE FUNCTION news.surviving_event(event text) RETURNS text LANGUAGE sql STABLE AS $$
    WITH RECURSIVE path AS (
        SELECT id, merged_into FROM news.events WHERE id = event
        UNION
        SELECT e.id, e.merged_into FROM news.events e JOIN path p ON e.id = p.merged_into
    )
    SELECT coalesce((SELECT id FROM path p WHERE NOT EXISTS (SELECT FROM news.events e WHERE e.id = p.merged_into) LIMIT 1), event)
$$;
COMMENT ON FUNCTION news.surviving_event IS 'The event that an event lives on as, through all merges.';

CREATE FUNCTION news.event_family(event text) RETURNS SETOF text LANGUAGE sql STABLE AS $$
    WITH RECURSIVE family AS (
        SELECT news.surviving_event(event) AS id
        UNION
        SELECT e.id FROM news.events e JOIN family f ON e.merged_into = f.id
    )
    SELECT id FROM family
$$;
COMMENT ON FUNCTION news.event_family IS 'An event and all events that were merged with it.';

CREATE FUNCTION news.happening(event text) RETURNS SETOF text LANGUAGE sql STABLE AS $$
    WITH near AS (
        SELECT DISTINCT news.surviving_event(l.other_id) AS id FROM news.event_family(event) f (id) JOIN news.event_links l ON l.event_id = f.id
    )
    SELECT news.surviving_event(event)
    UNION SELECT id FROM near
    UNION SELECT news.surviving_event(l.other_id)
          FROM near CROSS JOIN LATERAL news.event_family(near.id) f (id) JOIN news.event_links l ON l.event_id = f.id
$$;
COMMENT ON FUNCTION news.happening IS 'An event, and the events that are probably one happening with it: linked to it directly, or through one other event.';

CREATE FUNCTION news.report_linked_events(event text)
RETURNS TABLE (event_id text, edition text, headline text, state text, started_at timestamptz, minutes_earlier numeric, score double precision,
               places text[], numbers text[])
LANGUAGE sql STABLE AS $$
    SELECT e.id, e.edition, e.headline, e.state, a.at, round(extract(epoch FROM own.at - a.at) / 60, 1), l.score, l.places, l.numbers
    FROM news.events this
    JOIN news.event_updates own ON own.event_id = this.id AND own.sequence = 1
    CROSS JOIN LATERAL news.happening(this.id) AS h (id)
    JOIN news.events e ON e.id = h.id AND e.edition <> this.edition
    JOIN news.event_updates a ON a.event_id = e.id AND a.sequence = 1
    LEFT JOIN LATERAL (
        SELECT * FROM news.event_links
        WHERE event_id IN (SELECT news.event_family(this.id)) AND other_id IN (SELECT news.event_family(e.id))
        ORDER BY score DESC LIMIT 1
    ) l ON true
    WHERE this.id = event
    ORDER BY a.at, e.id
$$;
COMMENT ON FUNCTION news.report_linked_events IS 'The events of other editions that are probably one happening with this one, in the order of their alerts; minutes_earlier is by how many minutes their alerts came before its alert, negative if later. Those without a score are linked through another event.';

CREATE FUNCTION news.report_world(since timestamptz DEFAULT now() - interval '1 day')
RETURNS TABLE (event_id text, headline text, editions text[], events bigint, stories bigint, publishers bigint, started_at timestamptz,
               last_seen timestamptz)
LANGUAGE sql STABLE AS $$
    WITH lives AS MATERIALIZED (
        SELECT id, CASE WHEN merged_into IS NULL THEN id ELSE news.surviving_event(id) END AS survivor
        FROM news.events WHERE events.last_seen >= since - interval '4 days'
    ), pair AS MATERIALIZED (
        SELECT DISTINCT one.survivor AS id, other.survivor AS other_id
        FROM news.event_links l JOIN lives one ON one.id = l.event_id JOIN lives other ON other.id = l.other_id
        WHERE one.survivor <> other.survivor
    ), linked AS MATERIALIZED (
        SELECT e.*, a.at AS alerted_at
        FROM news.events e JOIN news.event_updates a ON a.event_id = e.id AND a.sequence = 1
        WHERE e.id IN (SELECT id FROM pair)
    ), later AS MATERIALIZED (
        SELECT DISTINCT pair.id FROM pair JOIN linked l ON l.id = pair.id JOIN linked o ON o.id = pair.other_id
        WHERE (o.alerted_at, o.id) < (l.alerted_at, l.id)
    ), head AS MATERIALIZED (
        SELECT id FROM linked EXCEPT SELECT id FROM later
    ), member AS MATERIALIZED (
        SELECT id AS head, id FROM head
        UNION SELECT head.id, pair.other_id FROM head JOIN pair USING (id)
        UNION SELECT head.id, further.other_id FROM head JOIN pair USING (id) JOIN pair further ON further.id = pair.other_id
    ), happening AS MATERIALIZED (
        SELECT m.head, array_agg(l.edition ORDER BY l.alerted_at, l.id) AS editions, count(*) AS events, max(l.last_seen) AS last_seen
        FROM member m JOIN linked l USING (id)
        GROUP BY m.head
        HAVING max(l.last_seen) >= since AND count(DISTINCT l.edition) > 1
    ), told AS MATERIALIZED (
        SELECT m.head, count(DISTINCT (s.edition, s.id)) AS stories, count(DISTINCT s.family) AS publishers
        FROM happening JOIN member m USING (head) JOIN linked l USING (id)
        CROSS JOIN LATERAL news.cluster_family(l.cluster_id) AS f (id)
        JOIN news.cluster_stories c ON c.edition = l.edition AND c.cluster_id = f.id
        JOIN news.stories s ON s.edition = c.edition AND s.id = c.story_id
        WHERE NOT s.retracted AND s.crawled_at >= l.first_seen
          AND NOT EXISTS (
              SELECT FROM news.events later
              WHERE later.cluster_id = l.cluster_id AND later.id <> l.id AND later.merged_into IS NULL
                AND later.first_seen > l.first_seen AND s.crawled_at >= later.first_seen
          )
        GROUP BY m.head
    )
    SELECT l.id, l.headline, ARRAY(SELECT e FROM unnest(h.editions) WITH ORDINALITY x (e, n) GROUP BY e ORDER BY min(n)), h.events,
           coalesce(t.stories, 0), coalesce(t.publishers, 0), l.alerted_at, h.last_seen
    FROM happening h JOIN linked l ON l.id = h.head LEFT JOIN told t USING (head)
    ORDER BY h.last_seen DESC, l.id
$$;
COMMENT ON FUNCTION news.report_world IS 'Happenings that broke in several editions and had a story since the given time, the one with the latest story first: the event that broke first, the editions in the order of their alerts, and stories and publishers counted over all languages.';
"""

DROP = """
DROP FUNCTION news.report_world;
DROP FUNCTION news.report_linked_events;
DROP FUNCTION news.happening;
DROP FUNCTION news.event_family;
DROP FUNCTION news.surviving_event;
DROP TABLE news.alert_profiles;
DROP INDEX news.events_merged_into_idx;
DROP TABLE news.event_links;
"""


def upgrade() -> None:
    """Make the table and the reports. Alerts from before are linked when they are written again."""
    op.execute(LINKS)
    op.execute(REPORTS)


def downgrade() -> None:
    """Drop the table and the reports."""
    op.execute(DROP)
