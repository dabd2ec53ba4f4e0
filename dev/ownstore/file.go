package ownstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/quorate/quorate/internal/inode"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// An answer is that of a call.
type answer struct {
	lists      [][]kv.Record // of one that reads
	kv.Outcome               // of a commit; both have the stamp
}

// do calls work in a transaction of bbolt, and commits that if work sets Won. bbolt does not know contexts:
// a call that outlasts its own ends by itself, and nobody is told how.
func (s *server) do(ctx context.Context, call string, writes bool, work func(*bolt.Tx, *answer) error) (answer, error) {
	type result struct {
		answer
		err error
	}
	done := make(chan result, 1)
	s.calls.Go(func() {
		var r result
		r.err = s.transact(ctx, writes, &r.answer, work)
		done <- r
	})
	var r result
	select {
	case r = <-done:
	case <-ctx.Done():
		r.err = fmt.Errorf("%w: %w", kv.ErrUnavailable, ctx.Err())
	}
	if r.err != nil {
		return answer{}, fmt.Errorf("%s: %s: %w", s.Name(), call, r.err)
	}
	return r.answer, nil
}

func (s *server) transact(ctx context.Context, writes bool, a *answer, work func(*bolt.Tx, *answer) error) error {
	f, err := s.open()
	if err != nil {
		return err
	}
	tx, err := f.db.Begin(writes) // waits until the one that writes has ended
	if err != nil {
		return fmt.Errorf("%w: %w", kv.ErrNotSent, err)
	}
	defer func() { _ = tx.Rollback() }() // which does nothing after a commit
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", kv.ErrNotSent, ctx.Err())
	}
	a.Stamp = kv.Stamp{Incarnation: f.life, Now: time.Now()}
	if err := work(tx, a); err != nil {
		return err
	}
	if a.Won {
		if err := tx.Commit(); err != nil {
			return fmt.Errorf("%w: the disk may have it or not: %w", kv.ErrUnavailable, err)
		}
	}
	if !f.isAt(s.path) {
		return fmt.Errorf("%w: %w", kv.ErrUnavailable, errReplaced)
	}
	return nil
}

// errReplaced is why nobody else sees what a transaction has seen and written.
var errReplaced = errors.New("the file was replaced or deleted while it was in use")

// open returns the file that is at the path now. It opens it with the first call, and when it was replaced.
func (s *server) open() (*file, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != nil && s.file.isAt(s.path) {
		return s.file, nil
	}
	if s.file != nil {
		_ = s.file.db.Close() // nobody else will ever see it
		s.file = nil
	}
	f, err := openAt(s.path)
	if err == nil {
		s.file = f
	}
	return f, err
}

// A file is one that bbolt has open.
type file struct {
	db   *bolt.DB
	info os.FileInfo // while it is open, no other file has its inode
	life string
}

// isAt reports whether the file is still the one at the path.
func (f *file) isAt(path string) bool {
	now, err := os.Stat(path)
	return err == nil && os.SameFile(f.info, now)
}

// mode is that of the file: it has the output of jobs.
const mode = 0o600

// openAt opens the file at a path, or makes it, and looks whose life it has.
func openAt(path string) (*file, error) {
	f := new(file)
	var err error
	f.db, err = bolt.Open(path, mode, &bolt.Options{
		Timeout: time.Millisecond, // it tries to lock the file once: the caller tries again
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			opened, err := os.OpenFile(name, flag, mode)
			if err == nil {
				f.info, err = opened.Stat()
			}
			return opened, err
		},
	})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("%w: another replica has the file: wait until it ends, or use its dashboard", kv.ErrNotSent)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: choose a file of bbolt, or a new one in a directory that this program may write to (%w)", kv.ErrNotReady, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", kv.ErrNotSent, err)
	}
	if err := f.begin(path); err != nil {
		return nil, errors.Join(err, f.db.Close())
	}
	return f, nil
}

// begin reads the life of the file. If that is of another file, this one is a copy, which lacks what was
// committed later: it begins a life of its own.
func (f *file) begin(path string) error {
	id, err := inode.Of(path)
	if err == nil && !f.isAt(path) {
		err = errReplaced
	}
	if err != nil {
		return fmt.Errorf("%w: %w", kv.ErrNotSent, err)
	}
	own, name, of := fmt.Sprintf("%x.%x", id.Number, id.Birth), []byte("name"), []byte("inode")
	return f.db.Update(func(tx *bolt.Tx) error {
		life := tx.Bucket([]byte("life"))
		if other, _ := tx.Cursor().First(); life == nil && other != nil {
			return fmt.Errorf("%w: the file is of another program, with the bucket %q: choose another path", kv.ErrNotReady, other)
		}
		life, err := tx.CreateBucketIfNotExists([]byte("life"))
		if err != nil {
			return err
		}
		if f.life = string(life.Get(name)); f.life != "" && string(life.Get(of)) == own {
			return nil
		}
		f.life = rand.Text()
		return errors.Join(life.Put(name, []byte(f.life)), life.Put(of, []byte(own)))
	})
}
