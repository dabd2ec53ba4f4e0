-- The views "runs" and "ticks": the ledger with typed columns, for people and their tools. For example, did
-- last night's run succeed?
--     SELECT outcome, reason, error FROM quorate.ticks WHERE job = 'report' ORDER BY tick DESC LIMIT 1
-- Times are in UTC. A view reads with the rights of the user who made it, so that user has to stay. There are
-- no functions: where there is a binary log, MySQL lets only administrators make them.

-- documents has the records as JSON; NULL for what is none, which functions of MySQL do not take.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW {database}.documents AS
SELECT kind, name, sub, IF(JSON_VALID(CONVERT(value USING utf8mb4)), CONVERT(value USING utf8mb4) COLLATE utf8mb4_bin, NULL) AS document
FROM {database}.records;

-- entries has the parts of the key of each entry, of its record and of the engine's note. A record that
-- cannot be read harms no other: what its key says of it remains. Each table function is computed once for
-- all that follows, since to read a document is what takes the time.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW {database}.entries AS
SELECT n.name, -- as bytes: a condition on its text reaches the first step
    9999999999999 - CAST(LEFT(d.sub, 13) AS SIGNED) AS place,
    CONVERT(SUBSTRING_INDEX(SUBSTRING_INDEX(d.sub, ' ', 2), ' ', -1) USING utf8mb4) COLLATE utf8mb4_bin AS stream,
    CAST(CONV(SUBSTRING_INDEX(d.sub, ' ', -1), 16, 10) AS UNSIGNED) AS token,
    IF(bad.entry, NULL, e.kind) COLLATE utf8mb4_bin AS kind, IF(bad.entry, NULL, e.owner) COLLATE utf8mb4_bin AS owner,
    bad.entry OR bad.note AS unreadable,
    IF(bad.entry OR bad.note, NULL, e.tick) AS tick,
    IF(bad.entry OR bad.note, NULL, e.outcome) COLLATE utf8mb4_bin AS outcome,
    IF(bad.entry OR bad.note, NULL, e.reason) COLLATE utf8mb4_bin AS reason,
    IF(bad.entry OR bad.note, NULL, e.`trigger`) COLLATE utf8mb4_bin AS `trigger`,
    IF(bad.entry OR bad.note, NULL, e.started) AS started, IF(bad.entry OR bad.note, NULL, e.finished) AS finished,
    IF(bad.entry OR bad.note, NULL, e.replica) COLLATE utf8mb4_bin AS replica, IF(bad.entry OR bad.note, NULL, e.tries) AS tries,
    IF(bad.entry OR bad.note, NULL, e.error) COLLATE utf8mb4_bin AS error, IF(bad.entry OR bad.note, NULL, e.parent) COLLATE utf8mb4_bin AS parent
-- First the names alone, so that a query for one job reads the entries of that job.
FROM (SELECT DISTINCT kind, name FROM {database}.records WHERE kind = 'entry') n
JOIN {database}.documents d ON d.kind = 'entry' AND d.name = n.name
CROSS JOIN JSON_TABLE(JSON_OBJECT('text', d.document), '$' COLUMNS (document LONGTEXT CHARACTER SET utf8mb4 PATH '$.text')) t
CROSS JOIN JSON_TABLE(COALESCE(t.document, '{}'), '$' COLUMNS (
    kind VARCHAR(16) CHARACTER SET utf8mb4 PATH '$.kind',
    stream VARCHAR(1024) CHARACTER SET utf8mb4 PATH '$.stream',
    place BIGINT PATH '$.tick',
    token BIGINT UNSIGNED PATH '$.token',
    owner VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.owner',
    version BIGINT PATH '$.note.v',
    tick BIGINT PATH '$.note.tick',
    outcome VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.note.outcome',
    reason VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.note.reason.c',
    `trigger` VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.note.trigger',
    started BIGINT PATH '$.note.started',
    finished BIGINT PATH '$.note.finished',
    replica TEXT CHARACTER SET utf8mb4 PATH '$.note.replica',
    tries BIGINT PATH '$.note.tries',
    error LONGTEXT CHARACTER SET utf8mb4 PATH '$.note.error',
    parent TEXT CHARACTER SET utf8mb4 PATH '$.note.parent')) e
-- What tells the types of these: a column would take a text for a number, and a number for a text.
CROSS JOIN JSON_TABLE(JSON_OBJECT(
    'texts', CONCAT('', JSON_EXTRACT(t.document, '$.kind', '$.stream', '$.owner')),
    'numbers', CONCAT('', JSON_EXTRACT(t.document, '$.tick', '$.token', '$.rank')),
    'note', CONCAT_WS(' ', JSON_TYPE(JSON_EXTRACT(t.document, '$.note')), JSON_TYPE(JSON_EXTRACT(t.document, '$.note.reason'))),
    'note_error', COALESCE(JSON_TYPE(JSON_EXTRACT(t.document, '$.note.error')), 'NULL'),
    'note_texts', CONCAT('', JSON_EXTRACT(t.document, '$.note.outcome', '$.note.reason.c', '$.note.trigger', '$.note.replica', '$.note.parent')),
    'note_numbers', CONCAT('', JSON_EXTRACT(t.document, '$.note.v', '$.note.tick', '$.note.started', '$.note.finished', '$.note.tries'))), '$' COLUMNS (
    texts TEXT CHARACTER SET utf8mb4 PATH '$.texts', numbers TEXT CHARACTER SET utf8mb4 PATH '$.numbers',
    note VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.note', note_error VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.note_error',
    note_texts TEXT CHARACTER SET utf8mb4 PATH '$.note_texts', note_numbers TEXT CHARACTER SET utf8mb4 PATH '$.note_numbers')) types
CROSS JOIN JSON_TABLE(JSON_OBJECT(
    'entry', IF(COALESCE( -- an entry, and that of the key. Numbers are judged by their texts, since MariaDB takes 1e9 for an integer.
        CONCAT_WS(' ', JSON_TYPE(JSON_EXTRACT(types.texts, '$[0]')), JSON_TYPE(JSON_EXTRACT(types.texts, '$[1]')), JSON_TYPE(JSON_EXTRACT(types.texts, '$[2]')))
            REGEXP '^STRING STRING( STRING| NULL)?$'
        AND e.kind COLLATE utf8mb4_bin IN ('S', 'F', 'R', 'L', 'N')
        AND types.numbers REGEXP '^.([0-9]{1,20}|, |null)*.$' AND e.place BETWEEN 0 AND 253402300799999
        AND CAST(CONCAT(LPAD(GREATEST(0, 9999999999999 - e.place), 13, '0'), ' ', e.stream, ' ', LPAD(LOWER(HEX(CAST(COALESCE(e.token, 0) AS UNSIGNED))), 16, '0')) AS BINARY) = d.sub, FALSE), 0, 1),
    'note', IF(COALESCE( -- a note that this release reads
        types.note REGEXP '^( |OBJECT|NULL)*$' AND types.note_error IN ('STRING', 'NULL')
        AND CONCAT_WS(' ', JSON_TYPE(JSON_EXTRACT(types.note_texts, '$[0]')), JSON_TYPE(JSON_EXTRACT(types.note_texts, '$[1]')), JSON_TYPE(JSON_EXTRACT(types.note_texts, '$[2]')),
            JSON_TYPE(JSON_EXTRACT(types.note_texts, '$[3]')), JSON_TYPE(JSON_EXTRACT(types.note_texts, '$[4]'))) REGEXP '^( |STRING|NULL)*$'
        AND COALESCE(types.note_numbers, '[]') REGEXP '^.(-?[0-9]{1,20}|, |null)*.$' AND COALESCE(e.version, 0) <= 2
        AND COALESCE(e.tick, 0) BETWEEN 0 AND 253402300799999 AND COALESCE(e.started, 0) BETWEEN 0 AND 253402300799999
        AND COALESCE(e.finished, 0) BETWEEN 0 AND 253402300799999, FALSE), 0, 1)), '$' COLUMNS (
    entry INT PATH '$.entry', note INT PATH '$.note')) bad;

-- holders has the owners of claims that are open and whose lease lasts: their runs have not ended.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW {database}.holders AS
SELECT c.name, h.owner COLLATE utf8mb4_bin AS owner
FROM {database}.documents c
CROSS JOIN JSON_TABLE(COALESCE(c.document, '{}'), '$' COLUMNS (
    NESTED PATH '$.streams.*' COLUMNS (
        latest VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.owner', latest_void INT EXISTS PATH '$.void', latest_ended INT EXISTS PATH '$.ended'),
    NESTED PATH '$.earlier[*]' COLUMNS (
        earlier VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.owner', earlier_void INT EXISTS PATH '$.void', earlier_ended INT EXISTS PATH '$.ended'))) o
JOIN {database}.documents l ON l.kind = 'lease' AND l.name = c.name
CROSS JOIN JSON_TABLE(COALESCE(l.document, '{}'), '$' COLUMNS (
    owner VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.owner', until BIGINT PATH '$.until')) h
WHERE c.kind = 'claim' AND c.sub = ''
    AND COALESCE(o.latest, o.earlier) COLLATE utf8mb4_bin = h.owner COLLATE utf8mb4_bin
    AND COALESCE(o.latest_void, o.earlier_void) = 0 AND COALESCE(o.latest_ended, o.earlier_ended) = 0
    AND h.until >= TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) DIV 1000;

-- ledger has what listings say of all entries. A tick that did not run is left out if a run of it may have
-- been dropped since.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW {database}.ledger AS
SELECT s.name, s.stream, s.place, s.token, s.outcome,
    CASE
    WHEN s.kind = 'S' AND s.outcome = 'interrupted' OR s.outcome = 'unreadable' THEN s.outcome
    WHEN s.unreadable THEN 'unreadable'
    WHEN s.kind = 'L' AND COALESCE(s.outcome, '') <> 'lease_lost' THEN COALESCE(s.reason, 'late_end')
    ELSE s.reason END AS reason,
    CAST(TIMESTAMP '1970-01-01 00:00:00' + INTERVAL COALESCE(NULLIF(s.tick, 0), s.place) * 1000 MICROSECOND AS DATETIME(3)) AS tick,
    CAST(TIMESTAMP '1970-01-01 00:00:00' + INTERVAL NULLIF(s.started, 0) * 1000 MICROSECOND AS DATETIME(3)) AS started,
    CAST(TIMESTAMP '1970-01-01 00:00:00' + INTERVAL NULLIF(s.finished, 0) * 1000 MICROSECOND AS DATETIME(3)) AS finished,
    s.`trigger`, s.replica, s.tries, s.error, s.parent
FROM (
    SELECT e.name, e.stream, e.place, e.token, e.kind, e.unreadable, e.tick, e.reason, e.started, e.finished, e.`trigger`, e.replica, e.tries, e.error, e.parent,
        CASE
        WHEN e.kind = 'S' AND EXISTS (SELECT 1 FROM {database}.holders h WHERE h.name = e.name AND h.owner = e.owner) THEN 'running'
        WHEN e.kind = 'S' AND EXISTS ( -- claims or a lease that cannot be read
            SELECT 1 FROM {database}.documents c WHERE c.kind IN ('claim', 'lease') AND c.name = e.name AND NOT COALESCE(
                CONCAT_WS(' ', JSON_TYPE(c.document), JSON_TYPE(JSON_EXTRACT(c.document, '$.streams'))) REGEXP '^(OBJECT|NULL)( (OBJECT|NULL))?$'
                AND COALESCE(JSON_TYPE(JSON_EXTRACT(c.document, '$.earlier')), 'NULL') IN ('ARRAY', 'NULL')
                AND COALESCE(JSON_TYPE(JSON_EXTRACT(c.document, '$.owner')), 'NULL') IN ('STRING', 'NULL')
                AND CONCAT_WS('', JSON_EXTRACT(c.document, '$.until')) REGEXP '^(-?[0-9]+|null)?$', FALSE)) THEN 'unreadable'
        WHEN e.kind = 'S' THEN 'interrupted'
        WHEN e.unreadable THEN 'unreadable'
        ELSE e.outcome END AS outcome
    FROM {database}.entries e
) s
LEFT JOIN {database}.documents p ON p.kind = 'log' AND p.name = s.name AND p.sub = '' -- what was dropped of the job
WHERE COALESCE(s.kind, IF(s.token > 0, 'F', 'N')) <> 'N'
    OR NOT COALESCE(CONCAT_WS('', JSON_EXTRACT(p.document, '$.trimmed')) REGEXP '^[0-9]{1,15}$'
        AND s.place <= CAST(JSON_UNQUOTE(JSON_EXTRACT(p.document, '$.trimmed')) AS SIGNED), FALSE);

-- runs has one row for each run. Place is the tick's place in its stream: in "schedule" the
-- tick, in others the time of the request. Attempt counts the runs of a tick.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW {database}.runs AS
SELECT CONVERT(name USING utf8mb4) COLLATE utf8mb4_bin AS job, stream, tick, token, attempt, outcome, reason, `trigger`,
    started, finished, replica, tries, error, parent,
    CAST(TIMESTAMP '1970-01-01 00:00:00' + INTERVAL place * 1000 MICROSECOND AS DATETIME(3)) AS place
FROM (
    SELECT l.*, ROW_NUMBER() OVER (PARTITION BY l.name, l.stream, l.place ORDER BY l.token) AS attempt
    FROM {database}.ledger l
    WHERE COALESCE(l.outcome, '') <> 'missed' AND (l.token > 0 OR COALESCE(l.outcome, '') NOT IN ('skipped', 'unreadable'))
) numbered;

-- ticks has one row for each tick that ran or that was recorded as skipped or missed: its last run, or that
-- record.
CREATE OR REPLACE SQL SECURITY DEFINER VIEW {database}.ticks AS
SELECT CONVERT(name USING utf8mb4) COLLATE utf8mb4_bin AS job, stream, tick, outcome, reason, token, runs, `trigger`,
    started, finished, replica, error,
    CAST(TIMESTAMP '1970-01-01 00:00:00' + INTERVAL place * 1000 MICROSECOND AS DATETIME(3)) AS place
FROM (
    SELECT l.*, COUNT(NULLIF(l.token, 0)) OVER (PARTITION BY l.name, l.stream, l.place) AS runs,
        ROW_NUMBER() OVER (PARTITION BY l.name, l.stream, l.place ORDER BY l.token DESC) AS n
    FROM {database}.ledger l
) numbered
WHERE n = 1;
