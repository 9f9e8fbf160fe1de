CREATE OR REPLACE FUNCTION news.report_world(since timestamptz DEFAULT now() - interval '1 day')
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
        SELECT e.*, e.started_at AS alerted_at
        FROM news.events e
        WHERE e.sequence <> 0 AND e.id IN (SELECT id FROM pair)
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
        SELECT m.head, count(DISTINCT (x.edition, x.position)) AS stories, count(DISTINCT s.family) AS publishers
        FROM happening JOIN member m USING (head) JOIN news.event_stories x ON x.event_id = m.id
        JOIN news.stories s ON s.edition = x.edition AND s.position = x.position AND s.crawled_at = x.crawled_at
        GROUP BY m.head
    )
    SELECT l.id, l.headline, ARRAY(SELECT e FROM unnest(h.editions) WITH ORDINALITY x (e, n) GROUP BY e ORDER BY min(n)), h.events,
           coalesce(t.stories, 0), coalesce(t.publishers, 0), l.alerted_at, h.last_seen
    FROM happening h JOIN linked l ON l.id = h.head LEFT JOIN told t USING (head)
    ORDER BY h.last_seen DESC, l.id
$$;
COMMENT ON FUNCTION news.report_world IS 'What broke in several languages? Happenings that had a story since the given time, the one with the latest story first: the event that broke first, the editions in the order of their alerts, and stories and publishers counted over all languages.';
