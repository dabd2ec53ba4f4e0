-- Jobs that are asked for in the transaction of an application.
-- Arguments: none. Runs with the schema as search_path, which the function keeps.

-- misfit returns what is wrong with a part of a JSON document, or NULL if it has the form: every
-- part that the form names is null or has its type and bounds. Others are not looked at, but their
-- keys differ in more than upper and lower case: some readers take no notice of that.
-- Arguments: the document; and its form, an object or an array of one element with forms of the
-- parts, or a text: "text" and the most bytes, "integer" and the greatest absolute value, "natural"
-- for one that is not negative, "boolean", or "same" for the form of the object around it.
CREATE FUNCTION misfit(document json, form json) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    type text := json_typeof(document);
    wanted text[] := string_to_array(form #>> '{}', ' ');
    part record;
    wrong text;
BEGIN
    IF type = 'null' THEN
        RETURN NULL;
    ELSIF json_typeof(form) <> 'string' THEN
        IF type <> json_typeof(form) THEN
            RETURN ': it is not an ' || json_typeof(form);
        ELSIF type = 'object' AND EXISTS (
            SELECT FROM json_object_keys(CASE type WHEN 'object' THEN document END) d WHERE octet_length(d) <> length(d)
                OR EXISTS (SELECT FROM json_object_keys(CASE type WHEN 'object' THEN form END) f WHERE lower(f COLLATE "C") = lower(d COLLATE "C") AND f <> d)) THEN
            RETURN ': a key is that of a known part in other letters, or is not ASCII';
        END IF;
        FOR part IN
            SELECT '.' || f.key AS key, d.value, CASE WHEN f.value #>> '{}' = 'same' THEN form ELSE f.value END AS form
            FROM json_each(CASE type WHEN 'object' THEN document END) d JOIN json_each(CASE type WHEN 'object' THEN form END) f USING (key)
            UNION ALL SELECT '[]', value, form -> 0 FROM json_array_elements(CASE type WHEN 'array' THEN document END)
        LOOP
            wrong := misfit(part.value, part.form);
            IF wrong IS NOT NULL THEN
                RETURN part.key || wrong;
            END IF;
        END LOOP;
    ELSIF wanted[1] = 'boolean' AND type <> 'boolean' THEN
        RETURN ': it is not a boolean';
    ELSIF wanted[1] = 'text' AND (type <> 'string' OR octet_length(document #>> '{}') > wanted[2]::int) THEN
        RETURN format(': it is not a text of at most %s bytes', wanted[2]);
    ELSIF wanted[1] IN ('integer', 'natural') THEN
        IF type <> 'number' OR document::text !~ '^-?[0-9]{1,19}$' THEN
            RETURN ': it is not an integer';
        ELSIF abs(document::text::numeric) > wanted[2]::numeric OR wanted[1] = 'natural' AND document::text::numeric < 0 THEN
            RETURN ': it is out of range';
        END IF;
    END IF;
    RETURN NULL;
END $$;

-- unfit returns what is wrong with a JSON document as such, or NULL: others have to be able to read
-- it. Strings that text cannot hold would break every reader of the document, as would numbers
-- that no reader knows, and deep nesting.
-- Arguments: the document.
CREATE FUNCTION unfit(document json) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF jsonb_path_exists(document::jsonb, 'strict $.**{33 to last}') THEN
        RETURN 'it is nested more than 32 deep';
    ELSIF jsonb_path_exists(document::jsonb, 'strict $.** ? (@.type() == "number" && (@ > 1.7e308 || @ < -1.7e308))') THEN
        RETURN 'it has a number out of range';
    END IF;
    RETURN NULL;
EXCEPTION
    WHEN data_exception THEN
        RETURN 'it has the character U+0000, half a surrogate pair, or a number out of range';
    WHEN statement_too_complex THEN
        RETURN 'it is nested more than 32 deep';
END $$;

-- The places of requests that trigger_job has queued, and of open ones. One is free if its act is neither
-- queued nor open; one that a transaction takes is locked until it ends. So parallel transactions do not
-- take more places than there are, and do not wait for each other.
CREATE TABLE places (
    n   int PRIMARY KEY,
    act text NOT NULL DEFAULT '' -- as in the key of its record
);
INSERT INTO places SELECT generate_series(0, 999);

-- take_place takes a free place for an act, and reports whether there was one.
-- Arguments: the act.
CREATE FUNCTION take_place(of_act text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET exit_on_error = off SET work_mem = '16MB' SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    start CONSTANT int := floor(random() * 1000);
    place record;
BEGIN
    FOR place IN
        SELECT p.n, p.act FROM generate_series(start, start + 999) i JOIN places p ON p.n = i % 1000
        WHERE NOT EXISTS (SELECT FROM records r WHERE r.kind = 'act' AND r.name = 'queue' AND r.sub = p.act)
            AND NOT EXISTS (SELECT FROM records r WHERE r.kind = 'act' AND r.name = 'open' AND r.sub = p.act)
    LOOP -- which reads no more of them than it needs
        BEGIN
            PERFORM FROM places p WHERE p.n = place.n AND p.act = place.act FOR UPDATE SKIP LOCKED;
            IF FOUND THEN
                UPDATE places p SET act = of_act WHERE p.n = place.n;
                RETURN true;
            END IF;
        EXCEPTION WHEN serialization_failure THEN -- taken since the snapshot of the transaction
        END;
    END LOOP;
    RETURN false;
END $$;

-- hold_place gives a place to a request that becomes open without having been queued, so both kinds share
-- the bound, also in transactions at the same time. Cancels need none: they end what has the places.
-- Arguments: none. A trigger of records.
CREATE FUNCTION hold_place() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    kind text;
BEGIN
    BEGIN
        kind := NEW.value ->> 'kind';
    EXCEPTION WHEN data_exception THEN -- a document that cannot be read is no cancel
    END;
    IF kind IS DISTINCT FROM 'cancel' THEN
        PERFORM FROM places p WHERE p.act = NEW.sub FOR UPDATE SKIP LOCKED;
        IF NOT FOUND AND NOT take_place(NEW.sub) THEN
            RAISE SQLSTATE 'QS002' USING MESSAGE = '1000 requests are open or queued already';
        END IF;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER hold_place AFTER INSERT ON records FOR EACH ROW
WHEN (NEW.kind = 'act' AND NEW.name = 'open') EXECUTE FUNCTION hold_place();
ALTER TABLE records ENABLE ALWAYS TRIGGER hold_place; -- whatever session_replication_role is

-- trigger_job asks for one run of a job if the transaction of the caller commits, and
-- returns the ID of the request. It only queues the request: a replica orders it later. So it
-- never blocks on other transactions, except one with the same ID.
-- Arguments: the key of the job; a JSON object that overrides its params, key by key; the
-- ID, by default a random one (asking again with a known ID has no effect); who asks (the role
-- of the session is added), and why; and how long after replicas see it the run may start.
CREATE FUNCTION trigger_job(
    job text, params json DEFAULT NULL, id text DEFAULT NULL, asked_by text DEFAULT NULL,
    reason text DEFAULT NULL, within interval DEFAULT '1 hour') RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET exit_on_error = off SET work_mem = '16MB'
SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
    act_id text := coalesce(id, replace(gen_random_uuid()::text, '-', ''));
    author text := concat_ws(' as ', nullif(nullif(asked_by, ''), session_user::text), session_user::text);
    content text;
    wrong text;
    known jsonb;
    ignored text[] := '{v,id,by,at,result,closed}';
    too_many CONSTANT text := 'trigger: 1000 requests are open already: wait until some are done, or see what holds them up with quorate audit';
BEGIN
    IF act_id !~ '^(?!key-|note-)[A-Za-z0-9][A-Za-z0-9._:@+-]{0,249}$' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'trigger: the id may have up to 250 letters, digits and . _ : @ + -, and not begin with key- or note-';
    ELSIF coalesce(job, '') = '' OR octet_length(job) > 300 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'trigger: name one job, in at most 300 bytes';
    ELSIF octet_length(author) > 1024 OR octet_length(reason) > 1024 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'trigger: author and reason may have 1024 bytes each';
    ELSIF within IS NULL OR extract(epoch FROM within) NOT BETWEEN 1 AND 2592000 THEN -- a year has more days than 12 months
        RAISE invalid_parameter_value USING MESSAGE = 'trigger: within must be from 1 second to 720 hours';
    ELSIF octet_length(params::text) > 16384 OR json_typeof(params) <> 'object' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'trigger: the params must be a JSON object of at most 16384 bytes';
    END IF;
    wrong := unfit(params);
    IF wrong IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = 'trigger: the params are refused: ' || wrong;
    END IF;
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
            RAISE program_limit_exceeded USING MESSAGE = too_many;
        END IF;
        INSERT INTO records AS r (kind, name, sub, version, value)
        VALUES ('act', 'queue', act_id, nextval('versions'), content::json)
        ON CONFLICT DO NOTHING;
        IF FOUND THEN
            IF NOT take_place(act_id) THEN
                RAISE program_limit_exceeded USING MESSAGE = too_many;
            END IF;
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

REVOKE ALL ON FUNCTION misfit, unfit, take_place, hold_place, trigger_job FROM PUBLIC;
