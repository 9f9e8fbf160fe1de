CREATE OR REPLACE FUNCTION news.report_volume(edition text DEFAULT NULL, step interval DEFAULT '1 hour', since timestamptz DEFAULT now() - interval '1 day')
RETURNS TABLE (edition text, at timestamptz, stories bigint, usual numeric, ratio numeric)
LANGUAGE sql STABLE SET jit = off AS $$
    WITH given AS MATERIALIZED (
        SELECT news.checked_share_of_day(report_volume.step) AS step
    ), reach AS (
        SELECT p.edition, min(p.first_story_at) AS first,
               (SELECT CASE WHEN max(a.last_story_at) > now() - interval '14 days' THEN greatest(now(), max(a.last_story_at))
                            ELSE max(a.last_story_at) END FROM news.publishers a) AS until
        FROM news.publishers p
        WHERE news.is_of(p.edition, report_volume.edition) GROUP BY p.edition
    ), counted AS MATERIALIZED (
        SELECT s.edition, date_bin((SELECT step FROM given), s.crawled_at, '2000-01-01Z') AS at, count(*) AS stories
        FROM news.stories s
        WHERE s.crawled_at >= date_bin((SELECT step FROM given), greatest(since, '1990-01-01Z'), '2000-01-01Z') - interval '14 days'
          AND news.is_of(s.edition, report_volume.edition) AND NOT s.retracted
        GROUP BY 1, 2
    ), bin AS (
        SELECT r.edition, b.at, r.first FROM reach r, LATERAL generate_series(
            date_bin((SELECT step FROM given), greatest(since, r.first), '2000-01-01Z'), r.until, (SELECT step FROM given)) AS b (at)
    ), expected AS (
        SELECT b.edition, b.at, avg(coalesce(c.stories, 0)) AS usual
        FROM bin b CROSS JOIN generate_series(1, 14) AS day LEFT JOIN counted c ON c.edition = b.edition AND c.at = b.at - day * interval '1 day'
        WHERE b.at - day * interval '1 day' >= date_bin((SELECT step FROM given), b.first, '2000-01-01Z') + (SELECT step FROM given)
        GROUP BY b.edition, b.at
    )
    SELECT b.edition, b.at, coalesce(c.stories, 0), round(e.usual, 1), round(coalesce(c.stories, 0) / nullif(e.usual, 0), 2)
    FROM bin b LEFT JOIN counted c USING (edition, at) LEFT JOIN expected e USING (edition, at)
    ORDER BY b.edition, b.at
$$;
COMMENT ON FUNCTION news.report_volume IS 'Is as much coming in as usual? Stories of each step of time, with the mean of the same time on up to 14 days before. Up to now, or in an archive up to its latest story; the last step may not be over. The step divides a day.';

CREATE OR REPLACE FUNCTION news.report_clusters_daily(since timestamptz DEFAULT now() - interval '30 days', edition text DEFAULT NULL)
RETURNS TABLE (day date, edition text, stories bigint, clusters bigint, stories_alone bigint, copies bigint, events bigint)
LANGUAGE sql STABLE SET jit = off AS $$
    WITH told AS MATERIALIZED (
        SELECT date_trunc('day', s.crawled_at, 'UTC') AS day, s.edition, s.cluster_id, count(*) AS stories, count(s.duplicate_of) AS copies
        FROM news.stories s
        WHERE s.crawled_at >= date_trunc('day', since, 'UTC') AND NOT s.retracted
          AND news.is_of(s.edition, report_clusters_daily.edition)
        GROUP BY 1, 2, 3
    ), lived AS MATERIALIZED (
        SELECT t.day, t.edition, CASE WHEN c.merged_into IS NULL THEN c.id ELSE news.surviving_cluster(c.id) END AS cluster_id,
               sum(t.stories) AS stories, sum(t.copies) AS copies
        FROM told t JOIN news.clusters c ON c.id = t.cluster_id
        GROUP BY 1, 2, 3
    ), started AS MATERIALIZED (
        SELECT date_trunc('day', e.started_at, 'UTC') AS day, e.edition, count(*) AS events FROM news.events e
        WHERE e.started_at >= date_trunc('day', since, 'UTC') AND e.merged_into IS NULL GROUP BY 1, 2
    )
    SELECT (l.day AT TIME ZONE 'UTC')::date, l.edition, sum(l.stories)::bigint, count(*), count(*) FILTER (WHERE l.stories = 1), sum(l.copies)::bigint,
           coalesce(max(s.events), 0)
    FROM lived l LEFT JOIN started s USING (day, edition)
    GROUP BY l.day, l.edition ORDER BY l.day, l.edition
$$;
COMMENT ON FUNCTION news.report_clusters_daily IS 'How did each day go? Stories, clusters with a story that day, clusters with one story on that day, near-duplicates, and events that started and were not merged into another, by days of UTC.';

CREATE OR REPLACE VIEW news.report_pipeline_health AS
SELECT now.edition, now.at AS stream_time, received.at AS last_received_at, round(extract(epoch FROM now() - received.at))::bigint AS quiet_seconds,
       round(extract(epoch FROM received.at - received.crawled_at))::bigint AS lag_seconds,
       lately.stories AS stories_last_hour, active.events AS breaking_events, active.hanging AS hanging_events
FROM (SELECT p.edition, max(p.last_story_at) AS at FROM news.publishers p GROUP BY p.edition) now
CROSS JOIN LATERAL (
    SELECT s.received_at AS at, s.crawled_at FROM news.stories s
    WHERE s.edition = now.edition ORDER BY s.position DESC LIMIT 1
) received
CROSS JOIN LATERAL (
    SELECT count(*) AS stories FROM news.stories s WHERE s.edition = now.edition AND s.crawled_at > now.at - interval '1 hour' AND NOT s.retracted
) lately
CROSS JOIN LATERAL (
    SELECT count(*) AS events, count(*) FILTER (WHERE e.last_seen + r.window + interval '1 hour' < now.at) AS hanging
    FROM news.rule(now.edition) r LEFT JOIN news.events e ON e.edition = now.edition AND e.state <> 'ended' AND e.sequence <> 0
    WHERE e.id IS NOT NULL
) active
ORDER BY now.edition;
COMMENT ON VIEW news.report_pipeline_health IS 'Is it running? A row for each edition.';
COMMENT ON COLUMN news.report_pipeline_health.edition IS 'The stream: a language.';
COMMENT ON COLUMN news.report_pipeline_health.stream_time IS 'Crawl time of its latest story.';
COMMENT ON COLUMN news.report_pipeline_health.last_received_at IS 'When the broker took in the story that was stored last.';
COMMENT ON COLUMN news.report_pipeline_health.quiet_seconds IS 'Seconds since then, by the clock of Postgres.';
COMMENT ON COLUMN news.report_pipeline_health.lag_seconds IS 'Seconds from the crawl of that story to the broker.';
COMMENT ON COLUMN news.report_pipeline_health.stories_last_hour IS 'Stories of the last hour of stream time.';
COMMENT ON COLUMN news.report_pipeline_health.breaking_events IS 'Events that have not ended.';
COMMENT ON COLUMN news.report_pipeline_health.hanging_events IS 'Those of them that should have ended an hour ago or earlier.';
