package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/quorate/quorate/dev/sim"
	"github.com/quorate/quorate/dev/testkit/nodetest"
	nodes "github.com/quorate/quorate/internal/store/quorum/client"
)

// A machine is the plain Go model of a node's state.
type machine struct {
	*nodetest.Node
	noted nodetest.State
}

func machines(n int, without nodetest.Without) []sim.Machine {
	list := make([]sim.Machine, n)
	for i := range list {
		node := nodetest.New(fmt.Sprintf("node-%dlife0", i))
		node.Without = without
		list[i] = &machine{Node: node, noted: nodetest.Nothing()}
	}
	return list
}

func (m *machine) Note() { m.noted = m.State.Copy() }

func (m *machine) Restart(incarnation string, memory sim.Memory) {
	state := m.State
	switch memory {
	case sim.All:
	case sim.Lasting:
		state = m.Lasting()
	case sim.Older:
		state = m.noted.Copy()
	case sim.Nothing:
		state = nodetest.Nothing()
	}
	m.Node.Restart(incarnation, state)
}

// A transport carries the scripts of one process.
type transport struct{ process *sim.Process }

func (t transport) Eval(ctx context.Context, node string, script *nodes.Script, keys []string, args []any) (any, error) {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = text(a)
	}
	fields, err := t.process.Call(ctx, sim.Request{Node: number(node), Script: script.Name(), Keys: keys, Args: texts})
	if err != nil {
		return nil, wrong(err)
	}
	list := make([]any, len(fields))
	for i, f := range fields {
		list[i] = f
	}
	return list, nil
}

func (t transport) Info(ctx context.Context, node string) (string, error) {
	fields, err := t.process.Call(ctx, sim.Request{Node: number(node), Script: sim.Info})
	if err != nil {
		return "", wrong(err)
	}
	return fields[0], nil
}

// name and number are of the i-th node.
func name(i int) string { return "node-" + strconv.Itoa(i) }

func number(name string) int {
	i, _ := strconv.Atoi(name[len("node-"):])
	return i
}

func text(arg any) string {
	switch a := arg.(type) {
	case string:
		return a
	case []byte:
		return string(a)
	case int:
		return strconv.Itoa(a)
	case int64:
		return strconv.FormatInt(a, 10)
	case uint64:
		return strconv.FormatUint(a, 10)
	}
	return fmt.Sprint(arg)
}

// A serverError is the answer of a script that failed, as go-redis has it.
type serverError struct{ error }

func (serverError) RedisError() {}

func wrong(err error) error {
	if errors.Is(err, nodetest.ErrScript) {
		return serverError{err}
	}
	return err
}
