package traces

// Open returns how many ticks have a span that was not ended.
func (t *Tracer) Open() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}
