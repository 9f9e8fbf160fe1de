CREATE OR REPLACE FUNCTION news.report_story(story text)
RETURNS TABLE (edition text, story_id text, title text, publisher text, family text, url text, language text, crawled_at timestamptz, published_at timestamptz,
               late boolean, retracted boolean, revisions bigint, cluster_id text, cluster_headline text, cluster_stories int, event_ids text[],
               copy_of text, copies bigint, similar_ids text[], extra jsonb)
LANGUAGE sql STABLE AS $$
    WITH found AS MATERIALIZED (
        SELECT * FROM news.stories s WHERE s.id = story
        UNION
        SELECT * FROM news.stories s WHERE s.url = story
    )
    SELECT s.edition, s.id, s.title, s.publisher, s.family, s.url, s.language, s.crawled_at, s.published_at, s.late, s.retracted,
           (SELECT count(*) FROM news.story_versions v WHERE v.edition = s.edition AND v.position = s.position AND v.crawled_at = s.crawled_at),
           c.id, c.headline, c.stories,
           ARRAY(SELECT m.event_id FROM news.event_stories m JOIN news.events e ON e.id = m.event_id AND e.sequence <> 0
                 WHERE m.edition = s.edition AND m.position = s.position ORDER BY m.event_id),
           s.duplicate_of, (SELECT count(*) FROM news.stories o WHERE o.duplicate_of = s.id AND o.edition = s.edition AND NOT o.retracted), s.similar_ids, s.extra
    FROM found s LEFT JOIN news.clusters c ON c.id = news.surviving_cluster(s.cluster_id)
    ORDER BY s.crawled_at, s.edition
$$;
COMMENT ON FUNCTION news.report_story IS 'What became of a story? By its id or its URL: its cluster as it is now, its events, what it copies, how many copy it, and the fields its producer added.';

CREATE OR REPLACE FUNCTION news.similar_stories(story text, distance int DEFAULT 3, "limit" int DEFAULT 20)
RETURNS TABLE (bits int, edition text, story_id text, title text, publisher text, crawled_at timestamptz, url text)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    wanted bigint;
    own bigint;
    own_edition text;
    blocks int[];
BEGIN
    IF similar_stories.distance NOT BETWEEN 0 AND 7 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('distance is %s: it should be 0 to 7 bits', similar_stories.distance);
    END IF;
    SELECT s.simhash, s.position, s.edition INTO wanted, own, own_edition FROM news.stories s WHERE s.id = story ORDER BY s.crawled_at LIMIT 1;
    IF wanted IS NULL THEN
        SELECT s.simhash, s.position, s.edition INTO wanted, own, own_edition FROM news.stories s WHERE s.url = story ORDER BY s.crawled_at LIMIT 1;
    END IF;
    IF wanted IS NULL AND lower(story) ~ '^[0-9a-f]{16}$' THEN
        wanted := ('x' || lower(story))::bit(64)::bigint;
    END IF;
    IF wanted IS NULL THEN
        RETURN;
    END IF;
    blocks := news.simhash_blocks(wanted);
    IF similar_stories.distance > 3 THEN
        blocks := blocks || ARRAY(SELECT block # (1 << bit) FROM unnest(blocks) block, generate_series(0, 15) bit);
    END IF;
    RETURN QUERY
    SELECT bit_count((s.simhash # wanted)::bit(64))::int, s.edition, s.id, s.title, s.publisher, s.crawled_at, s.url
    FROM news.stories s
    WHERE news.simhash_blocks(s.simhash) && blocks AND bit_count((s.simhash # wanted)::bit(64)) <= similar_stories.distance AND NOT s.retracted
      AND (own IS NULL OR (s.position, s.edition) <> (own, own_edition))
    ORDER BY 1, s.crawled_at, s.id
    LIMIT similar_stories."limit";
END
$$;
COMMENT ON FUNCTION news.similar_stories IS 'Which headlines in the whole archive are alike? Stories whose SimHash differs from that of a story (its id or URL) or from a fingerprint (16 hexadecimal digits) in at most so many of 64 bits, 0 to 7; the story itself is left out. Exact, by indexed blocks.';

CREATE OR REPLACE FUNCTION news.headline_query(query text, edition text) RETURNS tsquery LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN news.is_written_without_spaces(edition)
                THEN (SELECT string_agg(quote_literal(pair), ' & ')::tsquery FROM unnest(news.sign_pairs(query)) AS pair)
                ELSE websearch_to_tsquery(news.text_search_config(edition), query) END
$$;
COMMENT ON FUNCTION news.headline_query IS 'A query as people write it (words; "in this order"; or; -not) for the headlines of an edition.';

CREATE OR REPLACE FUNCTION news.prefix_query(query text) RETURNS tsquery LANGUAGE sql STABLE AS $$
    SELECT string_agg(quote_literal(left(word, least(60, greatest(3, length(word) - 3)))) || ':*', ' & ')::tsquery
    FROM (SELECT DISTINCT word FROM regexp_split_to_table(lower(query), '[^[:alnum:]]+') AS word WHERE length(word) >= 3) x
$$;
COMMENT ON FUNCTION news.prefix_query IS 'A query for words that begin alike, for when nothing matches: all but the last three letters of each word.';

CREATE OR REPLACE FUNCTION news.matching_stories(queries tsquery, without text, since timestamptz, of_edition text, enough int)
RETURNS TABLE (edition text, "position" bigint, crawled_at timestamptz, id text, title text, publisher text, cluster_id text, rank real)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    high timestamptz := (SELECT max(p.last_story_at) + interval '1 microsecond' FROM news.publishers p);
    lowest timestamptz := greatest(since, (SELECT min(p.first_story_at) FROM news.publishers p));
    span interval := '8 days';
    found int := 0;
    came int;
BEGIN
    WHILE high > lowest AND found < enough LOOP
        RETURN QUERY
        SELECT s.edition, s.position, s.crawled_at, s.id, s.title, s.publisher, s.cluster_id,
               ts_rank(news.headline_words(s.edition, s.title), queries, 1)
        FROM (
            SELECT * FROM news.stories t
            WHERE news.headline_words(t.edition, t.title) @@ queries AND NOT t.retracted
              AND (without IS NULL OR news.headline_words(t.edition, t.title) @@ news.headline_query(without, t.edition))
              AND t.crawled_at >= greatest(lowest, high - span) AND t.crawled_at < high
              AND news.is_of(t.edition, of_edition)
            ORDER BY t.crawled_at DESC LIMIT enough
        ) s;
        GET DIAGNOSTICS came = ROW_COUNT;
        found := found + came;
        high := high - span;
        span := span * 4;
    END LOOP;
END
$$;
COMMENT ON FUNCTION news.matching_stories IS 'Stories whose headlines match any of the queries of all editions, the latest: it looks back until there are enough. A query that leaves words out is also held against each story in its own language.';

CREATE OR REPLACE FUNCTION news.search_headlines(query text, since timestamptz, of_edition text, most int)
RETURNS TABLE (kind text, id text, edition text, headline text, publisher text, at timestamptz, stories int, rank real)
LANGUAGE plpgsql STABLE SET client_min_messages = error AS $$
DECLARE
    queries tsquery := NULL;
    looser tsquery := news.prefix_query(query);
    one tsquery;
    enough int := greatest(200, most);
BEGIN
    FOR one IN
        SELECT DISTINCT news.headline_query(query, p.edition) FROM (SELECT DISTINCT publishers.edition FROM news.publishers) p
        WHERE news.is_of(p.edition, of_edition)
    LOOP
        queries := CASE WHEN one IS NULL OR numnode(one) = 0 THEN queries WHEN queries IS NULL THEN one ELSE queries || one END;
    END LOOP;
    FOREACH one IN ARRAY ARRAY[queries, looser] LOOP
        CONTINUE WHEN one IS NULL;
        RETURN QUERY
        WITH hit AS MATERIALIZED (
            SELECT * FROM news.matching_stories(one, CASE WHEN one = queries AND one::text LIKE '%!%' THEN query END, since, of_edition, enough)
        ), best AS MATERIALIZED (
            SELECT h.* FROM hit h ORDER BY h.rank DESC, h.crawled_at DESC, h.id LIMIT most
        ), of_event AS (
            SELECT m.event_id, max(h.rank) AS rank FROM hit h JOIN news.event_stories m ON m.edition = h.edition AND m.position = h.position
            GROUP BY m.event_id
        ), of_cluster AS (
            SELECT news.surviving_cluster(h.cluster_id) AS id, max(h.rank) AS rank FROM (
                SELECT hit.cluster_id, max(hit.rank) AS rank FROM hit GROUP BY hit.cluster_id
            ) h GROUP BY 1
        )
        SELECT * FROM (
            (SELECT 'event', e.id, e.edition, e.headline, NULL, e.last_seen, e.stories_total, o.rank
             FROM of_event o JOIN news.events e ON e.id = o.event_id AND e.sequence <> 0
             ORDER BY o.rank DESC, e.last_seen DESC, e.id LIMIT most)
            UNION ALL
            (SELECT 'cluster', c.id, c.edition, c.headline, NULL, c.last_seen, c.stories, o.rank
             FROM of_cluster o JOIN news.clusters c ON c.id = o.id WHERE c.stories > 1
             ORDER BY o.rank DESC, c.stories DESC, c.id LIMIT most)
            UNION ALL
            (SELECT 'story', b.id, b.edition,
                    ts_headline(news.text_search_config(b.edition), b.title, one, 'StartSel=<<, StopSel=>>, HighlightAll=true'),
                    b.publisher, b.crawled_at, NULL::int, b.rank
             FROM best b)
        ) found (kind, id, edition, headline, publisher, at, stories, rank)
        ORDER BY array_position(ARRAY['event', 'cluster', 'story'], found.kind), found.rank DESC, found.at DESC, found.id;
        EXIT WHEN FOUND;
    END LOOP;
END
$$;
COMMENT ON FUNCTION news.search_headlines IS 'What report_search returns.';

CREATE OR REPLACE FUNCTION news.report_search(query text, since timestamptz DEFAULT '-infinity', edition text DEFAULT NULL, "limit" int DEFAULT 20)
RETURNS TABLE (kind text, id text, edition text, headline text, publisher text, at timestamptz, stories int, rank real)
LANGUAGE sql STABLE AS $$
    SELECT * FROM news.search_headlines(regexp_replace(left(query, 300), '-(?=[-[:space:]]|$)', ' ', 'g'), coalesce(since, '-infinity'),
                                        report_search.edition, least("limit", 1000))
$$;
COMMENT ON FUNCTION news.report_search IS 'What do we have on these words? Stories whose headlines match, and the events and clusters that have them; of each kind so many as the limit says, the best first and the latest of the best. << >> mark the words in stories. Words are compared by their stems in the language of each edition, in Chinese, Japanese, Thai and the like by pairs of signs; where nothing matches, by how words begin. Searches back until 200 stories match.';

CREATE OR REPLACE FUNCTION news.report_duplicates(since timestamptz DEFAULT now() - interval '1 day', edition text DEFAULT NULL)
RETURNS TABLE (story_id text, edition text, title text, publisher text, copies bigint, publishers bigint, first_copy timestamptz, last_copy timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT g.duplicate_of, g.edition, o.title, o.publisher, g.copies, g.publishers, g.first_at, g.last_at
    FROM (
        SELECT s.duplicate_of, s.edition, count(*) AS copies, count(DISTINCT s.family) AS publishers, min(s.crawled_at) AS first_at,
               max(s.crawled_at) AS last_at
        FROM news.stories s
        WHERE s.crawled_at >= since AND s.duplicate_of IS NOT NULL AND NOT s.retracted
          AND news.is_of(s.edition, report_duplicates.edition)
        GROUP BY s.duplicate_of, s.edition
    ) g
    LEFT JOIN LATERAL (
        SELECT t.title, t.publisher FROM news.stories t WHERE t.id = g.duplicate_of AND t.edition = g.edition ORDER BY t.crawled_at LIMIT 1
    ) o ON true
    ORDER BY g.copies DESC, g.first_at, g.duplicate_of
$$;
COMMENT ON FUNCTION news.report_duplicates IS 'What is copied most? Stories with the near-duplicates that came since the given time, and from how many publishers.';
