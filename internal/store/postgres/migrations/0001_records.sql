-- The tables: claims, leases, entries of the ledger, and all others; "records" is all of them.
-- Arguments: none. Runs with the schema as search_path.

CREATE TABLE records (
    kind    text COLLATE "C" NOT NULL,
    name    text COLLATE "C" NOT NULL,
    sub     text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    value   json NOT NULL, -- not jsonb: every byte is kept
    PRIMARY KEY (kind, name, sub)
) PARTITION BY LIST (kind);

-- Room in each page, so that an update need not touch the index.
CREATE TABLE claims   PARTITION OF records FOR VALUES IN ('claim') WITH (fillfactor = 70);
CREATE TABLE leases   PARTITION OF records FOR VALUES IN ('lease') WITH (fillfactor = 70);
CREATE TABLE entries  PARTITION OF records FOR VALUES IN ('entry') WITH (fillfactor = 90);
CREATE TABLE others   PARTITION OF records DEFAULT WITH (fillfactor = 80);

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
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT
AS 'SELECT max(version), max(needs) FROM migrations';
REVOKE ALL ON FUNCTION schema_version FROM PUBLIC;
