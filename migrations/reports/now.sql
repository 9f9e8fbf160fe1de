CREATE OR REPLACE FUNCTION news.report_growing_now(at_least int DEFAULT 3, edition text DEFAULT NULL)
RETURNS TABLE (cluster_id text, headline text, edition text, event_id text, last_15_minutes bigint, last_hour bigint, hour_before bigint,
               acceleration bigint, new_publishers bigint)
LANGUAGE sql STABLE SET jit = off AS $$
    WITH growth AS MATERIALIZED (
        SELECT l.cluster_id, l.edition, count(*) FILTER (WHERE l.crawled_at > l.at - interval '15 minutes') AS quarter,
               count(*) FILTER (WHERE l.crawled_at > l.at - interval '1 hour') AS hour,
               count(*) FILTER (WHERE l.crawled_at <= l.at - interval '1 hour') AS before, max(l.at) AS at
        FROM news.lately(report_growing_now.edition, interval '2 hours') l
        GROUP BY l.cluster_id, l.edition
        HAVING count(*) FILTER (WHERE l.crawled_at > l.at - interval '1 hour') >= at_least
    )
    SELECT g.cluster_id, c.headline, g.edition, e.id, g.quarter, g.hour, g.before, g.hour - g.before,
           (SELECT count(*) FROM (
                SELECT s.family FROM news.stories s
                WHERE s.cluster_id IN (SELECT news.cluster_family(g.cluster_id)) AND s.edition = g.edition AND NOT s.retracted
                GROUP BY s.family HAVING min(s.crawled_at) > g.at - interval '1 hour'
            ) fresh)
    FROM growth g JOIN news.clusters c ON c.id = g.cluster_id
    LEFT JOIN news.events e ON e.cluster_id = g.cluster_id AND e.state <> 'ended' AND e.sequence <> 0
    ORDER BY g.hour - g.before DESC, g.hour DESC, g.cluster_id
$$;
COMMENT ON FUNCTION news.report_growing_now IS 'What is growing fastest? Clusters with at least so many stories in the last hour of stream time, against the hour before; new_publishers had nothing on it before.';

CREATE OR REPLACE FUNCTION news.report_emerging_now(at_least int DEFAULT 6, edition text DEFAULT NULL)
RETURNS TABLE (cluster_id text, headline text, edition text, stories bigint, publishers bigint, stories_per_hour numeric, missing_stories bigint,
               missing_publishers bigint, first_seen timestamptz, last_seen timestamptz)
LANGUAGE sql STABLE SET jit = off AS $$
    WITH rules AS MATERIALIZED (
        SELECT p.edition, r.* FROM (SELECT DISTINCT publishers.edition FROM news.publishers) p, LATERAL news.rule(p.edition) r
        WHERE news.is_of(p.edition, report_emerging_now.edition)
    ), near AS MATERIALIZED (
        SELECT l.cluster_id, l.edition, r.threshold, r.publishers AS needed, count(*) AS stories, count(DISTINCT l.family) AS publishers,
               count(*) FILTER (WHERE l.crawled_at > l.at - interval '1 hour') AS hour, min(l.crawled_at) AS since, max(l.crawled_at) AS until
        FROM rules r, LATERAL news.lately(r.edition, r.window) l
        WHERE l.edition = r.edition
        GROUP BY l.cluster_id, l.edition, r.threshold, r.publishers
        HAVING count(*) >= at_least
    )
    SELECT n.cluster_id, c.headline, n.edition, n.stories, n.publishers, n.hour::numeric, greatest(0, n.threshold + 1 - n.stories),
           greatest(0, n.needed - n.publishers), n.since, n.until
    FROM near n JOIN news.clusters c ON c.id = n.cluster_id
    WHERE NOT EXISTS (SELECT FROM news.events e WHERE e.cluster_id = n.cluster_id AND e.state <> 'ended' AND e.sequence <> 0)
    ORDER BY n.stories DESC, n.publishers DESC, n.cluster_id
$$;
COMMENT ON FUNCTION news.report_emerging_now IS 'What is about to break? Clusters without an active event that have at least so many stories in the last window, and what each lacks of the rule: an event has more stories than the threshold. stories_per_hour are those of the last hour.';
