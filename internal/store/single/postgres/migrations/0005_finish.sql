-- The end of a run in the transaction of its data.
-- Arguments: none. Runs with the schema as search_path, which the function keeps.

-- finish_run ends a run if the transaction of the caller commits: its effects and its outcome
-- come together or not at all. It answers as FINISH does, and refuses what FINISH calls late:
-- others may have worked then. It is to be the last statement before COMMIT: until then other
-- replicas wait for the claim, and see it as held.
--
-- The life is not compared, unlike in commit_records: the effects are on the server that has
-- the claim, so a failover keeps or loses both. The lease is only read, so that extensions
-- never wait. A run counts as late only if its lease is known to have ended. Where the snapshot of the
-- transaction is older than a change of the claim, PostgreSQL says so with 40001, and the transaction is to
-- be repeated.
--
-- Only the replica that runs it knows the owner. Without it, a caller learns nothing of the job's claims. The
-- requests for the jobs that follow are made here, so a caller cannot forge them: their ID is that
-- of job.ChainID, which trigger_job refuses, and their parent is the ID of the run.
-- Arguments: the key of the job; the token of the run, and the owner of its claim; the note of its
-- entry; and the keys of the jobs that follow it.
CREATE FUNCTION finish_run(job text, token bigint, owner text, note json, followers json DEFAULT '[]') RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET exit_on_error = off SET work_mem = '16MB'
SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    clock bigint; -- in milliseconds, as those of leases
    claims json;
    claim json;
    until bigint; -- of its lease; NULL: it has none
    unknown boolean; -- whether its lease has ended
    ending text;
    place text;
    run text; -- the ID of the run
    wrong text;
    note_read json; -- as text can hold it
    written bigint;
    -- That of package ledger; a note has further parts, for example of later releases.
    note_form CONSTANT json := '{"v": "natural 2", "tick": "natural 253402300799999", "tries": "natural 2147483647", "spent": "natural 2147483647",
        "trigger": "text 20", "parent": "text 1024", "replica": "text 1024", "outcome": "text 20",
        "reason": {"c": "text 100", "v": "text 100", "h": "text 1100", "t": "natural 253402300799999", "s": "natural 253402300799999",
            "u": "natural 253402300799999", "b": "text 1100", "o": "text 1100", "n": "natural 2147483647", "m": "natural 2147483647",
            "k": "natural 9223372036854775807", "seen": "natural 9223372036854775807", "x": "text 8300", "w": "same"},
        "started": "natural 253402300799999", "finished": "natural 253402300799999", "error": "text 8300", "stale": "natural 2147483647",
        "votes": {"For": "natural 2147483647", "Of": "natural 2147483647"}, "hash": "text 100",
        "poll": {"n": "text 100", "r": "natural 255", "l": "natural 4294967295", "s": "text 8300"},
        "beats": {"n": "natural 2147483647", "f": "natural 2147483647", "why": "text 600",
            "least": {"t": "integer 253402300799999", "l": "integer 9000000000000", "d": "integer 9000000000000", "x": "boolean", "n": "text 100"},
            "lapse": {"t": "integer 253402300799999", "l": "integer 9000000000000", "d": "integer 9000000000000", "x": "boolean", "n": "text 100"},
            "last": [{"t": "integer 253402300799999", "l": "integer 9000000000000", "d": "integer 9000000000000", "x": "boolean", "n": "text 100"}]}}';
BEGIN
    wrong := CASE
        WHEN job IS NULL OR job = '' OR octet_length(job) > 300 THEN 'name one job, in at most 300 bytes'
        WHEN token IS NULL OR token < 1 THEN 'the token must be positive'
        WHEN owner IS NULL OR owner !~ '^[A-Za-z0-9]{16,64}$' THEN 'the owner must be that of the claim'
        WHEN note IS NULL OR octet_length(note::text) > 262144 OR json_typeof(note) <> 'object' THEN 'the note must be a JSON object of at most 262144 bytes'
        WHEN followers IS NULL OR octet_length(followers::text) > 65536 OR json_typeof(followers) <> 'array' THEN 'the followers must be a JSON array of at most 65536 bytes'
        ELSE coalesce(
            'the note is refused: ' || unfit(without_zeros(note)), 'the followers are refused: ' || unfit(followers)) END;
    IF wrong IS NULL THEN
        note_read := without_zeros(note);
        wrong := CASE
            WHEN misfit(note_read, note_form) IS NOT NULL THEN 'the note is refused: ' || misfit(note_read, note_form)
            WHEN note_read ->> 'outcome' IS DISTINCT FROM 'succeeded' THEN 'the note is refused: outcome: a transaction ends a run as succeeded'
            WHEN misfit(followers, '["text 300"]') IS NOT NULL THEN 'the followers are refused: ' || misfit(followers, '["text 300"]')
            WHEN json_array_length(followers) > 100 THEN 'there are more than 100 followers'
            WHEN EXISTS (SELECT FROM json_array_elements_text(followers) f WHERE coalesce(f, '') = '') THEN 'a follower has no name' END;
    END IF;
    IF wrong IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = 'finish: ' || wrong;
    END IF;
    IF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
        -- For the whole transaction of the caller: what it forgets must not be told as done.
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM lock_record('claim', job, '', false);
    SELECT r.value INTO claims FROM records r WHERE r.kind = 'claim' AND r.name = job AND r.sub = '' FOR UPDATE;
    SELECT c.value INTO claim FROM (
        SELECT s.value FROM json_each(claims -> 'streams') s
        UNION ALL SELECT e.value FROM json_array_elements(claims -> 'earlier') e) c
    WHERE c.value ->> 'owner' = owner AND (c.value ->> 'token')::bigint = token;
    -- No claim of the owner may be one that was overtaken, or the claim of another store: the
    -- tokens of two stores have no order. The replica tells, which knows its store.
    IF claim IS NULL OR claim ->> 'void' IS NOT NULL OR claim ->> 'tick' IS NULL THEN
        RAISE SQLSTATE 'QF002' USING MESSAGE = format('finish: this database has no claim of %s with token %s', job, token);
    ELSIF claim ->> 'ended' IS NOT NULL THEN
        RAISE SQLSTATE 'QF003' USING MESSAGE = format('finish: the run of %s with token %s has ended already', job, token);
    END IF;

    SELECT (r.value ->> 'until')::bigint INTO until FROM records r
    WHERE r.kind = 'lease' AND r.name = job AND r.value ->> 'owner' = claim ->> 'owner' AND r.sub =
        CASE WHEN claim ->> 'overlaps' IS NULL THEN '' ELSE concat(claim ->> 'stream', ' ', lpad(claim ->> 'tick', 13, '0')) END;
    clock := floor(extract(epoch FROM clock_timestamp()) * 1000);
    -- A lease that lasted when this transaction began may have been extended behind its snapshot.
    unknown := until < clock AND until >= floor(extract(epoch FROM transaction_timestamp()) * 1000)
        AND current_setting('transaction_isolation') IN ('repeatable read', 'serializable');
    ending := CASE
        WHEN claims ->> 'open' = claim ->> 'owner' THEN CASE WHEN until >= clock OR unknown THEN 'OK' ELSE 'RANOUT' END
        WHEN until >= clock AND claim ->> 'overlaps' IS NOT NULL THEN 'OK' END;
    IF ending IS NULL AND unknown THEN
        RAISE serialization_failure USING MESSAGE = 'finish: the lease may have been extended since this transaction began: repeat it';
    ELSIF ending IS NULL THEN
        RAISE SQLSTATE 'QF001' USING MESSAGE = format('finish: token %s of %s is refused: the job has seen %s', token, job, claims ->> 'fence');
    END IF;

    place := concat(lpad(greatest(0, 9999999999999 - (claim ->> 'tick')::bigint)::text, 13, '0'), ' ', claim ->> 'stream', ' ', lpad(to_hex(token), 16, '0'));
    PERFORM lock_record('entry', job, place, false);
    written := nextval('versions');
    -- The documents are put together as text: what is not changed stays as it is.
    UPDATE records r SET version = written, value = (
        SELECT json_object_agg(p.key, CASE p.key
            WHEN 'streams' THEN (
                SELECT json_object_agg(s.key, CASE WHEN (s.value ->> 'token')::bigint = token
                    THEN (left(s.value::text, -1) || ',"ended":"' || ending || '"}')::json ELSE s.value END)
                FROM json_each(p.value) s)
            WHEN 'earlier' THEN (
                SELECT json_agg(CASE WHEN (e.value ->> 'token')::bigint = token
                    THEN (left(e.value::text, -1) || ',"ended":"' || ending || '"}')::json ELSE e.value END ORDER BY e.ordinality)
                FROM json_array_elements(p.value) WITH ORDINALITY e)
            ELSE p.value END)
        FROM json_each(claims) p WHERE p.key <> 'open' OR claims ->> 'open' <> claim ->> 'owner')
    WHERE r.kind = 'claim' AND r.name = job AND r.sub = '';
    INSERT INTO records (kind, name, sub, version, value)
    VALUES ('entry', job, place, written, (left(json_strip_nulls(json_build_object(
        'kind', CASE ending WHEN 'OK' THEN 'F' ELSE 'R' END, 'stream', claim -> 'stream', 'tick', claim -> 'tick', 'token', token,
        'attempt', claim -> 'attempt', 'owner', claim -> 'owner', 'holder', claim -> 'holder'))::text, -1) || ',"note":' || note::text || '}')::json)
    ON CONFLICT (kind, name, sub) DO UPDATE SET version = excluded.version, value = excluded.value;
    run := job || '@' || to_char(from_millis((claim ->> 'tick')::bigint) AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISS.MS"Z"')
        || coalesce('.' || nullif(claim ->> 'stream', 'schedule'), '');
    INSERT INTO records (kind, name, sub, version, value)
    SELECT 'act', 'queue', f.id, nextval('versions'), json_build_object(
        'v', 1, 'id', f.id, 'kind', 'trigger', 'job', f.job, 'trigger', 'chain', 'by', finish_run.job, 'reason', 'its run succeeded', 'parent', run, 'within', 3600000000000)
    FROM (
        SELECT l.job, '+' || left(encode(sha256(convert_to(run || '+' || l.job, 'UTF8')), 'hex'), 32) AS id
        FROM json_array_elements_text(followers) AS l(job)) f
    WHERE NOT EXISTS (SELECT FROM records r WHERE r.kind = 'act' AND r.name = 'act' AND r.sub = f.id)
    ON CONFLICT DO NOTHING;
END $$;

REVOKE ALL ON FUNCTION finish_run FROM PUBLIC;
