-- Version 1: records, the versions of deleted ones, and the life of the file.
--
-- A program runs this once, in a transaction of its own, while no other process has the file open.
-- Afterwards it sets user_version to 1. Do not run it by hand.

-- All records, as package kv describes them. Keys are ordered by their bytes.
CREATE TABLE records (
    kind    TEXT NOT NULL,
    name    TEXT NOT NULL,
    sub     TEXT NOT NULL,
    version INTEGER NOT NULL,
    value   TEXT NOT NULL,
    PRIMARY KEY (kind, name, sub)
) STRICT;

-- The largest version of any record that was deleted. One row, with the id 0.
CREATE TABLE slots (
    id      INTEGER PRIMARY KEY,
    version INTEGER NOT NULL
) STRICT;
INSERT INTO slots (id, version) VALUES (0, 0);

-- Which files this database is in, how often it has come into others, and to which cluster it belongs.
-- One row.
CREATE TABLE life (
    number    INTEGER NOT NULL,
    server    TEXT NOT NULL,
    namespace TEXT NOT NULL
) STRICT;
INSERT INTO life (number, server, namespace) VALUES (0, '', '');
