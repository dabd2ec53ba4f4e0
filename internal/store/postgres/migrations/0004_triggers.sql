-- Jobs that are asked for in the transaction of an application.
-- Arguments: none. Runs with the schema as search_path, which the function keeps.

-- trigger_job asks for one run of a job if the transaction of the caller commits, and
-- returns the ID of the request. It only queues the request: a replica orders it later. So it
-- never blocks on other transactions, except one with the same ID.
-- Arguments: the key of the job; a JSON object that overrides its params, key by key; the
-- ID, by default a random one (asking again with a known ID has no effect); who asks (the role
-- of the session is added), and why; and how long after replicas see it the run may start.
CREATE FUNCTION trigger_job(
    job text, params json DEFAULT NULL, id text DEFAULT NULL, asked_by text DEFAULT NULL,
    reason text DEFAULT NULL, within interval DEFAULT '1 hour') RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT
SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    act_id text := coalesce(id, replace(gen_random_uuid()::text, '-', ''));
    author text := concat_ws(' as ', nullif(nullif(asked_by, ''), session_user::text), session_user::text);
    content text;
    known jsonb;
    ignored text[] := '{v,id,by,at,result,closed}';
BEGIN
    IF act_id !~ '^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,249}$' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'trigger: the id may have up to 250 letters, digits and . _ : @ + -';
    ELSIF coalesce(job, '') = '' OR octet_length(job) > 300 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'trigger: name one job, in at most 300 bytes';
    ELSIF octet_length(author) > 1024 OR octet_length(reason) > 1024 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'trigger: author and reason may have 1024 bytes each';
    ELSIF within IS NULL OR within < '1 second' OR within > '720 hours' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'trigger: within must be from 1 second to 720 hours';
    ELSIF json_typeof(params) <> 'object' OR octet_length(params::text) > 16384 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'trigger: the params must be a JSON object of at most 16384 bytes';
    END IF;
    -- Strings that text cannot hold would break every reader of the document.
    BEGIN
        PERFORM params::jsonb;
    EXCEPTION WHEN data_exception THEN
        RAISE invalid_parameter_value USING MESSAGE = 'trigger: the params have the character U+0000, half a surrogate pair, or a number out of range';
    END;
    content := json_strip_nulls(json_build_object(
        'v', 1, 'id', act_id, 'kind', 'trigger', 'job', job, 'trigger', 'manual',
        'by', author, 'reason', nullif(reason, ''),
        'within', (extract(epoch FROM within) * 1000000000)::bigint));
    IF params IS NOT NULL THEN -- as it is: its nulls count
        content := left(content, -1) || ',"params":' || params::text || '}';
    END IF;
    -- A queued request becomes an act in one transaction, so it is always under one of the keys.
    IF NOT EXISTS (SELECT FROM records r WHERE r.kind = 'act' AND r.name = 'act' AND r.sub = act_id) THEN
        -- Expired ones count until a replica closes them: a document of others is never parsed here.
        IF (SELECT count(*) FROM records r WHERE r.kind = 'act' AND r.name IN ('queue', 'open') AND r.sub <> act_id) >= 1000 THEN
            RAISE program_limit_exceeded USING MESSAGE =
                'trigger: 1000 requests are open already: wait until some are done, or see what holds them up with quorate audit';
        END IF;
        INSERT INTO records AS r (kind, name, sub, version, value)
        VALUES ('act', 'queue', act_id, nextval('versions'), content::json)
        ON CONFLICT DO NOTHING;
        IF FOUND THEN
            RETURN act_id;
        END IF;
    END IF;
    BEGIN
        SELECT r.value::jsonb INTO known FROM records r
        WHERE r.kind = 'act' AND r.name IN ('act', 'queue') AND r.sub = act_id ORDER BY r.name LIMIT 1;
    EXCEPTION WHEN data_exception THEN
        known := NULL; -- this function would have refused it
    END;
    IF known - ignored IS DISTINCT FROM content::jsonb - ignored THEN
        RAISE unique_violation USING MESSAGE = 'trigger: the id ' || act_id || ' was used for another act; choose a new one';
    END IF;
    RETURN act_id;
END $$;

REVOKE ALL ON FUNCTION trigger_job FROM PUBLIC;
