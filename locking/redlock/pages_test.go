package redlock_test

import (
	"context"
	"log"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock"
)

// The pages' examples for the lock alone, to compile them.

//nolint:ineffassign,staticcheck,wastedassign // as on the page
func lockPage(ctx context.Context, urls []string, work func(context.Context, locking.Token) error) error {
	// docs/lock.md:
	locks, err := redlock.Open(ctx, redlock.Config{Nodes: urls}) // once per process; Close ends it
	err = locking.Do(ctx, locks, "stock", func(ctx context.Context, claim locking.Claim) error {
		return work(ctx, claim.Token) // ctx ends before the lease does
	})
	// :docs/lock.md
	return err
}

//nolint:ineffassign,staticcheck,wastedassign // as on the page
func packageDoc(ctx context.Context, urls []string) error {
	// locking/redlock/locker.go:
	locks, err := redlock.Open(ctx, redlock.Config{Nodes: urls}) // or the clients that you have
	err = locking.Do(ctx, locks, "invoices", func(ctx context.Context, claim locking.Claim) error { return nil })
	// :locking/redlock/locker.go
	return err
}

func program() {
	// docs/lock.md:
	ctx := context.Background()
	var clients []redis.UniversalClient
	for _, addr := range []string{"10.0.0.1:6379", "10.0.1.1:6379", "10.0.2.1:6379"} {
		clients = append(clients, redis.NewClient(&redis.Options{Addr: addr}))
	}
	locks, err := redlock.Open(ctx, redlock.Config{Clients: clients})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close()
	err = locking.Do(ctx, locks, "stock", func(ctx context.Context, claim locking.Claim) error {
		log.Printf("nobody else works on the stock; token %d", claim.Token)
		return nil
	})
	if err != nil {
		log.Print(err)
	}
	// :docs/lock.md
}

var _, _, _ = lockPage, packageDoc, program

// Each page has the text between its name's two marks, and the imports at the top.
func TestPagesShowWhatCompiles(t *testing.T) {
	t.Parallel()
	source := words(t, "pages_test.go")
	shown := regexp.MustCompile(`(?s)\n// ([\w/]+\.\w+):\n(.*?)\n// :`).FindAllStringSubmatch(source, -1)
	if len(shown) != 3 {
		t.Fatalf("found %d pieces, not 3", len(shown))
	}
	for _, m := range shown {
		code := strings.ReplaceAll(m[2], "{ return nil }", "{ … }")
		if !strings.Contains(words(t, "../../"+m[1]), code) {
			t.Errorf("%s does not hold\n%s", m[1], code)
		}
	}
	imports := regexp.MustCompile(`import \(\n([^)]*)\)`).FindStringSubmatch(words(t, "../../docs/lock.md"))
	for line := range strings.FieldsSeq(imports[1]) {
		if !strings.Contains(source, "\n"+line+"\n") {
			t.Errorf("docs/lock.md imports %s, which it does not use here", line)
		}
	}
}

// words returns a file with single blanks, and without the marks of comments.
func words(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(b)) {
		if strings.HasSuffix(name, "locker.go") {
			line = strings.TrimPrefix(line, "//")
		}
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}
