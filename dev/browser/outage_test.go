package browser_test

import (
	"maps"
	"slices"
	"strings"
)

// neverRead is a page that no replica has shown.
const neverRead = "/jobs/heartbeat"

// losesNodes stops nodes one by one until no quorum is left, and looks at what each
// page says then.
func (c *trouble) losesNodes() {
	c.t.Helper()
	watched, operator := c.looks()
	c.nodes[0].Kill()
	c.reads(watched, "a node that is killed", says("4 of 5 nodes vote"), says("redis-1 is down"), says("one more loss is fine"))
	c.nodes[1].Freeze()
	c.reads(watched, "a node that is frozen", says("3 of 5 nodes vote"), says("redis-2 is down"), says("one more loss and no tick can start"))
	operator.starts("slow")
	operator.open("/ticks?job=slow")
	operator.wait("the end of the run", lists("succeeded"))
	operator.click(`main tbody a[href*="/runs/slow"]`)
	operator.saysWhoIsAway("redis-1", "redis-2")

	paths := everyPlace(operator)
	c.nodes[2].Freeze()
	c.reads(watched, "no quorum", says("2 of 5 nodes vote"), says("No tick can start until 3 of them vote"))
	for _, path := range append(paths, neverRead) {
		operator.explainsItself(path)
	}
	c.nodes[1].Thaw()
	c.nodes[2].Thaw()
	c.reads(watched, "the quorum that is back", says("4 of 5 nodes vote"), `!`+says("This page was read at"))
}

// losesServer freezes the only server of the store, and looks at what each page says then.
func (c *trouble) losesServer() {
	c.t.Helper()
	watched, operator := c.looks()
	c.reads(watched, "a store that is well", says("The store is ready"))
	operator.open("/ticks")
	c.server.Freeze(c.t)
	c.reads(watched, "a store that is frozen", says("The store does not answer: no tick can start"))
	for _, path := range []string{"/ticks", "/nodes", neverRead} { // each waits for the store
		operator.explainsItself(path)
	}
	c.server.Thaw(c.t)
	c.reads(watched, "a store that is back", says("The store is ready"), `!`+says("This page was read at"))
}

// looks opens two tabs at a replica that lives.
func (c *trouble) looks() (watched, operator *tab) {
	c.t.Helper()
	home := c.urls[slices.Min(slices.Collect(maps.Keys(c.urls)))]
	return login(c.t, c.browser, home, "viewer"), login(c.t, c.browser, home, "operator")
}

// saysWhoIsAway wants the page of a run, which is open, to say which nodes did not
// answer its claim, and how many extended its lease.
func (b *tab) saysWhoIsAway(nodes ...string) {
	b.t.Helper()
	voted := eval[[]string](b, `[...document.querySelectorAll(".across li")].map(row => row.innerText)`)
	for i, row := range voted {
		away := slices.ContainsFunc(nodes, func(node string) bool { return strings.HasPrefix(row, node) })
		if away != strings.Contains(row, "unreachable") || away == strings.Contains(row, "granted") {
			b.t.Errorf("vote %d of %d is %q; %v are away", i+1, len(voted), row, nodes)
		}
	}
	beats := eval[[]string](b, `[...document.querySelectorAll("details td[data-label=Nodes]")].map(cell => cell.textContent)`)
	if len(voted) != 5 || len(beats) == 0 || slices.ContainsFunc(beats, func(text string) bool { return text != "3 of 5" }) {
		b.t.Errorf("5 nodes voted: %q; 3 extended the lease: %q", voted, beats)
	}
}

// everyPlace opens each page of the navigation, and returns their paths.
func everyPlace(b *tab) []string {
	b.t.Helper()
	b.open("/")
	paths := b.links("header nav a")
	for _, path := range paths {
		b.open(path)
	}
	return paths
}

// explainsItself wants a page to be of use while no quorum answers: to show what was
// read last and when that was, or to say why there is nothing, and to look well.
func (b *tab) explainsItself(path string) {
	b.t.Helper()
	status, words, want := b.open(path), "This page was read at", int64(200)
	switch path {
	case neverRead:
		words, want = "This page was not read before the outage", 503
	case "/nodes": // asked now, so never old
		words = "o tick can start"
	}
	if b.sees(words); status != want {
		b.t.Errorf("%s is answered with %d, not %d, while no quorum answers", path, status, want)
	}
	b.looksWell(path)
}
