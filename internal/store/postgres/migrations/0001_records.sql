-- The tables: one for each kind of record, and "records" for all of them.
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
CREATE TABLE logs     PARTITION OF records FOR VALUES IN ('log');
CREATE TABLE jobs     PARTITION OF records FOR VALUES IN ('job');
CREATE TABLE replicas PARTITION OF records FOR VALUES IN ('replica') WITH (fillfactor = 70);
CREATE TABLE acts     PARTITION OF records FOR VALUES IN ('act');
CREATE TABLE sets     PARTITION OF records FOR VALUES IN ('set');
CREATE TABLE cluster  PARTITION OF records FOR VALUES IN ('cluster');

-- A sequence never goes back, also if a transaction fails or a record is deleted.
CREATE SEQUENCE versions AS bigint;

-- The steps that were made, each a file of the program.
CREATE TABLE migrations (
    version int PRIMARY KEY,
    name    text NOT NULL,
    applied timestamptz NOT NULL DEFAULT now()
);

-- schema_version is the last step that was made.
CREATE FUNCTION schema_version() RETURNS int
LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT
AS 'SELECT max(version) FROM migrations';

REVOKE ALL ON FUNCTION schema_version FROM PUBLIC;
