package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/quorate/quorate/dev/testkit/redistest"
)

// A foreign client holds at most one lock of a key. Each call makes one try.
type foreign interface {
	lock(key string, ttl time.Duration) error
	extend(key string, ttl time.Duration) error
	unlock(key string) error
}

// clients are the foreign clients by name, connected as long as the test.
func clients(t *testing.T, servers []*redistest.Server) map[string]foreign {
	t.Helper()
	return map[string]foreign{
		"redsync":       newPlainRedsync(t, servers),
		"npm redlock 5": startNode(t, "redlock", servers),
		"npm redlock 4": startNode(t, "redlock4", servers),
	}
}

// plainRedsync is redsync as its README shows it.
type plainRedsync struct {
	t    *testing.T
	sync *redsync.Redsync
	held map[string]*redsync.Mutex
}

func newPlainRedsync(t *testing.T, servers []*redistest.Server) *plainRedsync {
	t.Helper()
	var pools []redis.Pool
	for _, s := range servers {
		pools = append(pools, goredis.NewPool(s.Client()))
	}
	return &plainRedsync{t: t, sync: redsync.New(pools...), held: map[string]*redsync.Mutex{}}
}

func (r *plainRedsync) lock(key string, ttl time.Duration) error {
	m := r.sync.NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(1))
	if err := m.TryLockContext(r.t.Context()); err != nil {
		return err
	}
	r.held[key] = m
	return nil
}

func (r *plainRedsync) extend(key string, _ time.Duration) error {
	return must(r.held[key].ExtendContext(r.t.Context()))
}

func (r *plainRedsync) unlock(key string) error {
	return must(r.held[key].UnlockContext(r.t.Context()))
}

func must(ok bool, err error) error {
	if err == nil && !ok {
		return errors.New("refused without a reason")
	}
	return err
}

// A nodeClient is client.mjs.
type nodeClient struct {
	in  *json.Encoder
	out *bufio.Reader
}

// startNode starts client.mjs with one of its libraries. What it needs comes
// from the npm registry once; see the Makefile.
func startNode(t *testing.T, library string, servers []*redistest.Server) *nodeClient {
	t.Helper()
	args := []string{"client.mjs", library}
	for _, s := range servers {
		args = append(args, s.Addr())
	}
	// Its input ends with this process, and it with its input.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "node", args...)
	cmd.Dir, cmd.Stderr = "client", os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: install nodejs, then run make interop", err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("client.mjs %s: %v", library, err)
		}
	})
	return &nodeClient{in: json.NewEncoder(in), out: bufio.NewReader(out)}
}

func (c *nodeClient) lock(key string, ttl time.Duration) error   { return c.ask("lock", key, ttl) }
func (c *nodeClient) extend(key string, ttl time.Duration) error { return c.ask("extend", key, ttl) }
func (c *nodeClient) unlock(key string) error                    { return c.ask("unlock", key, 0) }

func (c *nodeClient) ask(op, key string, ttl time.Duration) error {
	if err := c.in.Encode(map[string]any{"op": op, "key": key, "ttl": ttl.Milliseconds()}); err != nil {
		return err
	}
	line, err := c.out.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		return errors.New("client.mjs has ended: run make interop, which installs what it needs")
	}
	if err != nil {
		return err
	}
	var answer struct{ Error string }
	if err := json.Unmarshal(line, &answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return nil
}
