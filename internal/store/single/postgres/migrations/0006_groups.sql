-- Commits in groups: many transactions with one flush to the disk.
-- Arguments: none. Runs with the schema as search_path, which the functions keep.

-- try_lock_record locks a key as lock_record does, but does not wait. It reports whether it has.
-- Arguments: those of lock_record.
CREATE FUNCTION try_lock_record(kind text, name text, sub text, shared boolean) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    hash bigint := hashtextextended(concat_ws(chr(1), current_schema, kind, name, sub), 0);
BEGIN
    IF shared THEN
        RETURN pg_try_advisory_xact_lock_shared(hash);
    END IF;
    RETURN pg_try_advisory_xact_lock(hash);
END $$;

-- commit_group decides transactions one after the other, each as commit_records would, and commits
-- those that win together. Each sees what those before it have written. It waits for no key: a
-- transaction with one that another holds is not decided. An error ends them all. What it answers
-- counts only when all is committed, also for those that lost: perhaps to one of them.
-- Arguments: durable as of life, and the patience in milliseconds (0: no bound); for each transaction
-- the life, and the number of its keys; and for the keys of all, one transaction after the other,
-- what commit_records takes. The answers are in the order of the transactions.
CREATE FUNCTION commit_group(
    durable boolean, patience bigint, lives text[], sizes int[],
    ops text[], kinds text[], names text[], subs text[], wanted bigint[], contents text[])
RETURNS TABLE (decided boolean, won boolean, written bigint, life text, clock bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET exit_on_error = off SET work_mem = '16MB' SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    row_patience CONSTANT bigint := 50; -- for rows, which only those lock that lock no keys
    locked boolean[];
    first int;
    last int := 0;
BEGIN
    PERFORM prepare_commit(row_patience);
    FOR t IN 1 .. cardinality(lives) LOOP
        locked[t] := true;
        FOR i IN last + 1 .. last + sizes[t] LOOP
            locked[t] := try_lock_record(kinds[i], names[i], subs[i], ops[i] = 'if');
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
            won := wanted[i] < 0 OR wanted[i] = coalesce(
                (SELECT r.version FROM records r WHERE r.kind = kinds[i] AND r.name = names[i] AND r.sub = subs[i]), 0);
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

REVOKE ALL ON FUNCTION try_lock_record, commit_group FROM PUBLIC;
