package sim_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/quorate/quorate/internal/store/single/sqlstore"
)

// A sqlDialect is what package sqlstore knows of a kind of database.
type sqlDialect struct {
	sqlstore.Texts
	slots int
}

// likeMySQL locks rows. Keys share few slots.
func likeMySQL() sqlDialect {
	d := likeSQLite()
	d.slots, d.Begin = manySlots, begin
	d.ChangeSlots, d.CompareSlots = " FOR UPDATE SKIP LOCKED", " FOR SHARE SKIP LOCKED"
	d.ChangeRecords, d.CompareRecords = " FOR UPDATE NOWAIT", " FOR SHARE NOWAIT"
	return d
}

// likeSQLite locks the whole file.
func likeSQLite() sqlDialect {
	return sqlDialect{slots: 1, Texts: sqlstore.Texts{
		Begin: beginAlone, Identity: "IDENTITY", Clock: "CLOCK", Part: "%s",
		OverRecords: " ON DUPLICATE KEY UPDATE", OverSlots: " ON DUPLICATE KEY UPDATE",
	}}
}

// A sqlStatement is one that was parsed. It has parts to read, or rows to insert, or changes.
type sqlStatement struct {
	parts    []sqlPart
	table    string
	inserted []map[string]int // of each row: its parameters, by column
	changes  *sqlPart         // the rows to change or to delete
	sets     map[string]int   // their parameters, by column; nil: they are deleted
}

// A sqlPart is one SELECT of a union.
type sqlPart struct {
	columns   []string
	table     string
	where     condition // nil: all rows
	limited   bool
	limit     int    // the parameter
	lock      string // what happens to rows that others have locked: NOWAIT or SKIP; empty: none is locked
	exclusive bool
}

// A condition is a WHERE.
type condition func(r row, params []string) bool

// project returns the columns of a row.
func (part sqlPart) project(r row, expressions map[string]string) (fields []string) {
	for _, column := range part.columns {
		value, is := expressions[column]
		if !is {
			value, is = r[column]
		}
		if !is {
			value = strings.Trim(column, "'")
		}
		fields = append(fields, value)
	}
	return fields
}

// change is a row after the statement.
func (s *sqlStatement) change(r row, params []string) row {
	if s.sets == nil {
		return nil
	}
	r = maps.Clone(r)
	for column, param := range s.sets {
		r[column] = params[param]
	}
	return r
}

// id is that of a row in its table.
func (r row) id(table string) rowID {
	if table == "records" {
		return rowID{table, r["kind"] + "\x00" + r["name"] + "\x00" + r["sub"]}
	}
	return rowID{table, r["id"]}
}

// A sqlParser parses the statements of package sqlstore, and no others.
type sqlParser struct {
	text   string
	tokens []string
	params int // so many were seen
}

var sqlTokens = regexp.MustCompile(`'[^']*'|-?\w+|[<>]=?|[^\s]`)

// parseSQL panics if the statement is another one than package sqlstore has: the database has to learn it.
func parseSQL(text string) *sqlStatement {
	p := &sqlParser{text: text, tokens: sqlTokens.FindAllString(text, -1)}
	s := &sqlStatement{}
	switch {
	case p.accept("INSERT", "INTO"):
		p.insert(s)
	case p.accept("UPDATE"):
		s.table, s.sets = p.next(), map[string]int{}
		p.expect("SET")
		for more := true; more; more = p.accept(",") {
			column := p.next()
			p.expect("=")
			s.sets[column] = p.param()
		}
		s.changes = p.changed(s.table)
	case p.accept("DELETE", "FROM"):
		s.table = p.next()
		s.changes = p.changed(s.table)
	default:
		for more := true; more; more = p.accept("UNION", "ALL") {
			s.parts = append(s.parts, p.selection())
		}
	}
	if len(p.tokens) > 0 {
		p.fail()
	}
	return s
}

func (p *sqlParser) fail() {
	panic(fmt.Sprintf("the simulated database does not understand %q of: %s", strings.Join(p.tokens, " "), p.text))
}

// accept takes tokens if they come next.
func (p *sqlParser) accept(words ...string) bool {
	if len(p.tokens) < len(words) || !slices.Equal(p.tokens[:len(words)], words) {
		return false
	}
	p.tokens = p.tokens[len(words):]
	return true
}

func (p *sqlParser) expect(words ...string) {
	if !p.accept(words...) {
		p.fail()
	}
}

func (p *sqlParser) next() string {
	if len(p.tokens) == 0 {
		p.fail()
	}
	token := p.tokens[0]
	p.tokens = p.tokens[1:]
	return token
}

// param takes a ?, and returns the number of its parameter.
func (p *sqlParser) param() int {
	p.expect("?")
	p.params++
	return p.params - 1
}

// list takes what f takes, several times, in parentheses.
func (p *sqlParser) list(f func()) {
	p.expect("(")
	for more := true; more; more = p.accept(",") {
		f()
	}
	p.expect(")")
}

func (p *sqlParser) insert(s *sqlStatement) {
	var columns []string
	s.table = p.next()
	p.list(func() { columns = append(columns, p.next()) })
	p.expect("VALUES")
	for more := true; more; more = p.accept(",") {
		r, n := map[string]int{}, 0
		p.list(func() {
			r[columns[n]] = p.param()
			n++
		})
		s.inserted = append(s.inserted, r)
	}
	p.expect("ON", "DUPLICATE", "KEY", "UPDATE")
}

func (p *sqlParser) changed(table string) *sqlPart {
	p.expect("WHERE")
	return &sqlPart{table: table, where: p.anyOf()}
}

func (p *sqlParser) selection() (part sqlPart) {
	p.expect("SELECT")
	for more := true; more; more = p.accept(",") {
		part.columns = append(part.columns, p.next())
	}
	p.expect("FROM")
	part.table = p.next()
	if p.accept("WHERE") {
		part.where = p.anyOf()
	}
	if part.limited = p.accept("ORDER", "BY", "name", ",", "sub", "LIMIT"); part.limited {
		part.limit = p.param()
	}
	if p.accept("FOR") {
		part.exclusive = p.next() == "UPDATE"
		if part.lock = p.next(); part.lock == "SKIP" {
			p.expect("LOCKED")
		}
	}
	return part
}

func (p *sqlParser) anyOf() condition {
	var list []condition
	for more := true; more; more = p.accept("OR") {
		list = append(list, p.allOf())
	}
	return func(r row, params []string) bool {
		return slices.ContainsFunc(list, func(c condition) bool { return c(r, params) })
	}
}

func (p *sqlParser) allOf() condition {
	var list []condition
	for more := true; more; more = p.accept("AND") {
		list = append(list, p.comparison())
	}
	return func(r row, params []string) bool {
		return !slices.ContainsFunc(list, func(c condition) bool { return !c(r, params) })
	}
}

func (p *sqlParser) comparison() condition {
	if p.accept("(") {
		c := p.anyOf()
		p.expect(")")
		return c
	}
	column, operator := p.next(), p.next()
	if operator == "IN" {
		var in []int
		p.list(func() { in = append(in, p.param()) })
		return func(r row, params []string) bool {
			return slices.ContainsFunc(in, func(param int) bool { return params[param] == r[column] })
		}
	}
	param := p.param()
	return func(r row, params []string) bool {
		c := strings.Compare(r[column], params[param])
		switch operator {
		case "=":
			return c == 0
		case "<":
			return c < 0
		case ">":
			return c > 0
		case ">=":
			return c >= 0
		}
		panic(operator)
	}
}
