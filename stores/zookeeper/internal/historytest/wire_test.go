package historytest

import (
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorate/quorate/stores/zookeeper/internal/zookeepertest"
)

type silent struct{}

func (silent) Printf(string, ...any) {}

// What passes between a client and a server is recorded as the client sees it.
func TestRecordOfAServer(t *testing.T) {
	t.Parallel()
	e := zookeepertest.Start(t, 1, zookeepertest.Options{})
	dir := t.TempDir()
	r, err := NewRecorder(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := zk.Connect(e.Servers(), 5*time.Second, zk.WithLogger(silent{}), zk.WithDialer(func(network, at string, within time.Duration) (net.Conn, error) {
		plain, err := net.DialTimeout(network, at, within)
		if err != nil {
			return nil, err
		}
		return r.Wrap(plain), nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Create("/n", []byte("zero"), 0, zk.WorldACL(zk.PermAll))
	must(t, err)
	written, err := c.Set("/n", []byte("one"), 0)
	must(t, err)
	_, err = c.Multi(&zk.CheckVersionRequest{Path: "/n", Version: 1}, &zk.CreateRequest{Path: "/n/m", Acl: zk.WorldACL(zk.PermAll)})
	must(t, err)
	if _, err = c.Multi(&zk.CheckVersionRequest{Path: "/n", Version: 7}, &zk.DeleteRequest{Path: "/n/m", Version: -1}); err == nil {
		t.Error("a transaction won against another version")
	}
	_, err = c.Sync("/n")
	must(t, err)
	_, read, err := c.Get("/n")
	must(t, err)

	calls, err := Load(dir)
	must(t, err)
	v := Judge(calls)
	if len(calls) != 6 || v.Acknowledged != 3 || v.Reads != 1 || v.Unknown != 0 || len(v.Broken) != 0 {
		t.Fatalf("recorded: %v", v)
	}
	if set := calls[1].Ops[0]; set.Hash != hash([]byte("one")) || set.Expects != 0 || set.Stat.Mzxid != written.Mzxid || calls[1].Zxid != written.Mzxid {
		t.Errorf("set: %+v, %+v; the client saw %+v", calls[1], set.Stat, written)
	}
	if won := calls[2]; won.Err != 0 || len(won.Ops) != 2 || won.Ops[0].Expects != 1 || won.Ops[1].Path != "/n/m" {
		t.Errorf("a transaction that won: %+v", won)
	}
	if lost := calls[3]; lost.Err == 0 {
		t.Errorf("a transaction that lost: %+v", lost)
	}
	if got := calls[5].Ops[0]; got.Hash != hash([]byte("one")) || got.Stat.Version != read.Version || got.Stat.Pzxid != read.Pzxid {
		t.Errorf("get: %+v, %+v; the client saw %+v", got, got.Stat, read)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
