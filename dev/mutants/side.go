package main

import "sync"

// sideBySide has work done on each item, in as many copies of the module as there
// are, and tells of the outcomes in the order of the list, each as soon as those
// before it were told of. It stops with the first error of tell: what is under way
// then ends, and is not told of.
func sideBySide[T, R any](dirs []string, list []T, work func(dir string, item T) R, tell func(T, R) error) error {
	done := make([]chan R, len(list))
	next := make(chan int, len(list))
	for i := range list {
		done[i] = make(chan R, 1)
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, dir := range dirs {
		wg.Go(func() {
			for i := range next {
				done[i] <- work(dir, list[i])
			}
		})
	}
	for i, item := range list {
		if err := tell(item, <-done[i]); err != nil {
			for range next { // no worker begins the rest
			}
			return err
		}
	}
	return nil
}
