package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/quorate/quorate/internal/inode"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// mode is that of the files: they have the output of jobs.
const mode = 0o600

// Endings of the files that SQLite keeps beside the main one.
const (
	walEnd = "-wal"
	shmEnd = "-shm"
)

// A place is where the files of a database are. The three belong together: a main file with the -wal of
// another one is a damaged database, and two -shm files let two processes write at once.
type place struct {
	path string // as the configuration has it, absolute
	main string // without symbolic links, as they were at opening: SQLite derives the other names from it
	// namespace is that of the cluster. A file has one.
	namespace string
}

// locate checks a path, and resolves its symbolic links.
func locate(path string) (place, error) {
	switch {
	case path == "":
		return place{}, refuse("there is no path: write the name of a file, such as /var/lib/quorate/quorate.db")
	case path == ":memory:", strings.HasPrefix(path, "file:"), strings.ContainsRune(path, 0):
		return place{}, refuse("%q is not the path of a file: write one, such as /var/lib/quorate/quorate.db; a URI or a database in memory cannot be used", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return place{}, refuse("%w", err)
	}
	main, err := resolve(path)
	if err != nil {
		return place{}, err
	}
	dir := filepath.Dir(main)
	if err := checkFileSystem(dir); err != nil {
		return place{}, err
	}
	switch info, err := os.Lstat(main); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return place{}, fmt.Errorf("%w: %w", kv.ErrNotReady, err)
	case !info.Mode().IsRegular():
		return place{}, refuse("%s is not a regular file: choose another path", main)
	}
	return place{path: path, main: main}, nil
}

// resolve resolves the symbolic links of a path. Its directory has to exist.
func resolve(path string) (string, error) {
	whole, err := filepath.EvalSymlinks(path)
	if err == nil {
		return whole, nil
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", refuse("the directory of %s cannot be used (%w): create it, and give it to the user that runs this program", path, err)
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// dir is the directory of the files.
func (p place) dir() string { return filepath.Dir(p.main) }

// create creates the main file unless it exists. Nothing else may open it: when a process closes any
// descriptor of a file, the kernel drops all locks that the process has on it, also those of SQLite.
// A file that did not exist has no locks.
func (p place) create() error {
	f, err := os.OpenFile(p.main, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return refuse("the file cannot be created (%w): give its directory to the user that runs this program", err)
	}
	return errors.Join(f.Close(), p.sync())
}

// sync makes the names of the files durable.
func (p place) sync() error {
	d, err := os.Open(p.dir())
	if err != nil {
		return fmt.Errorf("%w: %w", kv.ErrNotReady, err)
	}
	return errors.Join(d.Sync(), d.Close())
}

// setAside takes away a -wal of which nobody knows to which main file it belongs. It may have commits
// that the main file has not, so people can still look at it.
func (p place) setAside() error {
	wal := p.main + walEnd
	info, err := os.Stat(wal)
	if err == nil && info.Size() > 0 {
		err = os.Rename(wal, wal+"-dropped")
	} else if err == nil {
		err = os.Remove(wal)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", kv.ErrNotReady, err)
	}
	return nil
}

// createShm creates the -shm as a new file, so that its identity is known before anybody uses it.
func (p place) createShm() error {
	shm := p.main + shmEnd
	if err := os.Remove(shm); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", kv.ErrNotReady, err)
	}
	f, err := os.OpenFile(shm, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("%w: %w", kv.ErrNotReady, err)
	}
	return f.Close()
}

// An identity tells the files at a place apart from others that were there before, or come later. A part
// is zero for a file that does not exist.
type identity struct{ main, wal, shm inode.ID }

// identify returns the identity of the files that are at the place now.
func (p place) identify() (id identity, err error) {
	for _, f := range []struct {
		name string
		to   *inode.ID
	}{{p.path, &id.main}, {p.main + walEnd, &id.wal}, {p.main + shmEnd, &id.shm}} {
		if *f.to, err = inode.Of(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return identity{}, fmt.Errorf("%w: %w", kv.ErrNotReady, err)
		}
	}
	return id, nil
}

func (id identity) String() string {
	return fmt.Sprintf(identityText, id.main.Number, id.main.Birth, id.wal.Number, id.wal.Birth, id.shm.Number, id.shm.Birth)
}

const identityText = "%x.%x/%x.%x/%x.%x"

// parseIdentity reads what String has written. Any other text is the identity of no files.
func parseIdentity(text string) (id identity) {
	_, err := fmt.Sscanf(text, identityText, &id.main.Number, &id.main.Birth, &id.wal.Number, &id.wal.Birth, &id.shm.Number, &id.shm.Birth)
	if err != nil {
		return identity{}
	}
	return id
}

// lockDir makes the caller the only one, in all processes, that opens or creates files at the place.
// Connections to files that are known do not need it.
func (p place) lockDir(ctx context.Context) (unlock func(), err error) {
	d, err := os.Open(p.dir())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", kv.ErrNotReady, err)
	}
	err = whileBusy(ctx, func() error { return lockOpened(d) })
	if err != nil {
		_ = d.Close()
		return nil, fmt.Errorf("another process is opening %s, and has locked its directory: end that process if it hangs (%w)", p.main, err)
	}
	return func() { _ = d.Close() }, nil
}

// refuse is an error that matches [kv.ErrNotReady] and needs no more words.
func refuse(format string, args ...any) error { return refused{fmt.Errorf(format, args...)} }

type refused struct{ error }

func (e refused) Unwrap() []error { return []error{e.error, kv.ErrNotReady} }
