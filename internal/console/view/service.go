package view

import (
	"context"
	"errors"
	"fmt"
)

// An Owned store belongs to a service, if somebody has named it.
type Owned interface {
	// Service returns the name that the store keeps; "" if there is none. A name is kept if
	// there is none, with replace in place of another.
	Service(ctx context.Context, name string, replace bool) (kept string, err error)
}

// ErrOtherService is what an OtherServiceError matches.
var ErrOtherService = errors.New("the store belongs to another service")

// An OtherServiceError is why a replica does not start: its store belongs to another service.
type OtherServiceError struct {
	Namespace string
	Kept      string // the service that the store belongs to
	Own       string // that of the replica; empty: it names none
}

// Error says what to do.
func (e *OtherServiceError) Error() string {
	own := fmt.Sprintf("this replica is of service %q", e.Own)
	if e.Own == "" {
		own = "this replica names no service"
	}
	return fmt.Sprintf("namespace %s of the store belongs to service %q, and %s: give another service a namespace of its own, "+
		"or set service: %s if it is the same one; if the service was renamed, run: quorate store init --service NAME", e.Namespace, e.Kept, own, e.Kept)
}

// Unwrap returns ErrOtherService.
func (e *OtherServiceError) Unwrap() error { return ErrOtherService }

// ServiceFinding is what a check says of the service; none if nobody has named it.
func ServiceFinding(kept string) []Finding {
	if kept == "" {
		return nil
	}
	return []Finding{{Topic: "service", Level: "note", Text: fmt.Sprintf("the namespace belongs to service %q; quorate store init --service renames it", kept)}}
}

// Belong checks that the store belongs to the service own, and keeps that name if it has none. An
// empty one is never kept.
func Belong(ctx context.Context, store Owned, namespace, own string) error {
	kept, err := store.Service(ctx, "", false)
	if err == nil && own != "" && (kept == "" || kept == own) { // nodes may lack it
		kept, err = store.Service(ctx, own, false)
	}
	if err == nil && kept != own {
		err = &OtherServiceError{namespace, kept, own}
	}
	return err
}
