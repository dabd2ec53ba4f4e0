package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/jobs/execjob"
)

// workerPath names the file of a worker: with it, the test binary is one.
const workerPath = "QUORATE_TEST_SQLITE"

func TestMain(m *testing.M) {
	if path := os.Getenv(workerPath); path != "" {
		work(path)
	}
	if campaigntest.IsProgram() {
		r := jobs.NewRegistry()
		execjob.Register(r)
		cmd.Main(r, new(Store))
	}
	os.Exit(m.Run())
}

var (
	counter = kv.Key{Kind: kv.Claims, Name: "counter"}
	client  = "shared" // the namespace of workers
)

// claimOf is the record that the winner of a number makes.
func claimOf(n int) kv.Key {
	return kv.Key{Kind: kv.Entries, Name: "claims", Sub: fmt.Sprintf("%09d", n)}
}

// work claims number after number until the process is killed, and writes a line for each that it has won.
// What fails is tried again, so a number is won at most once.
func work(path string) {
	s := newServer(path, client, 2*time.Second)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		w, err := claimNext(ctx, s, strconv.Itoa(os.Getpid()))
		cancel()
		switch {
		case err != nil:
			fmt.Fprintln(os.Stderr, err)
		case w.number > 0:
			fmt.Println(w.number, w.began.UnixNano(), w.incarnation)
		}
	}
}

// A win is a number that a worker has won.
type win struct {
	number      int
	began       time.Time // when its commit began
	incarnation string
}

// claimNext claims the next number. The win is zero if another one was faster.
func claimNext(ctx context.Context, s kv.Store, who string) (win, error) {
	list, stamp, err := s.Read(ctx, counter)
	if err != nil {
		return win{}, err
	}
	n, _ := strconv.Atoi(string(list[0].Value)) // 0 at first
	w := win{n + 1, time.Now(), stamp.Incarnation}
	o, err := s.Commit(ctx, kv.Txn{
		Incarnation: stamp.Incarnation,
		If:          []kv.Compare{{Key: counter, Version: list[0].Version}, {Key: claimOf(n + 1)}},
		Put:         []kv.Write{{Key: counter, Value: []byte(strconv.Itoa(n + 1))}, {Key: claimOf(n + 1), Value: []byte(strconv.Quote(who))}},
	})
	if err != nil || !o.Won {
		return win{}, err
	}
	return w, nil
}

// A worker is a process that claims numbers.
type worker struct {
	cmd  *exec.Cmd
	over sync.WaitGroup

	mu   sync.Mutex
	wins []win
	more chan struct{} // has an element if there are wins that nobody has seen
}

// startWorker starts a worker. It ends with the test.
func startWorker(t *testing.T, path string) *worker {
	t.Helper()
	w := &worker{more: make(chan struct{}, 1)}
	w.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	w.cmd.Env = append(os.Environ(), workerPath+"="+path, "GOMAXPROCS=2")
	w.cmd.Stderr = os.Stderr
	w.cmd.SysProcAttr = diesWithTest()
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan error, 1)
	w.over.Go(func() {
		runtime.LockOSThread() // the end of this thread would end the process
		defer runtime.UnlockOSThread()
		err := w.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			w.add(lines.Text())
		}
		_ = w.cmd.Wait() // it was killed
	})
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.kill)
	return w
}

func (w *worker) add(line string) {
	var won win
	var began int64
	if n, err := fmt.Sscan(line, &won.number, &began, &won.incarnation); n != 3 || err != nil {
		return // the process was killed while it wrote the line
	}
	won.began = time.Unix(0, began)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wins = append(w.wins, won)
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// await waits until the worker has won a number in a commit that began after from.
func (w *worker) await(t *testing.T, from time.Time) win {
	t.Helper()
	for over := time.After(30 * time.Second); ; {
		if all := w.won(); len(all) > 0 && all[len(all)-1].began.After(from) {
			return all[len(all)-1]
		}
		select {
		case <-w.more:
		case <-over:
			t.Fatal("a worker has won nothing for 30 s")
		}
	}
}

func (w *worker) won() []win {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clip(w.wins)
}

// kill kills the process, and waits for its last lines.
func (w *worker) kill() {
	if err := w.cmd.Process.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic(err)
	}
	w.over.Wait()
}
