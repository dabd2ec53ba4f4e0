package membership_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// Many concurrent callers get their own answers, also when the node has forgotten the
// scripts.
func TestOwnAnswersAtOnce(t *testing.T) {
	t.Parallel()
	batched := membership.NewScript("batched", `serve() return {'OK', nowtext, key(2), arg(1)}`)
	onEvery(t, func(t *testing.T, b backend) {
		s := b.formatted(t)
		for range 3 {
			b.do(t, "SCRIPT", "FLUSH")
			var wg sync.WaitGroup
			for i := range 300 {
				wg.Go(func() {
					heard := make(chan membership.Reply, 1)
					s.Nodes()[0].Start(t.Context(), &client.Fan{Quorum: s.Quorum()}, batched, client.NewKeys([]string{s.Key("x", fmt.Sprint(i))}), []any{i}, func(r membership.Reply) { heard <- r })
					r := <-heard
					if r.Err != nil || r.Arg(0) != s.Key("x", fmt.Sprint(i)) || r.Int(1) != int64(i) {
						t.Errorf("call %d was answered %q, %v", i, r.Args, r.Err)
					}
				})
			}
			wg.Wait()
		}
	})
}
