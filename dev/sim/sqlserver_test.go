package sim_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/dev/sim"
)

// A database is a server with the tables of package sqlstore. It does what MySQL does at READ COMMITTED:
// statements read what was committed, rows are locked until the transaction ends, and a statement
// that writes a row waits for its lock. It does what SQLite does if transactions begin alone.
type database struct {
	tables, noted tables
	server        int // another one has taken over if the tables are older
	sessions      map[string]*session
	locks         map[rowID]*rowLock
	changes       map[rowID]change // that were not committed
	parsed        map[string]*sqlStatement

	last  time.Time     // of a statement
	awake time.Duration // how long it has worked; a frozen server ends no sessions
}

// Tables have rows by key. Rows do not change: others take their place.
type tables map[string]map[string]row

// A row has values by column.
type row map[string]string

type rowID struct{ table, key string }

// A rowLock has several owners only if it is not exclusive.
type rowLock struct {
	owners    map[*session]bool
	exclusive bool
}

// A change is a row that a transaction has written; nil: deleted.
type change struct {
	by  *session
	row row
}

// A session is a connection, as the server has it.
type session struct {
	open    bool          // in a transaction
	handled int           // the number of its last statement
	quits   int           // the number of its QUIT, if that came before the statement in front of it
	at      time.Duration // how long the server had worked at its last statement
}

// manySlots are so few that keys share some, besides 16 that package sqlstore reserves.
const manySlots = 64

// maxIdle is how long a session may do nothing in a transaction. Then the server ends it: its client may be gone.
const maxIdle = 2 * timeout

// What a connection sends besides statements, and how transactions begin.
const (
	begin      = "BEGIN"
	beginAlone = "BEGIN IMMEDIATE" // nobody else writes until it ends
	sqlConnect = "CONNECT"
	sqlQuit    = "QUIT"
)

// A sqlError is the answer to a statement that has failed.
type sqlError string

func (e sqlError) Error() string { return string(e) }

// What statements fail with. The session stays, and so does its transaction.
const (
	errRowLocked sqlError = "another transaction has locked the row"
	errWait      sqlError = "the statement waits for a lock: send it again"
)

// errSession is the answer to a statement of no session.
type errSession struct{}

func (errSession) Error() string { return "the server has ended the session" }

func newDatabase() *database {
	db := &database{tables: freshTables(), parsed: map[string]*sqlStatement{}}
	db.Note()
	db.begin()
	return db
}

func freshTables() tables {
	t := tables{"records": {}, "slots": {}, "life": {"": {"number": "0", "server": ""}}}
	for n := range manySlots + 16 {
		id := strconv.Itoa(n)
		t["slots"][id] = row{"id": id, "version": "0"}
	}
	return t
}

// begin is what a server does when it starts: nobody is connected, and what was not committed is gone.
func (db *database) begin() {
	db.sessions, db.locks, db.changes = map[string]*session{}, map[rowID]*rowLock{}, map[rowID]change{}
}

// Info implements sim.Machine.
func (db *database) Info() (string, error) { return "", nil }

// Note implements sim.Machine.
func (db *database) Note() { db.noted = db.tables.clone() }

func (t tables) clone() tables {
	c := tables{}
	for name, rows := range t {
		c[name] = maps.Clone(rows)
	}
	return c
}

// Restart implements sim.Machine. What was committed has no TTL.
func (db *database) Restart(_ string, memory sim.Memory) {
	switch memory {
	case sim.Older:
		db.tables = db.noted.clone()
		db.server++
	case sim.Nothing:
		db.tables = freshTables()
		db.server++
	}
	db.begin()
}

// Call implements sim.Machine. The arguments are the session, the number of the statement in it, the statement, and
// its parameters. A session's statements are handled in their order, as its connection delivers them.
func (db *database) Call(now time.Time, verb string, _, args []string) ([]string, error) {
	number, err := strconv.Atoi(args[1])
	if err != nil {
		return nil, err
	}
	db.awake += min(time.Since(db.last), maxIdle/10)
	db.last = time.Now()
	s := db.sessions[args[0]]
	db.endIdle(s)
	switch {
	case verb == sqlConnect:
		db.sessions[args[0]] = &session{handled: number}
		return nil, nil
	case s == nil:
		return nil, errSession{}
	case verb == sqlQuit && number > s.handled+1:
		s.quits = number
		return nil, nil
	case verb == sqlQuit:
		db.end(s)
		return nil, nil
	}
	s.handled, s.at = number, db.awake
	fields, err := db.handle(s, now, args[2], args[3:])
	if s.quits == number+1 {
		db.end(s)
	}
	return fields, err
}

// endIdle ends sessions that keep locks for too long, except that whose statement has come.
func (db *database) endIdle(except *session) {
	for _, s := range db.sessions {
		if s != except && s.open && db.awake-s.at > maxIdle {
			db.end(s)
		}
	}
}

func (db *database) end(s *session) {
	db.close(s, false)
	maps.DeleteFunc(db.sessions, func(_ string, of *session) bool { return of == s })
}

// close ends a transaction.
func (db *database) close(s *session, commit bool) {
	for id, c := range db.changes {
		if c.by != s {
			continue
		}
		delete(db.changes, id)
		switch {
		case !commit:
		case c.row == nil:
			delete(db.tables[id.table], id.key)
		default:
			db.tables[id.table][id.key] = c.row
		}
	}
	for id, l := range db.locks {
		if delete(l.owners, s); len(l.owners) == 0 {
			delete(db.locks, id)
		}
	}
	s.open = false
}

// lock locks a row, unless others keep the session from it.
func (db *database) lock(s *session, id rowID, exclusive bool) bool {
	l := db.locks[id]
	if l == nil {
		l = &rowLock{owners: map[*session]bool{}}
		db.locks[id] = l
	}
	if others := len(l.owners) > 1 || len(l.owners) == 1 && !l.owners[s]; others && (exclusive || l.exclusive) {
		return false
	}
	l.owners[s], l.exclusive = true, l.exclusive || exclusive
	return true
}

// handle handles a statement. Outside of a transaction it is one of its own.
func (db *database) handle(s *session, now time.Time, text string, params []string) ([]string, error) {
	switch text {
	case beginAlone:
		if !db.lock(s, rowID{table: "file"}, true) {
			return nil, errWait
		}
		fallthrough
	case begin:
		s.open = true
		return nil, nil
	case "COMMIT", "ROLLBACK":
		db.close(s, text == "COMMIT")
		return nil, nil
	case "SELECT 1":
		return nil, nil
	}
	if db.parsed[text] == nil {
		db.parsed[text] = parseSQL(text)
	}
	statement := db.parsed[text]
	fields, err := db.read(s, now, statement.parts, params)
	if err == nil {
		err = db.write(s, statement, params)
	}
	if !s.open {
		db.close(s, err == nil)
	}
	return fields, err
}

// read answers the parts of a SELECT, one after the other.
func (db *database) read(s *session, now time.Time, parts []sqlPart, params []string) (fields []string, err error) {
	expressions := map[string]string{"IDENTITY": "server-" + strconv.Itoa(db.server), "CLOCK": strconv.FormatInt(now.UnixMicro(), 10), "NULL": ""}
	for _, part := range parts {
		for _, id := range db.find(s, part, params) {
			switch {
			case part.lock == "" || db.lock(s, id, part.exclusive):
				fields = append(fields, part.project(db.visible(s, id), expressions)...)
			case part.lock == "NOWAIT":
				return nil, errRowLocked
			}
		}
	}
	return fields, nil
}

// find returns the rows of a part in order. What is locked may be a row that others have made and not committed.
func (db *database) find(s *session, part sqlPart, params []string) (list []rowID) {
	add := func(id rowID, r row) {
		if r != nil && (part.where == nil || part.where(r, params)) {
			list = append(list, id)
		}
	}
	for key := range db.tables[part.table] {
		id := rowID{part.table, key}
		add(id, db.visible(s, id))
	}
	for id, c := range db.changes {
		if id.table == part.table && db.tables[id.table][id.key] == nil && (c.by == s || part.lock != "") {
			add(id, c.row)
		}
	}
	slices.SortFunc(list, func(a, b rowID) int { return strings.Compare(a.key, b.key) })
	if part.limited {
		most, _ := strconv.Atoi(params[part.limit]) // it is one
		list = list[:min(len(list), most)]
	}
	return list
}

// visible is a row as the session sees it.
func (db *database) visible(s *session, id rowID) row {
	if c, changed := db.changes[id]; changed && c.by == s {
		return c.row
	}
	return db.tables[id.table][id.key]
}

// write makes what a statement writes, once it has the locks of all rows.
func (db *database) write(s *session, statement *sqlStatement, params []string) error {
	after := map[rowID]row{}
	for _, columns := range statement.inserted {
		r := row{}
		for column, param := range columns {
			r[column] = params[param]
		}
		after[r.id(statement.table)] = r
	}
	if statement.changes != nil {
		for _, id := range db.find(s, *statement.changes, params) {
			after[id] = statement.change(db.visible(s, id), params)
		}
	}
	for id := range after {
		if !db.lock(s, id, true) {
			return errWait
		}
	}
	for id, r := range after {
		db.changes[id] = change{s, r}
	}
	return nil
}

var _ sim.Machine = (*database)(nil)
