-- The functions that replicas call. They run with the rights of their owner.
-- Arguments: none. Runs with the schema as search_path, which the functions keep.

-- life names the stretch in which this server forgets nothing: its system identifier and
-- its timeline. A standby has no life: what it says may be old.
-- Arguments: durable is true where the service promises that no failover forgets anything.
CREATE FUNCTION life(durable boolean) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $$
BEGIN
    -- A transaction that began on a standby only reads, also after a promotion.
    IF current_setting('transaction_read_only')::boolean THEN
        RAISE read_only_sql_transaction USING MESSAGE =
            'this server only reads: it is a standby, or default_transaction_read_only is on. Connect to the primary';
    END IF;
    IF durable THEN
        RETURN 'durable';
    END IF;
    RETURN (SELECT system_identifier FROM pg_control_system())
        || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);
END $$;

-- stamp says which life answers, and when.
-- Arguments: as of life.
CREATE FUNCTION stamp(durable boolean, OUT life text, OUT clock timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    life := life(durable);
    clock := clock_timestamp();
END $$;

-- read_records returns those of the named records that exist. Being STABLE, it reads the
-- snapshot of the statement that calls it.
-- Arguments: the parts of the keys. At says which of them a row is, from 1.
CREATE FUNCTION read_records(kinds text[], names text[], subs text[])
RETURNS TABLE (at bigint, version bigint, value text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT k.at, r.version, r.value::text
    FROM unnest(kinds, names, subs) WITH ORDINALITY AS k(kind, name, sub, at)
    JOIN records r ON r.kind = k.kind AND r.name = k.name AND r.sub = k.sub;
END $$;

-- list_records returns the records of ranges, range by range, each in the order of keys.
-- Being STABLE, it reads the snapshot of the statement that calls it.
-- Arguments: for each range its kind, its first point, the point after it (two empty
-- strings: none) and the most records to return (0: all).
CREATE FUNCTION list_records(kinds text[], from_names text[], from_subs text[], to_names text[], to_subs text[], limits bigint[])
RETURNS TABLE (at bigint, name text, sub text, version bigint, value text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT
SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    FOR i IN 1 .. cardinality(kinds) LOOP
        IF to_names[i] = '' AND to_subs[i] = '' THEN
            RETURN QUERY
            SELECT i::bigint, r.name, r.sub, r.version, r.value::text FROM records r
            WHERE r.kind = kinds[i] AND (r.name, r.sub) >= (from_names[i], from_subs[i])
            ORDER BY r.name, r.sub LIMIT nullif(limits[i], 0);
        ELSE
            RETURN QUERY
            SELECT i::bigint, r.name, r.sub, r.version, r.value::text FROM records r
            WHERE r.kind = kinds[i] AND (r.name, r.sub) >= (from_names[i], from_subs[i])
                AND (r.name, r.sub) < (to_names[i], to_subs[i])
            ORDER BY r.name, r.sub LIMIT nullif(limits[i], 0);
        END IF;
    END LOOP;
END $$;

-- lock_records locks keys until the transaction ends, also those of which nothing is
-- stored: by the hash of the key. Locks are taken in the order of their hashes, so that
-- transactions never wait for each other in a circle. Compared keys are shared: those that
-- every claim compares would else let only one claim at a time reach the disk.
-- Arguments: as of commit_records.
CREATE FUNCTION lock_records(ops text[], kinds text[], names text[], subs text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $$
DECLARE
    hash bigint;
    changed boolean;
BEGIN
    FOR hash, changed IN
        SELECT hashtextextended(concat_ws(chr(1), current_schema, k.kind, k.name, k.sub), 0) AS h, bool_or(k.op <> 'if')
        FROM unnest(ops, kinds, names, subs) AS k(op, kind, name, sub)
        GROUP BY h ORDER BY h
    LOOP
        IF changed THEN
            PERFORM pg_advisory_xact_lock(hash);
        ELSE
            PERFORM pg_advisory_xact_lock_shared(hash);
        END IF;
    END LOOP;
END $$;

-- prepare_commit makes the transaction durable and bounds its waiting. These settings end
-- with the transaction. (A SET clause of the function would end before the commit.)
-- Arguments: the patience in milliseconds; 0 is no bound.
CREATE FUNCTION prepare_commit(patience bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path FROM CURRENT AS $$
BEGIN
    IF current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF patience > 0 THEN
        PERFORM set_config('lock_timeout', patience::text, true);
    END IF;
END $$;

-- commit_records makes a transaction if the server has its life and the versions it names.
-- Each statement of it sees what was committed before, and the locks are taken first: so
-- what it compares cannot change until it ends.
-- Arguments: the life, durable as of life, the patience in milliseconds, and for each
-- operation what it is ("if", "put" or "delete"), the parts of its key, the version that
-- "if" wants, and the value that "put" writes.
CREATE FUNCTION commit_records(
    of_life text, durable boolean, patience bigint,
    ops text[], kinds text[], names text[], subs text[], wanted bigint[], contents text[],
    OUT won boolean, OUT written bigint, OUT life text, OUT clock timestamptz)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE feature_not_supported USING MESSAGE =
            'transactions of the store need the isolation level READ COMMITTED: change default_transaction_isolation of this role';
    END IF;
    PERFORM prepare_commit(patience);
    PERFORM lock_records(ops, kinds, names, subs);
    IF patience > 0 AND clock_timestamp() > statement_timestamp() + patience * interval '1 ms' THEN
        RAISE lock_not_available USING MESSAGE = 'the locks came after the deadline';
    END IF;
    written := 0;
    life := life(durable);
    won := life = of_life AND NOT EXISTS (
        SELECT FROM unnest(ops, kinds, names, subs, wanted) AS k(op, kind, name, sub, wanted)
        LEFT JOIN records r ON r.kind = k.kind AND r.name = k.name AND r.sub = k.sub
        WHERE k.op = 'if' AND k.wanted <> coalesce(r.version, 0));
    IF won AND 'delete' = ANY (ops) THEN
        DELETE FROM records r USING unnest(ops, kinds, names, subs) AS k(op, kind, name, sub)
        WHERE k.op = 'delete' AND r.kind = k.kind AND r.name = k.name AND r.sub = k.sub;
    END IF;
    IF won AND 'put' = ANY (ops) THEN
        written := nextval('versions');
        INSERT INTO records AS r (kind, name, sub, version, value)
        SELECT k.kind, k.name, k.sub, written, k.content::json
        FROM unnest(ops, kinds, names, subs, contents) AS k(op, kind, name, sub, content)
        WHERE k.op = 'put'
        ON CONFLICT (kind, name, sub) DO UPDATE SET version = excluded.version, value = excluded.value;
    END IF;
    clock := clock_timestamp();
END $$;
