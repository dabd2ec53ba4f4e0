-- The views "runs" and "ticks": the ledger with typed columns, for people and their tools.
-- For example, did last night's run succeed?
--     SELECT outcome, reason, error FROM quorate.ticks WHERE job = 'report' ORDER BY tick DESC LIMIT 1;
-- Arguments: none. Runs with the schema as search_path. A view is a barrier: conditions of a query that
-- may tell what they see are not asked about rows that the view leaves out.

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

-- is_running reports whether a run has not ended: its claim is open and its lease lasts. NULL: the
-- claims or leases of the job cannot be read.
-- Arguments: the job, and the owner of the claim.
CREATE FUNCTION is_running(job text, owner text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET exit_on_error = off SET work_mem = '16MB' AS $$
#variable_conflict use_variable
BEGIN
    IF EXISTS (
        SELECT FROM records r WHERE r.kind IN ('claim', 'lease') AND r.name = job AND (json_typeof(r.value) <> 'object'
            OR coalesce(json_typeof(r.value -> 'streams'), 'null') NOT IN ('object', 'null')
            OR coalesce(json_typeof(r.value -> 'earlier'), 'null') NOT IN ('array', 'null'))) THEN
        RETURN NULL;
    END IF;
    RETURN EXISTS (
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
            AND from_millis((l.value ->> 'until')::bigint) >= date_trunc('milliseconds', clock_timestamp()));
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END $$;

-- number_in is a number in a JSON document; NULL if there is none.
-- Arguments: the document, and the name of the number.
CREATE FUNCTION number_in(document json, name text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN (document ->> name)::bigint;
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END $$;

-- read_entry returns the parts of an entry of the ledger and of its note. A record that cannot be read
-- harms no other: what its key says remains, and its outcome is "unreadable".
-- Arguments: the last part of the key, and the document.
CREATE FUNCTION read_entry(sub text, document json, OUT place bigint, OUT stream text, OUT token bigint, OUT kind text, OUT rank int, OUT owner text,
    OUT tick timestamptz, OUT outcome text, OUT reason text, OUT trigger text, OUT replica text,
    OUT started timestamptz, OUT finished timestamptz, OUT tries int, OUT error text, OUT parent text)
LANGUAGE plpgsql IMMUTABLE SET search_path FROM CURRENT SET jit = off SET exit_on_error = off SET work_mem = '16MB' AS $$
#variable_conflict use_column
DECLARE
    note json;
    read record;
BEGIN
    place := 9999999999999 - left(sub, 13)::bigint;
    stream := split_part(sub, ' ', 2);
    token := ('x' || lpad(split_part(sub, ' ', 3), 16, '0'))::bit(64)::bigint;
    BEGIN
        SELECT e.kind, e.owner, coalesce(e.rank, 0), e.note INTO kind, owner, rank, note
        FROM json_to_record(without_zeros(document)) AS e(kind text, owner text, rank int, note json);
        -- What other types have is read as text, and a text as a number: no reader does.
        SELECT n.* INTO read FROM json_to_record(CASE json_typeof(note) WHEN 'null' THEN '{}' ELSE coalesce(note, '{}') END)
            AS n(v json, tick json, outcome json, reason json, trigger json, replica json, started json, finished json, tries json, error json, parent json);
        IF kind IS NULL OR kind !~ '^[SFRLN]$'
            OR EXISTS (SELECT FROM unnest(ARRAY[read.outcome, read.trigger, read.replica, read.error, read.parent, read.reason -> 'c']) t WHERE json_typeof(t) NOT IN ('string', 'null'))
            OR EXISTS (SELECT FROM unnest(ARRAY[read.v, read.tick, read.started, read.finished, read.tries]) t WHERE json_typeof(t) NOT IN ('number', 'null'))
            OR json_typeof(read.reason) NOT IN ('object', 'null') OR (read.v #>> '{}')::numeric > 2 THEN
            RAISE data_exception;
        END IF;
        tick := from_millis((read.tick #>> '{}')::bigint);
        started := from_millis((read.started #>> '{}')::bigint);
        finished := from_millis((read.finished #>> '{}')::bigint);
        outcome := read.outcome #>> '{}';
        reason := read.reason ->> 'c';
        trigger := read.trigger #>> '{}';
        replica := read.replica #>> '{}';
        tries := (read.tries #>> '{}')::int;
        error := read.error #>> '{}';
        parent := read.parent #>> '{}';
        IF greatest(tick, started, finished) >= '10000-01-01 00:00:00Z' THEN
            RAISE data_exception;
        END IF;
        IF kind = 'L' AND reason IS NULL AND outcome IS DISTINCT FROM 'lease_lost' THEN
            reason := 'late_end';
        END IF;
    EXCEPTION WHEN data_exception THEN
        SELECT 'unreadable', 'unreadable' INTO outcome, reason;
        SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL INTO tick, trigger, replica, started, finished, tries, error, parent;
        rank := coalesce(rank, 0);
    END;
    tick := coalesce(tick, from_millis(place));
EXCEPTION WHEN data_exception THEN -- not a key of this package
    SELECT 'unreadable', 'unreadable' INTO outcome, reason;
END $$;

-- ledger has all entries: the parts of a key, of its record, and of the engine's note. As in
-- every listing, a tick that did not run is left out if a run of it may have been dropped since.
CREATE VIEW ledger WITH (security_barrier) AS
SELECT
    r.name AS job, e.stream, e.place, coalesce(e.token, 0) AS token, coalesce(e.rank, 0) AS rank,
    coalesce(e.kind <> 'N', e.token > 0) AS ran, e.tick,
    coalesce(l.state, e.outcome) AS outcome,
    CASE WHEN l.state IN ('interrupted', 'unreadable') THEN l.state ELSE e.reason END AS reason,
    e.trigger, e.replica, e.started, e.finished, e.tries, e.error, e.parent
FROM records r
LEFT JOIN records p ON p.kind = 'log' AND p.name = r.name AND p.sub = '' -- what was dropped of the job
CROSS JOIN LATERAL read_entry(r.sub, r.value) AS e
CROSS JOIN LATERAL (SELECT CASE WHEN e.kind = 'S' THEN
    CASE is_running(r.name, e.owner) WHEN true THEN 'running' WHEN false THEN 'interrupted' ELSE 'unreadable' END END AS state) l
WHERE r.kind = 'entry'
    AND (coalesce(e.kind, '') <> 'N' OR e.place > coalesce(number_in(p.value, 'trimmed'), 0));

-- runs has one row for each run. Place is the tick's place in its stream: in "schedule" the
-- tick, in others the time of the request. Attempt counts the runs of a tick.
CREATE VIEW runs WITH (security_barrier) AS
SELECT job, stream, tick, token, row_number() OVER (PARTITION BY job, stream, place ORDER BY token) AS attempt,
    outcome, reason, trigger, started, finished, replica, tries, error, parent, from_millis(place) AS place
FROM ledger WHERE ran;

-- ticks has one row for each tick that ran or that was recorded as skipped or missed: its
-- last run, else the record of the highest rank.
CREATE VIEW ticks WITH (security_barrier) AS
SELECT job, stream, tick, outcome, reason, token, runs, trigger, started, finished, replica, error, from_millis(place) AS place
FROM (
    SELECT *, count(*) FILTER (WHERE ran) OVER of_tick AS runs,
        row_number() OVER (of_tick ORDER BY token DESC, rank DESC) AS n
    FROM ledger WINDOW of_tick AS (PARTITION BY job, stream, place)
) AS numbered WHERE n = 1;

REVOKE ALL ON FUNCTION without_zeros, from_millis, is_running, number_in, read_entry FROM PUBLIC;
