-- Commits in groups: many transactions with one flush to the disk. And cheaper forms of what each call does.
-- Arguments: none. Runs with the schema as search_path, which the functions keep.

-- life, as it was: as an expression, pg_control_system needs no plan of its own.
-- Arguments: durable is true where the service promises that no failover forgets anything.
CREATE OR REPLACE FUNCTION life(durable boolean) RETURNS text
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
    RETURN (pg_control_system()).system_identifier || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);
END $$;

-- read_records, as it was, with one statement for all keys. OFFSET 0 makes it look up one key after the
-- other, whatever the planner expects.
-- Arguments: durable as of life, and the parts of the keys. At says which of them a row is,
-- from 1; the row of the stamp has none.
CREATE OR REPLACE FUNCTION read_records(durable boolean, kinds text[], names text[], subs text[])
RETURNS TABLE (life text, clock bigint, at int, name text, sub text, version bigint, value text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET exit_on_error = off SET work_mem = '16MB' SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    life := life(durable);
    clock := micros();
    RETURN NEXT;
    RETURN QUERY
    SELECT read_records.life, read_records.clock, k.at::int, r.name, r.sub, r.version, r.value::text
    FROM unnest(kinds, names, subs) WITH ORDINALITY AS k (kind, name, sub, at),
        LATERAL (SELECT * FROM records r WHERE r.kind = k.kind AND r.name = k.name AND r.sub = k.sub OFFSET 0) r;
END $$;

-- commit_group decides transactions one after the other, each as commit_records would, and commits
-- those that win together. Each sees what those before it have written. A transaction with a key that
-- another session holds is not decided, unless it waits for its keys. An error ends them all. What it
-- answers counts only when all is committed. Who lost may have lost to a transaction before it, whose
-- writes are undone if the commit fails.
-- Arguments: durable as of life, whether to wait for keys (only with a single transaction: several could
-- wait for each other in a circle), and the patience in milliseconds (0: no bound); for each transaction
-- the life, and the number of its keys; and for the keys of all, one transaction after the other,
-- what commit_records takes. The answers are in the order of the transactions.
CREATE FUNCTION commit_group(
    durable boolean, waits boolean, patience bigint, lives text[], sizes int[],
    ops text[], kinds text[], names text[], subs text[], wanted bigint[], contents text[])
RETURNS TABLE (decided boolean, won boolean, written bigint, life text, clock bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET exit_on_error = off SET work_mem = '16MB' SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    row_patience CONSTANT bigint := 50; -- for rows that sessions lock without their keys: trigger_job, or psql
    locked boolean[];
    hash bigint;
    found_version bigint;
    first int;
    last int := 0;
BEGIN
    PERFORM prepare_commit(CASE WHEN waits THEN patience ELSE row_patience END);
    FOR t IN 1 .. cardinality(lives) LOOP
        locked[t] := true;
        FOR i IN last + 1 .. last + sizes[t] LOOP
            IF waits THEN
                PERFORM lock_record(kinds[i], names[i], subs[i], ops[i] = 'if');
                CONTINUE;
            END IF;
            hash := hashtextextended(concat_ws(chr(1), current_schema, kinds[i], names[i], subs[i]), 0); -- as in lock_record
            locked[t] := CASE ops[i] WHEN 'if' THEN pg_try_advisory_xact_lock_shared(hash) ELSE pg_try_advisory_xact_lock(hash) END;
            EXIT WHEN NOT locked[t];
        END LOOP;
        last := last + sizes[t];
    END LOOP;
    IF patience > 0 AND clock_timestamp() > statement_timestamp() + patience * interval '1 ms' THEN
        RAISE lock_not_available USING MESSAGE = 'the locks came after the deadline';
    END IF;
    life := life(durable);
    last := 0;
    FOR t IN 1 .. cardinality(lives) LOOP
        first := last + 1;
        last := last + sizes[t];
        decided := locked[t];
        won := decided AND life = lives[t];
        written := 0;
        FOR i IN first .. last LOOP
            EXIT WHEN NOT won;
            CONTINUE WHEN wanted[i] < 0;
            SELECT r.version INTO found_version FROM records r WHERE r.kind = kinds[i] AND r.name = names[i] AND r.sub = subs[i];
            won := wanted[i] = coalesce(found_version, 0);
        END LOOP;
        IF won AND 'put' = ANY (ops[first:last]) THEN
            written := nextval('versions');
        END IF;
        FOR i IN first .. last LOOP
            EXIT WHEN NOT won;
            IF ops[i] = 'put' THEN
                INSERT INTO records (kind, name, sub, version, value) VALUES (kinds[i], names[i], subs[i], written, contents[i]::json)
                ON CONFLICT (kind, name, sub) DO UPDATE SET version = excluded.version, value = excluded.value;
            ELSIF ops[i] = 'delete' THEN
                DELETE FROM records r WHERE r.kind = kinds[i] AND r.name = names[i] AND r.sub = subs[i];
            END IF;
        END LOOP;
        clock := micros();
        RETURN NEXT;
    END LOOP;
END $$;

REVOKE ALL ON FUNCTION commit_group FROM PUBLIC;
