CREATE OR REPLACE FUNCTION news.report_first_to_report(since timestamptz DEFAULT now() - interval '7 days', edition text DEFAULT NULL)
RETURNS TABLE (family text, firsts bigint, events bigint, share numeric, median_minutes numeric)
LANGUAGE sql STABLE SET jit = off AS $$
    WITH told AS MATERIALIZED (
        SELECT m.event_id, s.family, min(s.crawled_at) AS at,
               row_number() OVER (PARTITION BY m.event_id ORDER BY min(s.crawled_at), min(s.id)) AS place,
               min(min(s.crawled_at)) OVER (PARTITION BY m.event_id) AS first_at
        FROM news.events e JOIN news.event_stories m ON m.event_id = e.id AND NOT m.is_stray
        JOIN news.stories s ON s.edition = m.edition AND s.position = m.position AND s.crawled_at = m.crawled_at
        WHERE e.started_at >= since AND e.merged_into IS NULL
          AND news.is_of(e.edition, report_first_to_report.edition)
        GROUP BY m.event_id, s.family
    )
    SELECT t.family, count(*) FILTER (WHERE t.place = 1), count(*), round(avg((t.place = 1)::int), 3),
           news.minutes(percentile_cont(0.5) WITHIN GROUP (ORDER BY t.at - t.first_at))
    FROM told t GROUP BY t.family
    ORDER BY 2 DESC, 3 DESC, 1
$$;
COMMENT ON FUNCTION news.report_first_to_report IS 'Who is first? Of the events that started since the given time: how many each publisher reported, how many of them first (share: of its events), and how many minutes after the first in the median. Strays do not count.';

CREATE OR REPLACE FUNCTION news.report_missed_by(family text, since timestamptz DEFAULT now() - interval '7 days')
RETURNS TABLE (event_id text, headline text, edition text, stories int, publishers int, first_story_at timestamptz, minutes_behind numeric)
LANGUAGE sql STABLE SET jit = off AS $$
    SELECT e.id, e.headline, e.edition, e.stories_total, e.publishers_total, told.first_at, news.minutes(news.stream_time(e.edition) - told.first_at)
    FROM news.events e
    CROSS JOIN LATERAL (
        SELECT min(s.crawled_at) FILTER (WHERE NOT s.is_stray) AS first_at, bool_or(s.family = lower(report_missed_by.family)) AS is_told
        FROM news.stories_of_event(e.id) s
    ) told
    WHERE e.started_at >= since AND e.merged_into IS NULL AND told.is_told IS NOT TRUE
      AND e.edition IN (SELECT p.edition FROM news.publishers p WHERE p.family = lower(report_missed_by.family))
    ORDER BY e.publishers_total DESC NULLS LAST, e.id
$$;
COMMENT ON FUNCTION news.report_missed_by IS 'What did a publisher miss? Events since the given time, of the editions that it publishes in, without a story of this family: those of most publishers first, with how many minutes it is behind the first story by now. Any story counts as reporting, strays too; the first story is no stray.';

CREATE OR REPLACE FUNCTION news.report_publishers(since timestamptz DEFAULT now() - interval '7 days', edition text DEFAULT NULL)
RETURNS TABLE (family text, edition text, country text, stories bigint, share_copies numeric, events bigint, first_story_at timestamptz,
               last_story_at timestamptz)
LANGUAGE sql STABLE SET jit = off AS $$
    WITH told AS MATERIALIZED (
        SELECT s.edition, s.family, count(*) AS stories, round(avg((s.duplicate_of IS NOT NULL)::int), 3) AS copied
        FROM news.stories s WHERE s.crawled_at >= since AND NOT s.retracted GROUP BY s.edition, s.family
    ), covered AS MATERIALIZED (
        SELECT s.edition, s.family, count(DISTINCT m.event_id) AS events
        FROM news.events e JOIN news.event_stories m ON m.event_id = e.id AND NOT m.is_stray
        JOIN news.stories s ON s.edition = m.edition AND s.position = m.position AND s.crawled_at = m.crawled_at
        WHERE e.started_at >= since AND e.merged_into IS NULL GROUP BY s.edition, s.family
    )
    SELECT p.family, p.edition, p.country, t.stories, t.copied, coalesce(c.events, 0), p.first_story_at, p.last_story_at
    FROM told t JOIN news.publishers p USING (edition, family) LEFT JOIN covered c USING (edition, family)
    WHERE news.is_of(p.edition, report_publishers.edition)
    ORDER BY t.stories DESC, p.family, p.edition
$$;
COMMENT ON FUNCTION news.report_publishers IS 'Who publishes how much? Publisher families since the given time, with the share of near-duplicates and the number of events that they reported, strays left out; the first and last story are of all time.';

CREATE OR REPLACE FUNCTION news.report_sources(since timestamptz DEFAULT now() - interval '7 days', edition text DEFAULT NULL)
RETURNS TABLE (publisher text, edition text, stories bigint, stories_per_day numeric, last_story_at timestamptz, silent_hours numeric, is_silent boolean,
               share_late numeric, share_copies numeric, median_delay_minutes numeric)
LANGUAGE sql STABLE SET jit = off AS $$
    WITH source AS MATERIALIZED (
        SELECT s.publisher, s.edition, count(*) AS stories, count(*) FILTER (WHERE s.crawled_at >= since) AS lately, max(s.crawled_at) AS last_at,
               avg(s.late::int) AS late, avg((s.duplicate_of IS NOT NULL)::int) AS copied,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM s.crawled_at - s.published_at) / 60) AS delay
        FROM news.stories s
        WHERE s.crawled_at >= since - interval '7 days' AND NOT s.retracted
          AND news.is_of(s.edition, report_sources.edition)
        GROUP BY s.publisher, s.edition
    ), now AS MATERIALIZED (
        SELECT max(p.last_story_at) AS at, greatest(min(p.first_story_at), since - interval '7 days') AS since FROM news.publishers p
    ), rated AS (
        SELECT x.*, n.at, x.stories / greatest(1, extract(epoch FROM n.at - n.since) / 86400) AS daily FROM source x CROSS JOIN now n
    )
    SELECT r.publisher, r.edition, r.lately, round(r.daily, 1), r.last_at, round(extract(epoch FROM r.at - r.last_at) / 3600, 1),
           extract(epoch FROM r.at - r.last_at) / 86400 * r.daily > 5, round(r.late, 3), round(r.copied, 3), round(r.delay::numeric, 1)
    FROM rated r
    ORDER BY 7 DESC, r.stories DESC, r.publisher, r.edition
$$;
COMMENT ON FUNCTION news.report_sources IS 'Which feeds are silent, late or copy? Publishers as stories name them, the silent ones first: those that have missed more than five stories by their usual number a day, up to the latest story of all editions. stories counts since the given time, everything else since a week before that. The delay is from published_at, where stories have one.';
