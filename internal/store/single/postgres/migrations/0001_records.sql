-- The table of all records, the sequence of their versions, and the steps made so far.
-- Arguments: none. Runs with the schema as search_path.

CREATE TABLE records (
    kind    text COLLATE "C" NOT NULL,
    name    text COLLATE "C" NOT NULL,
    sub     text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    value   json NOT NULL, -- not jsonb: every byte is kept
    PRIMARY KEY (kind, name, sub)
) WITH (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);
-- Claims and leases change at every tick: with room in its page, an update does not touch the
-- index. There is one table, since a statement on partitions locks and plans each of them.

-- A sequence never goes back, also if a transaction fails or a record is deleted.
CREATE SEQUENCE versions AS bigint;

-- The steps that were made, each a file of the program.
CREATE TABLE migrations (
    version int PRIMARY KEY,
    name    text NOT NULL,
    needs   int NOT NULL, -- the last step that a program must know to use the schema
    applied timestamptz NOT NULL DEFAULT now()
);

-- schema_version returns the last step that was made, and the last that a program must know.
-- Arguments: none.
CREATE FUNCTION schema_version(OUT made int, OUT needs int)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT SET jit = off SET exit_on_error = off
AS 'SELECT max(version), max(needs) FROM migrations';
REVOKE ALL ON FUNCTION schema_version FROM PUBLIC;
