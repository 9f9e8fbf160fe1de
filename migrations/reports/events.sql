CREATE OR REPLACE VIEW news.report_breaking_now AS
WITH lately AS MATERIALIZED (SELECT l.cluster_id, count(*) AS stories FROM news.lately(NULL, interval '1 hour') l GROUP BY l.cluster_id)
SELECT e.id AS event_id, e.headline, e.edition, e.state, e.stories_total AS stories, e.publishers_total AS publishers,
       coalesce(l.stories, 0) AS stories_last_hour, e.started_at, e.first_seen, e.last_seen, e.burst_score, e.sequence
FROM news.events e
JOIN news.clusters c ON c.id = e.cluster_id
LEFT JOIN lately l ON l.cluster_id = CASE WHEN c.merged_into IS NULL THEN c.id ELSE news.surviving_cluster(c.id) END
WHERE e.state <> 'ended' AND e.sequence <> 0
ORDER BY e.last_seen DESC, e.id;
COMMENT ON VIEW news.report_breaking_now IS 'What is breaking now? Events that have not ended, the one with the latest story first.';
COMMENT ON COLUMN news.report_breaking_now.event_id IS 'The event: report_event(event_id) lists its stories.';
COMMENT ON COLUMN news.report_breaking_now.headline IS 'Headline of the most central story of the latest window.';
COMMENT ON COLUMN news.report_breaking_now.edition IS 'The stream it belongs to: a language, or a part of one.';
COMMENT ON COLUMN news.report_breaking_now.state IS 'started, updated or reopened.';
COMMENT ON COLUMN news.report_breaking_now.stories IS 'Its stories as of its latest update.';
COMMENT ON COLUMN news.report_breaking_now.publishers IS 'Publisher families of these.';
COMMENT ON COLUMN news.report_breaking_now.stories_last_hour IS 'Its speed: stories that joined its cluster in the last hour of stream time.';
COMMENT ON COLUMN news.report_breaking_now.started_at IS 'Stream time of its alert.';
COMMENT ON COLUMN news.report_breaking_now.first_seen IS 'Crawl time of its first story.';
COMMENT ON COLUMN news.report_breaking_now.last_seen IS 'Crawl time of its last story.';
COMMENT ON COLUMN news.report_breaking_now.burst_score IS 'How unusual the latest window is.';
COMMENT ON COLUMN news.report_breaking_now.sequence IS 'Sequence of the latest update.';

CREATE OR REPLACE FUNCTION news.report_events(since timestamptz DEFAULT '-infinity', until timestamptz DEFAULT 'infinity', edition text DEFAULT NULL,
                                   state text DEFAULT NULL)
RETURNS TABLE (event_id text, headline text, edition text, state text, stories int, publishers int, started_at timestamptz, ended_at timestamptz,
               first_seen timestamptz, last_seen timestamptz, burst_score double precision, reopened int, merged_into text)
LANGUAGE sql STABLE AS $$
    SELECT e.id, e.headline, e.edition, e.state, e.stories_total, e.publishers_total, e.started_at, e.ended_at, e.first_seen, e.last_seen,
           e.burst_score, e.reopened, e.merged_into
    FROM news.events e
    WHERE e.sequence <> 0 AND e.started_at >= since AND e.started_at < until
      AND news.is_of(e.edition, report_events.edition)
      AND (report_events.state IS NULL OR e.state = report_events.state)
    ORDER BY e.started_at DESC, e.id
$$;
COMMENT ON FUNCTION news.report_events IS 'What broke between two times? Events by their alerts, the latest first; those with merged_into went on in another one.';

CREATE OR REPLACE FUNCTION news.report_event(event text)
RETURNS TABLE (story_id text, crawled_at timestamptz, publisher text, title text, url text, copy_of text, minutes numeric, score smallint,
               is_first boolean, is_central boolean, is_stray boolean)
LANGUAGE sql STABLE AS $$
    WITH member AS MATERIALIZED (
        SELECT s.*, row_number() OVER (ORDER BY s.score DESC NULLS LAST, s.crawled_at, s.id) AS nearness,
               row_number() OVER (ORDER BY s.is_stray, s.crawled_at, s.id) AS place,
               first_value(s.crawled_at) OVER (ORDER BY s.is_stray, s.crawled_at, s.id) AS first_at
        FROM news.stories_of_event(event) s
    ), told AS (
        SELECT m.id, m.crawled_at, m.publisher, m.title, m.url, m.duplicate_of, news.minutes(m.crawled_at - m.first_at) AS minutes, m.score,
               m.place = 1 AS is_first, m.nearness <= 5 AND m.score IS NOT NULL AS is_central, m.is_stray,
               coalesce(original.place, m.place) AS block, original.id IS NOT NULL AS is_under, m.place
        FROM member m LEFT JOIN LATERAL (
            SELECT o.id, o.place FROM member o
            WHERE o.id = m.duplicate_of AND o.is_stray = m.is_stray AND o.place < m.place ORDER BY o.place LIMIT 1
        ) original ON true
        UNION ALL
        SELECT x.id, x.crawled_at, x.publisher, x.title, x.url, NULL, NULL, NULL, false, false, false, 0, false, 0
        FROM news.events e JOIN news.event_updates u ON u.event_id = e.id AND u.sequence = e.sequence,
             jsonb_to_recordset(u.record -> 'stories') AS x (id text, crawled_at timestamptz, publisher text, title text, url text)
        WHERE e.id = event AND NOT EXISTS (SELECT FROM member)
    )
    SELECT t.id, t.crawled_at, t.publisher, t.title, t.url, t.duplicate_of, t.minutes, t.score, t.is_first, t.is_central, t.is_stray
    FROM told t
    ORDER BY t.is_stray, t.block, t.is_under, t.place, t.crawled_at, t.id
$$;
COMMENT ON FUNCTION news.report_event IS 'Which stories does an event have, and who was first? In the order in which they came, near-duplicates (copy_of) under the first of their kind, strays last; minutes counts from the first story that is no stray; the five nearest to the centre are central. Of events whose stories were deleted, the evidence of the latest update.';

CREATE OR REPLACE FUNCTION news.report_event_newest(event text)
RETURNS TABLE (story_id text, crawled_at timestamptz, publisher text, title text, url text, copy_of text)
LANGUAGE sql STABLE AS $$
    SELECT s.id, s.crawled_at, s.publisher, s.title, s.url, s.duplicate_of
    FROM news.events e
    JOIN news.stories s ON s.edition = e.edition AND s.cluster_id IN (SELECT news.cluster_family(e.cluster_id))
    WHERE e.id = event AND e.state <> 'ended' AND NOT s.retracted AND s.crawled_at >= e.first_seen
      AND NOT EXISTS (SELECT FROM news.event_stories m WHERE m.event_id = e.id AND m.edition = s.edition AND m.position = s.position)
    ORDER BY s.crawled_at, s.id
$$;
COMMENT ON FUNCTION news.report_event_newest IS 'What has come since the latest update of an active event? Stories that joined its cluster; they are the event''s with its next update.';

CREATE OR REPLACE FUNCTION news.report_event_timeline(event text)
RETURNS TABLE (sequence int, state text, at timestamptz, stories_in_window int, publishers_in_window int, stories_total int, headline text)
LANGUAGE sql STABLE AS $$
    SELECT u.sequence, u.state, u.at, u.stories_in_window, (u.record ->> 'publishers_in_window')::int, u.stories_total,
           u.record ->> 'headline'
    FROM news.event_updates u
    WHERE u.event_id = event
    ORDER BY u.sequence
$$;
COMMENT ON FUNCTION news.report_event_timeline IS 'What did we know when? Each update of an event as it was made.';

CREATE OR REPLACE FUNCTION news.report_event_curve(event text, step interval DEFAULT '15 minutes')
RETURNS TABLE (at timestamptz, stories bigint, publishers bigint, copies bigint, stories_so_far bigint, publishers_so_far bigint)
LANGUAGE plpgsql STABLE AS $$
DECLARE low timestamptz; high timestamptz;
BEGIN
    PERFORM news.checked_step(step, '365 days');
    SELECT date_bin(step, min(s.crawled_at), '2000-01-01Z'), max(s.crawled_at) INTO low, high FROM news.event_stories s WHERE s.event_id = event;
    IF (high - low) / 20000 > step THEN
        RAISE invalid_parameter_value USING MESSAGE = format('step is %s: that is too short for an event that lasted %s', step, high - low);
    END IF;
    RETURN QUERY
    WITH member AS (
        SELECT date_bin(step, s.crawled_at, '2000-01-01Z') AS at, s.family, s.duplicate_of,
               row_number() OVER (PARTITION BY s.family ORDER BY s.crawled_at, s.position) = 1 AS is_new
        FROM news.stories_of_event(event) s
    )
    SELECT bin.at, count(m.at), count(DISTINCT m.family), count(m.duplicate_of), (sum(count(m.at)) OVER (ORDER BY bin.at))::bigint,
           (sum(count(*) FILTER (WHERE m.is_new)) OVER (ORDER BY bin.at))::bigint
    FROM generate_series(low, high, step) AS bin (at) LEFT JOIN member m ON m.at = bin.at
    GROUP BY bin.at ORDER BY bin.at;
END
$$;
COMMENT ON FUNCTION news.report_event_curve IS 'How did an event grow? Stories, publishers and near-duplicates of each step of time, and in all so far; strays count.';

CREATE OR REPLACE FUNCTION news.report_event_publishers(event text)
RETURNS TABLE (family text, minutes numeric, first_story_at timestamptz, stories bigint, copies bigint, title text, url text)
LANGUAGE sql STABLE AS $$
    WITH member AS MATERIALIZED (SELECT * FROM news.stories_of_event(event) WHERE NOT is_stray)
    SELECT m.family, news.minutes(min(m.crawled_at) - (SELECT min(crawled_at) FROM member)), min(m.crawled_at), count(*), count(m.duplicate_of),
           (array_agg(m.title ORDER BY m.crawled_at, m.id))[1], (array_agg(m.url ORDER BY m.crawled_at, m.id))[1]
    FROM member m
    GROUP BY m.family ORDER BY 3, 1
$$;
COMMENT ON FUNCTION news.report_event_publishers IS 'Who reported an event, and how long after the first? With the first story of each publisher; strays do not count.';

CREATE OR REPLACE FUNCTION news.report_changes(event text)
RETURNS TABLE (story_id text, publisher text, changed_at timestamptz, change text, old_title text, new_title text, url text)
LANGUAGE sql STABLE AS $$
    WITH revised AS (
        SELECT s.* FROM news.events e JOIN news.stories s ON s.edition = e.edition AND s.cluster_id IN (SELECT news.cluster_family(e.cluster_id))
        WHERE e.id = event AND s.revision <> s.position AND s.crawled_at BETWEEN e.first_seen AND e.last_seen
    ), version AS (
        SELECT v.edition, v.position, v.revision, v.id, v.publisher, v.title, v.url, v.retracted, v.received_at
        FROM revised r JOIN news.story_versions v USING (edition, position, crawled_at)
        UNION ALL
        SELECT r.edition, r.position, r.revision, r.id, r.publisher, r.title, r.url, r.retracted, r.received_at FROM revised r
    ), step AS (
        SELECT v.*, lag(v.title) OVER life AS old_title, lag(v.retracted) OVER life AS was_retracted
        FROM version v WINDOW life AS (PARTITION BY v.edition, v.position ORDER BY v.revision)
    )
    SELECT s.id, s.publisher, s.received_at,
           CASE WHEN s.retracted AND NOT s.was_retracted THEN 'retracted' WHEN s.was_retracted AND NOT s.retracted THEN 'restored'
                WHEN s.title <> s.old_title THEN 'title' ELSE 'other' END,
           s.old_title, s.title, s.url
    FROM step s WHERE s.was_retracted IS NOT NULL
    ORDER BY s.received_at, s.position, s.revision
$$;
COMMENT ON FUNCTION news.report_changes IS 'Which stories of an event were corrected or retracted? Old and new headlines, in the order of the changes.';

CREATE OR REPLACE FUNCTION news.report_copies(event text)
RETURNS TABLE (original_id text, original_publisher text, story_id text, publisher text, minutes numeric, title text, url text)
LANGUAGE sql STABLE AS $$
    WITH member AS MATERIALIZED (SELECT * FROM news.stories_of_event(event))
    SELECT m.duplicate_of, o.publisher, m.id, m.publisher, news.minutes(m.crawled_at - o.crawled_at), m.title, m.url
    FROM member m LEFT JOIN LATERAL (
        SELECT s.publisher, s.crawled_at FROM news.stories s
        WHERE s.id = m.duplicate_of AND s.edition = m.edition AND s.position < m.position ORDER BY s.position DESC LIMIT 1
    ) o ON true
    WHERE m.duplicate_of IS NOT NULL
    ORDER BY o.crawled_at, m.duplicate_of, m.crawled_at, m.id
$$;
COMMENT ON FUNCTION news.report_copies IS 'Who copied whom in an event? Near-duplicates under the first story of their kind, with how many minutes later they came. The original need not be a story of the event.';

CREATE OR REPLACE FUNCTION news.report_related_events(event text)
RETURNS TABLE (relation text, event_id text, headline text, edition text, state text, started_at timestamptz, stories int, score double precision)
LANGUAGE sql STABLE SET jit = off AS $$
    WITH this AS (SELECT * FROM news.events WHERE id = event), related AS (
        SELECT 'merged into it' AS relation, e.id, NULL::double precision AS score FROM this JOIN news.events e ON e.merged_into = this.id
        UNION ALL SELECT 'went on as', this.merged_into, NULL FROM this WHERE this.merged_into IS NOT NULL
        UNION ALL SELECT 'same cluster', e.id, NULL FROM this JOIN news.events e ON e.cluster_id = this.cluster_id
                  WHERE e.id <> this.id AND e.merged_into IS DISTINCT FROM this.id AND this.merged_into IS DISTINCT FROM e.id
        UNION ALL SELECT 'similar', r.event_id, r.score
                  FROM news.event_updates u, jsonb_to_recordset(u.record -> 'related_events') AS r (event_id text, score double precision)
                  WHERE u.event_id = event AND u.sequence = 1
        UNION ALL SELECT 'similar', u.event_id, r.score
                  FROM this JOIN news.events e ON e.edition = this.edition AND e.started_at BETWEEN this.started_at AND this.started_at + interval '8 days'
                  JOIN news.event_updates u ON u.event_id = e.id AND u.sequence = 1,
                       jsonb_to_recordset(u.record -> 'related_events') AS r (event_id text, score double precision)
                  WHERE r.event_id = event
        UNION ALL SELECT 'other edition', l.other_id, l.score FROM news.event_links l WHERE l.event_id = event
    )
    SELECT r.relation, e.id, e.headline, e.edition, e.state, e.started_at, e.stories_total, max(r.score)
    FROM related r JOIN news.events e ON e.id = r.id
    GROUP BY r.relation, e.id
    ORDER BY r.relation, max(r.score) DESC NULLS LAST, e.started_at, e.id
$$;
COMMENT ON FUNCTION news.report_related_events IS 'What else belongs to an event? Events that were merged, of the same cluster, that read alike (score: cosine), and of other editions (score: probability).';

CREATE OR REPLACE FUNCTION news.report_linked_events(event text)
RETURNS TABLE (event_id text, edition text, headline text, state text, started_at timestamptz, minutes_earlier numeric, score double precision,
               places text[], numbers text[])
LANGUAGE sql STABLE AS $$
    SELECT e.id, e.edition, e.headline, e.state, e.started_at, news.minutes(this.started_at - e.started_at), l.score, l.places, l.numbers
    FROM news.events this
    CROSS JOIN LATERAL news.happening(this.id) AS h (id)
    JOIN news.events e ON e.id = h.id AND e.edition <> this.edition
    LEFT JOIN LATERAL (
        SELECT * FROM news.event_links
        WHERE event_id IN (SELECT news.event_family(this.id)) AND other_id IN (SELECT news.event_family(e.id))
        ORDER BY score DESC LIMIT 1
    ) l ON true
    WHERE this.id = event
    ORDER BY e.started_at, e.id
$$;
COMMENT ON FUNCTION news.report_linked_events IS 'Which events of other languages are probably the same? In the order of their alerts; minutes_earlier is by how many minutes their alerts came before its alert, negative if later. Those without a score are linked through another event.';
