CREATE OR REPLACE FUNCTION news.surviving_cluster(cluster text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
    WITH RECURSIVE path AS (
        SELECT id, merged_into FROM news.clusters WHERE id = cluster
        UNION
        SELECT c.id, c.merged_into FROM news.clusters c JOIN path p ON c.id = p.merged_into
    )
    SELECT id FROM path WHERE merged_into IS NULL
$$;
COMMENT ON FUNCTION news.surviving_cluster IS 'The cluster that a cluster lives on as, through all merges.';

CREATE OR REPLACE FUNCTION news.surviving_event(event text) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
    WITH RECURSIVE path AS (
        SELECT id, merged_into FROM news.events WHERE id = event
        UNION
        SELECT e.id, e.merged_into FROM news.events e JOIN path p ON e.id = p.merged_into WHERE e.sequence <> 0
    )
    SELECT coalesce((SELECT id FROM path p WHERE NOT EXISTS (SELECT FROM news.events e WHERE e.id = p.merged_into AND e.sequence <> 0) LIMIT 1), event)
$$;
COMMENT ON FUNCTION news.surviving_event IS 'The event that an event lives on as, through all merges.';

CREATE OR REPLACE FUNCTION news.is_of(edition text, wanted text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT wanted IS NULL OR edition = wanted OR starts_with(edition, wanted || '-')
$$;
COMMENT ON FUNCTION news.is_of IS 'Whether an edition is the wanted one or a part of it (en-sport is a part of en); of NULL, every edition is one.';

CREATE OR REPLACE FUNCTION news.stream_time(edition text) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT max(p.last_story_at) FROM news.publishers p WHERE p.edition = stream_time.edition
$$;
COMMENT ON FUNCTION news.stream_time IS 'Crawl time of the latest story of an edition: what "now" means in reports on what happens now.';

CREATE OR REPLACE FUNCTION news.minutes(duration interval) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT round(extract(epoch FROM duration) / 60, 1)
$$;
COMMENT ON FUNCTION news.minutes IS 'A duration in minutes.';

CREATE OR REPLACE FUNCTION news.stories_of_event(event text)
RETURNS TABLE (edition text, "position" bigint, crawled_at timestamptz, score smallint, is_stray boolean, id text, publisher text, family text,
               title text, url text, duplicate_of text, simhash bigint)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 100 AS $$
    SELECT m.edition, m.position, m.crawled_at, m.score, m.is_stray, s.id, s.publisher, s.family, s.title, s.url, s.duplicate_of,
           s.simhash
    FROM news.event_stories m
    LEFT JOIN news.stories s ON s.edition = m.edition AND s.position = m.position AND s.crawled_at = m.crawled_at
    WHERE m.event_id = event
$$;
COMMENT ON FUNCTION news.stories_of_event IS 'The stories of an event as of its latest update, in no order.';

CREATE OR REPLACE FUNCTION news.rule(edition text, OUT threshold int, OUT "window" interval, OUT publishers int) LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce((r.rule ->> 'threshold')::int, 15), coalesce((r.rule ->> 'window_seconds')::int, 14400) * interval '1 second',
           coalesce((r.rule ->> 'min_publishers')::int, 10)
    FROM (VALUES (1)) one (one) LEFT JOIN LATERAL (
        SELECT u.record -> 'rule' AS rule
        FROM news.events e JOIN news.event_updates u ON u.event_id = e.id AND u.sequence = e.sequence
        WHERE e.edition = rule.edition AND e.started_at IS NOT NULL ORDER BY e.started_at DESC LIMIT 1
    ) r ON true
$$;
COMMENT ON FUNCTION news.rule IS 'The rule by which events of an edition break, as its latest event says, or the usual rule: more stories than the threshold, within the window, from so many publishers.';

CREATE OR REPLACE FUNCTION news.checked_step(step interval, longest interval) RETURNS interval LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF step < interval '1 second' OR step > longest OR extract(month FROM step) + extract(year FROM step) > 0 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('step is %s: it should be 1 second to %s, without months', step, longest);
    END IF;
    RETURN step;
END
$$;
COMMENT ON FUNCTION news.checked_step IS 'A step of time; an error where reports cannot use it.';

CREATE OR REPLACE FUNCTION news.lately(of_edition text, span interval)
RETURNS TABLE (cluster_id text, edition text, at timestamptz, crawled_at timestamptz, family text)
LANGUAGE plpgsql STABLE SET jit = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE one record;
BEGIN
    FOR one IN
        SELECT p.edition, max(p.last_story_at) AS at FROM news.publishers p WHERE news.is_of(p.edition, of_edition) GROUP BY p.edition
    LOOP
        RETURN QUERY
        SELECT CASE WHEN c.merged_into IS NULL THEN c.id ELSE news.surviving_cluster(c.id) END, s.edition, one.at, s.crawled_at, s.family
        FROM news.stories s JOIN news.clusters c ON c.id = s.cluster_id
        WHERE s.edition = one.edition AND s.crawled_at > one.at - span AND NOT s.retracted;
    END LOOP;
END
$$;
COMMENT ON FUNCTION news.lately IS 'The stories of the last span of stream time, of an edition with its parts or of all, each with the cluster that it is counted in now.';

CREATE OR REPLACE FUNCTION news.checked_share_of_day(step interval) RETURNS interval LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF step < interval '1 minute' OR step > interval '1 day' OR extract(month FROM step) + extract(year FROM step) > 0
       OR 86400 % extract(epoch FROM step)::numeric <> 0 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('step is %s: it should divide a day, such as 15 minutes, 1 hour or 6 hours', step);
    END IF;
    RETURN step;
END
$$;
COMMENT ON FUNCTION news.checked_share_of_day IS 'A step of time, from a minute on, of which a day has a whole number; an error for others.';
