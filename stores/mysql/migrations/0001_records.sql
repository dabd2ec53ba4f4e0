-- The tables of all records, of the locks for keys that have none, and of the life.
-- Each statement may be repeated: MySQL commits each one on its own, so that a crash may come between any two.

CREATE TABLE IF NOT EXISTS {database}.records (
    kind    varbinary(16)   NOT NULL,
    name    varbinary(1024) NOT NULL,
    sub     varbinary(1024) NOT NULL,
    version bigint unsigned NOT NULL,
    value   longblob        NOT NULL, -- not json: every byte is kept
    PRIMARY KEY (kind, name, sub)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT='Quorate: all records';

-- A row stands for all keys with one hash, and is locked in place of those that do not exist. The versions
-- of records are drawn from these rows, so they never go back. Rows from 1024 on are for the kind "cluster":
-- what locks keys of jobs does not stop the cluster.
CREATE TABLE IF NOT EXISTS {database}.slots (
    id      smallint unsigned NOT NULL,
    version bigint unsigned   NOT NULL,
    PRIMARY KEY (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT='Quorate: locks for keys without a record';

INSERT IGNORE INTO {database}.slots (id, version)
WITH RECURSIVE digits (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM digits WHERE n < 39)
SELECT a.n * 26 + b.n, 0 FROM digits a CROSS JOIN digits b WHERE b.n < 26;

-- One row names the incarnation: a server of another identity begins the next one.
CREATE TABLE IF NOT EXISTS {database}.life (
    id     tinyint unsigned NOT NULL,
    number bigint           NOT NULL,
    server varbinary(255)   NOT NULL, -- the identity of the server whose life it is; empty: none yet
    PRIMARY KEY (id)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC COMMENT='Quorate: the incarnation of the store';

INSERT IGNORE INTO {database}.life (id, number, server) VALUES (0, 0, '');
