package dashboard

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/replica/settings"
)

// The file of users is followed; one that cannot be used changes nothing, and is
// spoken of until it is mended.
func TestUsersFileIsReadAgain(t *testing.T) {
	t.Parallel()
	_, kept := gate.NewToken()
	cfg := config.Default()
	cfg.HTTP.UsersFile = filepath.Join(t.TempDir(), "users.yaml")
	store := func(text string) {
		if err := os.WriteFile(cfg.HTTP.UsersFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store("ann: {token: " + kept + "}\nbob: {token: " + kept + "}\n")
	synctest.Test(t, func(t *testing.T) {
		var names []string
		var failed []bool
		var said strings.Builder
		book := &userBook{cfg: cfg, failed: func(f bool) { failed = append(failed, f) }, log: slog.New(slog.NewTextHandler(&said, nil))}
		book.set = func(users []gate.User) {
			names = nil
			for _, u := range users {
				names = append(names, u.Name)
			}
		}
		defer book.follow(t)()
		for _, step := range []struct {
			text, want string
			failing    bool
		}{
			{"ann: {token: " + kept + "}\nbob: {token: " + kept + "}\n", "", false}, // the same
			{"ann: {token: " + kept + "}\n", "ann", false},
			{"ann: {token: " + kept + "}\nbob: {tok", "ann", true},
			{"ann: {role: king}\n", "ann", true},
			{"carl: {token: " + kept + "}\n", "carl", false},
		} {
			store(step.text)
			time.Sleep(2 * usersEvery)
			synctest.Wait()
			if got := strings.Join(names, " "); got != step.want || (len(book.warnings()) > 0) != step.failing {
				t.Errorf("%q: the users are %q, and it warns %q", step.text, got, book.warnings())
			}
		}
		if err := os.Remove(cfg.HTTP.UsersFile); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * usersEvery)
		synctest.Wait()
		if got := strings.Join(names, " "); got != "carl" || len(book.warnings()) != 1 || strings.Count(said.String(), "no such file") != 1 {
			t.Errorf("without a file: %q, %q, %s", got, book.warnings(), said.String())
		}
		if len(failed) != 5 || !failed[1] || failed[3] || !failed[4] {
			t.Errorf("the metrics were told %v", failed)
		}
		for _, text := range book.warnings() {
			if strings.Contains(text, kept) {
				t.Errorf("it shows a secret: %s", text)
			}
		}
	})
}

// Secrets that users of the configuration refer to are read again, too.
func TestSecretsOfUsersAreReadAgain(t *testing.T) {
	t.Parallel()
	_, kept := gate.NewToken()
	_, other := gate.NewToken()
	secret := filepath.Join(t.TempDir(), "token")
	cfg := config.Default()
	cfg.HTTP.Users = map[string]settings.User{"ann": {Token: settings.Secret("${file:" + secret + "}")}}
	store := func(text string) {
		if err := os.WriteFile(secret, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	store(kept)
	synctest.Test(t, func(t *testing.T) {
		read := 0
		book := &userBook{cfg: cfg, log: slog.New(slog.DiscardHandler), set: func([]gate.User) { read++ }}
		defer book.follow(t)()
		for n, text := range []string{kept, other} {
			store(text)
			time.Sleep(2 * usersEvery)
			synctest.Wait()
			if read != n {
				t.Errorf("%s was read %d times, want %d", text, read, n)
			}
		}
	})
}

// follow has the book read and followed, until the returned function is called.
func (b *userBook) follow(t *testing.T) func() {
	t.Helper()
	b.sum = b.contents()
	if _, err := b.cfg.Users(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.run(ctx) })
	return func() { cancel(); running.Wait() }
}
