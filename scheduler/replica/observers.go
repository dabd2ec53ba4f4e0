package replica

import "github.com/quorate/quorate/scheduler"

// observers tells several observers what happens, in order. Some may be nil.
func observers(list ...scheduler.Observer) scheduler.Observer {
	return func(e scheduler.Event) {
		for _, observe := range list {
			if observe != nil {
				observe(e)
			}
		}
	}
}
