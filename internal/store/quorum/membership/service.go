package membership

import (
	"cmp"
	"context"
	"slices"
)

// Service returns the name of the service that the namespace belongs to; "" if it was never
// named. A name is kept by nodes that have none, with replace by all that answer. The error
// matches locking.ErrNoQuorum when too few do.
func (s *Set) Service(ctx context.Context, name string, replace bool) (string, error) {
	instead := 0
	if replace {
		instead = 1
	}
	replies, err := s.Answers("reading whose namespace it is", s.Call(ctx, s.rules.service, nil, name, instead))
	if err != nil {
		return "", err
	}
	return serviceOf(replies), nil
}

// serviceOf is the name that most nodes have. Of two that were kept at the same time by as many
// nodes, all replicas take that of the first node.
func serviceOf(replies []Reply) string {
	count := map[string]int{}
	var names []string
	for _, r := range replies {
		if name := r.Arg(0); name != "" {
			names = append(names, name)
			count[name]++
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	return cmp.Or(append(names, "")...)
}
