package ledger

import (
	"context"
	"slices"

	"github.com/quorate/quorate/scheduler/ledger"
)

// skimJobs bounds the jobs of a call; pageRows bounds its entries.
const skimJobs = 250

// Skim implements [ledger.Skimmer].
func (l *Ledger) Skim(ctx context.Context, stretches []ledger.Stretch, perTick bool) ([]ledger.Skimmed, error) {
	skimmed := make([]ledger.Skimmed, 0, len(stretches))
	for len(skimmed) < len(stretches) {
		pages, err := l.pages(ctx, portion(stretches[len(skimmed):]))
		if err != nil {
			return nil, err
		}
		for _, p := range pages {
			if perTick {
				p.entries = ledger.OnePerTick(p.entries)
			}
			skimmed = append(skimmed, ledger.Skimmed{Entries: p.entries, Rest: p.rest, Trimmed: p.trimmed})
		}
	}
	return skimmed, nil
}

// Search implements [ledger.Skimmer].
func (l *Ledger) Search(ctx context.Context, stretches []ledger.Stretch) ([]ledger.Skimmed, error) {
	ask := slices.Clone(stretches)
	for i := range ask {
		ask[i].Limit *= ledger.LookedAt
	}
	found, err := l.Skim(ctx, ask, true)
	for i := range found {
		found[i] = found[i].Searched(stretches[i].Limit)
	}
	return found, err
}

// portion returns the spans of as many stretches as one call reads, at least one.
func portion(stretches []ledger.Stretch) []span {
	var spans []span
	rows := 0
	for _, s := range stretches {
		if rows += s.Limit + 1; len(spans) > 0 && (len(spans) == skimJobs || rows > pageRows) {
			break
		}
		spans = append(spans, span{job: s.Job, latest: s.NotAfter, since: s.Since, most: s.Limit})
	}
	return spans
}
