-- The functions that replicas call. They run with the rights of their owner. They look up one
-- key at a time, and the settings force index scans: the cached plan stays good while the
-- table grows. Compiling plans would take longer than running them. Records fit into work_mem, so
-- temp_file_limit does not matter. Settings of the caller change neither what they do nor what they return.
-- Arguments: none. Runs with the schema as search_path, which the functions keep.

-- life names the stretch in which this server forgets nothing, by its system identifier and
-- timeline. A standby has no life: its answers may be old.
-- Arguments: durable is true where the service promises that no failover forgets anything.
CREATE FUNCTION life(durable boolean) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    -- A transaction that began on a standby only reads, also after a promotion.
    IF current_setting('transaction_read_only')::boolean THEN
        IF NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only')::boolean THEN
            RAISE SQLSTATE 'QS001' USING MESSAGE =
                'default_transaction_read_only is on for this role, its database or the server, and has to be off';
        END IF;
        RAISE read_only_sql_transaction USING MESSAGE = 'this server only reads: it is, or was, a standby. Connect to the primary';
    END IF;
    IF durable THEN
        RETURN 'durable';
    END IF;
    RETURN (SELECT system_identifier FROM pg_control_system()) || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);
END $$;

-- micros is the clock in microseconds since 1970. As a timestamp it would be written as DateStyle and
-- TimeZone of the caller say.
-- Arguments: none.
CREATE FUNCTION micros() RETURNS bigint
LANGUAGE sql VOLATILE RETURN floor(extract(epoch FROM clock_timestamp()) * 1000000);

-- read_records returns the stamp (which life answers, and when), then those of the named
-- records that exist. Being STABLE, it reads the snapshot of the statement that calls it.
-- Arguments: durable as of life, and the parts of the keys. At says which of them a row is,
-- from 1; the row of the stamp has none.
CREATE FUNCTION read_records(durable boolean, kinds text[], names text[], subs text[])
RETURNS TABLE (life text, clock bigint, at int, name text, sub text, version bigint, value text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET exit_on_error = off SET work_mem = '16MB' SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    life := life(durable);
    clock := micros();
    RETURN NEXT;
    FOR i IN 1 .. cardinality(kinds) LOOP
        SELECT i, r.name, r.sub, r.version, r.value
        INTO read_records.at, read_records.name, read_records.sub, read_records.version, read_records.value
        FROM records r WHERE r.kind = kinds[i] AND r.name = names[i] AND r.sub = subs[i];
        IF found THEN
            RETURN NEXT;
        END IF;
    END LOOP;
END $$;

-- list_records returns the stamp, as read_records does, then the records of ranges, range by
-- range, each in the order of keys.
-- Arguments: durable as of life; for each range its kind, its first point, the point after it
-- (two empty strings: none) and the most records to return (0: all).
CREATE FUNCTION list_records(durable boolean, kinds text[], from_names text[], from_subs text[], to_names text[], to_subs text[], limits bigint[])
RETURNS TABLE (life text, clock bigint, at int, name text, sub text, version bigint, value text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET exit_on_error = off SET work_mem = '16MB' SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    life := life(durable);
    clock := micros();
    RETURN NEXT;
    FOR i IN 1 .. cardinality(kinds) LOOP
        IF to_names[i] = '' AND to_subs[i] = '' THEN
            RETURN QUERY
            SELECT list_records.life, list_records.clock, i, r.name, r.sub, r.version, r.value::text FROM records r
            WHERE r.kind = kinds[i] AND (r.name, r.sub) >= (from_names[i], from_subs[i])
            ORDER BY r.name, r.sub LIMIT nullif(limits[i], 0);
        ELSE
            RETURN QUERY
            SELECT list_records.life, list_records.clock, i, r.name, r.sub, r.version, r.value::text FROM records r
            WHERE r.kind = kinds[i] AND (r.name, r.sub) >= (from_names[i], from_subs[i])
                AND (r.name, r.sub) < (to_names[i], to_subs[i])
            ORDER BY r.name, r.sub LIMIT nullif(limits[i], 0);
        END IF;
    END LOOP;
END $$;

-- lock_record locks a key until the transaction ends, also if nothing is stored under it: by
-- its hash.
-- Arguments: the parts of the key, and whether others may lock it like this at the same time.
CREATE FUNCTION lock_record(kind text, name text, sub text, shared boolean) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    hash bigint := hashtextextended(concat_ws(chr(1), current_schema, kind, name, sub), 0);
BEGIN
    IF shared THEN
        PERFORM pg_advisory_xact_lock_shared(hash);
    ELSE
        PERFORM pg_advisory_xact_lock(hash);
    END IF;
END $$;

-- prepare_commit makes the transaction durable and bounds its waiting. These settings end
-- with the transaction. (A SET clause of the function would end before the commit.)
-- Arguments: the patience in milliseconds; 0 is no bound.
CREATE FUNCTION prepare_commit(patience bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE SQLSTATE 'QS001' USING MESSAGE = format(
            'transactions of the store need the isolation level READ COMMITTED, and default_transaction_isolation is %s for this role, its database or the server',
            current_setting('transaction_isolation'));
    END IF;
    IF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM set_config('lock_timeout', patience::text, true);
END $$;

-- commit_records makes a transaction if the server has its life and the versions it names.
-- All its keys are locked before the first is compared, and each statement sees what was
-- committed before it: so what it compares cannot change until it ends. Keys that it only
-- compares are shared. Otherwise the keys that every claim compares would let only one claim
-- at a time reach the disk.
-- Arguments: the life, durable as of life, the patience in milliseconds, and for each key
-- what to do ("if" is nothing, "put" or "delete"), its parts, the version it has to have
-- (-1: any), and the value to put. The keys are in order, so that transactions never wait
-- for each other in a circle.
CREATE FUNCTION commit_records(
    of_life text, durable boolean, patience bigint,
    ops text[], kinds text[], names text[], subs text[], wanted bigint[], contents text[],
    OUT won boolean, OUT written bigint, OUT life text, OUT clock bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET exit_on_error = off SET work_mem = '16MB' SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    keys CONSTANT int := cardinality(ops);
BEGIN
    PERFORM prepare_commit(patience);
    FOR i IN 1 .. keys LOOP
        PERFORM lock_record(kinds[i], names[i], subs[i], ops[i] = 'if');
    END LOOP;
    IF patience > 0 AND clock_timestamp() > statement_timestamp() + patience * interval '1 ms' THEN
        RAISE lock_not_available USING MESSAGE = 'the locks came after the deadline';
    END IF;
    written := 0;
    life := life(durable);
    won := life = of_life;
    FOR i IN 1 .. keys LOOP
        EXIT WHEN NOT won;
        won := wanted[i] < 0 OR wanted[i] = coalesce(
            (SELECT r.version FROM records r WHERE r.kind = kinds[i] AND r.name = names[i] AND r.sub = subs[i]), 0);
    END LOOP;
    IF won AND 'put' = ANY (ops) THEN
        written := nextval('versions');
    END IF;
    FOR i IN 1 .. keys LOOP
        EXIT WHEN NOT won;
        IF ops[i] = 'put' THEN
            INSERT INTO records (kind, name, sub, version, value) VALUES (kinds[i], names[i], subs[i], written, contents[i]::json)
            ON CONFLICT (kind, name, sub) DO UPDATE SET version = excluded.version, value = excluded.value;
        ELSIF ops[i] = 'delete' THEN
            DELETE FROM records r WHERE r.kind = kinds[i] AND r.name = names[i] AND r.sub = subs[i];
        END IF;
    END LOOP;
    clock := micros();
END $$;

REVOKE ALL ON FUNCTION life, micros, read_records, list_records, lock_record, prepare_commit, commit_records FROM PUBLIC;
