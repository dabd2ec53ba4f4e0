package replica

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
)

// A program logs in to Redis with what it is given at each connection, such as a cloud's token.
func TestRedisCredentials(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Conf("requirepass canary"))
	r, err := New(Config{
		Redis:            settings.Redis{Nodes: settings.Nodes("redis://" + server.Addr()), Password: "another", RestartGrace: 2 * time.Second},
		RedisCredentials: func(context.Context) (username, password string, err error) { return "default", "canary", nil },
		Lock:             settings.Lock{TTL: 1500 * time.Millisecond}, // short, since a new node abstains for longer
		Logger:           logTo(io.Discard),
		Jobs:             []jobs.Job{{Name: "job", Spec: "@yearly", Handler: func(context.Context, jobs.Run) error { return nil }}},
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := start(t.Context(), r)
	eventually(t, "the replica is ready", func() bool { return len(r.NotReady()) == 0 })
	if err := stop(); err != nil {
		t.Error(err)
	}
}
