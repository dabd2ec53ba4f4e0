package locktest

import "github.com/quorate/quorate/locking"

func tokensGrow(b *bench) {
	a, other := b.replica("a"), b.replica("b")
	last := a.acquire(b.tick(0))
	a.release(last)
	next := func(r replica, req locking.Request, end func(locking.Lease)) {
		b.Helper()
		lease := r.acquire(req)
		b.larger(last, lease)
		end(lease)
		last = lease
	}
	for n := 1; n <= 5; n++ {
		next(other, b.tick(n), other.void)
		next(a, b.tick(n), a.release)
	}
	next(other, b.plain(), other.release)
	next(a, b.tick(6), a.release)
}

func tokensGrowAcrossExpiry(b *bench) {
	first := b.replica("a").acquire(b.short(b.tick(1)))
	second := b.replica("b").eventually(b.short(b.tick(2)))
	b.larger(first, second)
	b.larger(second, b.replica("a").eventually(b.tick(3)))
}
