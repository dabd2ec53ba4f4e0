-- The views "runs" and "ticks": the ledger with typed columns, for people and their tools.
-- For example, did last night's run succeed?
--     SELECT outcome, reason, error FROM quorate.ticks WHERE job = 'report' ORDER BY tick DESC LIMIT 1;
-- Arguments: none. Runs with the schema as search_path.

-- without_zeros replaces the character U+0000, which JSON may have and text may not.
-- Arguments: a JSON document.
CREATE FUNCTION without_zeros(document json) RETURNS json
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN document::text LIKE '%\\u0000%'
    THEN regexp_replace(document::text, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g')::json
    ELSE document END;

-- from_millis is a time that is stored as milliseconds since 1970.
-- Arguments: the milliseconds; NULL and 0 are no time.
CREATE FUNCTION from_millis(millis bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE
RETURN timestamptz '1970-01-01 00:00:00Z' + nullif(millis, 0) * interval '1 millisecond';

-- is_running reports whether a run has not ended: its claim is open and its lease lasts.
-- Arguments: the job, and the owner of the claim.
CREATE FUNCTION is_running(job text, owner text) RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
    SELECT EXISTS (
        SELECT FROM records c
        CROSS JOIN LATERAL (
            SELECT s.value AS claim FROM json_each(c.value -> 'streams') s
            UNION ALL SELECT e.value FROM json_array_elements(c.value -> 'earlier') e) o
        JOIN records l ON l.kind = 'lease' AND l.name = c.name AND l.sub =
            CASE WHEN o.claim ->> 'overlaps' IS NULL THEN ''
            ELSE concat(o.claim ->> 'stream', ' ', lpad(o.claim ->> 'tick', 13, '0')) END
        WHERE c.kind = 'claim' AND c.name = job AND c.sub = '' AND o.claim ->> 'owner' = owner
            AND o.claim ->> 'void' IS NULL AND o.claim ->> 'ended' IS NULL
            AND l.value ->> 'owner' = owner
            AND from_millis((l.value ->> 'until')::bigint) >= date_trunc('milliseconds', clock_timestamp()))
$$;

-- ledger has all entries: the parts of a key, of its record, and of the engine's note. As in
-- every listing, a tick that did not run is left out if a run of it may have been dropped since.
CREATE VIEW ledger AS
SELECT
    r.name AS job, e.stream, e.tick AS place, coalesce(e.token, 0) AS token, coalesce(e.rank, 0) AS rank,
    e.kind <> 'N' AS ran,
    from_millis(coalesce(n.tick, e.tick)) AS tick,
    coalesce(l.state, n.outcome) AS outcome,
    CASE WHEN l.state = 'interrupted' THEN l.state WHEN n.reason IS NOT NULL THEN n.reason ->> 'c'
        WHEN e.kind = 'L' AND n.outcome IS DISTINCT FROM 'lease_lost' THEN 'late_end' END AS reason,
    n.trigger, n.replica, from_millis(n.started) AS started, from_millis(n.finished) AS finished, n.tries, n.error, n.parent
FROM records r
LEFT JOIN records p ON p.kind = 'log' AND p.name = r.name AND p.sub = '' -- what was dropped of the job
CROSS JOIN LATERAL json_to_record(without_zeros(r.value))
    AS e(kind text, stream text, tick bigint, token bigint, owner text, rank int, note json)
CROSS JOIN LATERAL json_to_record(CASE WHEN json_typeof(e.note) = 'object' THEN e.note ELSE '{}' END)
    AS n(tick bigint, outcome text, reason json, trigger text, replica text, started bigint, finished bigint, tries int, error text, parent text)
CROSS JOIN LATERAL (SELECT CASE WHEN e.kind = 'S' THEN CASE WHEN is_running(r.name, e.owner) THEN 'running' ELSE 'interrupted' END END AS state) l
WHERE r.kind = 'entry'
    AND (e.kind <> 'N' OR e.tick > coalesce((p.value ->> 'trimmed')::bigint, 0));

-- runs has one row for each run. Place is the tick's place in its stream: in "schedule" the
-- tick, in others the time of the request. Attempt counts the runs of a tick.
CREATE VIEW runs AS
SELECT job, stream, tick, token, row_number() OVER (PARTITION BY job, stream, place ORDER BY token) AS attempt,
    outcome, reason, trigger, started, finished, replica, tries, error, parent, from_millis(place) AS place
FROM ledger WHERE ran;

-- ticks has one row for each tick that ran or that was recorded as skipped or missed: its
-- last run, else the record of the highest rank.
CREATE VIEW ticks AS
SELECT job, stream, tick, outcome, reason, token, runs, trigger, started, finished, replica, error, from_millis(place) AS place
FROM (
    SELECT *, count(*) FILTER (WHERE ran) OVER of_tick AS runs,
        row_number() OVER (of_tick ORDER BY token DESC, rank DESC) AS n
    FROM ledger WINDOW of_tick AS (PARTITION BY job, stream, place)
) AS numbered WHERE n = 1;

REVOKE ALL ON FUNCTION without_zeros, from_millis, is_running FROM PUBLIC;
