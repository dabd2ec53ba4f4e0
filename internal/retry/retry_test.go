package retry_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/retry"
)

func TestAfterEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if !retry.Sleep(t.Context(), time.Second) || time.Since(begun) != time.Second {
			t.Errorf("it lasted %v", time.Since(begun))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if retry.Sleep(ctx, time.Minute) || time.Since(begun) != 2*time.Second {
			t.Errorf("with its context it ended after %v", time.Since(begun))
		}
		if retry.Sleep(ctx, 0) || !retry.Sleep(t.Context(), 0) {
			t.Error("without a pause, the context decides")
		}
	})
}

func TestBackgroundRepeatsUntilItSucceeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := retry.NewBackground(300*time.Millisecond, time.Minute)
		begun := time.Now()
		var at []time.Duration
		b.Repeat(func(context.Context) bool {
			at = append(at, time.Since(begun))
			return len(at) < 4
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		want := []time.Duration{300 * time.Millisecond, 900 * time.Millisecond, 1900 * time.Millisecond, 2900 * time.Millisecond}
		if !slices.Equal(at, want) {
			t.Errorf("called at %v, want %v", at, want)
		}
		b.Close()
		b.Repeat(func(context.Context) bool { t.Error("called after Close"); return false })
	})
}

func TestBackgroundGivesUpAtItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := retry.NewBackground(time.Second, 5500*time.Millisecond)
		calls := 0
		b.Repeat(func(context.Context) bool { calls++; return true })
		time.Sleep(time.Hour)
		synctest.Wait()
		if calls != 5 {
			t.Errorf("%d calls within the limit, want 5", calls)
		}
		b.Close()
	})
}

func TestCloseWaitsForACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := retry.NewBackground(time.Second, time.Minute)
		ended := false
		b.Repeat(func(ctx context.Context) bool {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended = true
			return true
		})
		time.Sleep(2 * time.Second)
		if b.Close(); !ended {
			t.Error("Close returned before the call")
		}
	})
}
