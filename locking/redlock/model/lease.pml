/* With LEASES clocks run evenly: a lock in use for a lease ends only after the
 * lease, as its holder's deadline is counted from before the request that set
 * the lock; and a node that lost such a lock abstains for longer than the lease
 * (grace > ttl). Without LEASES a lock may end at any moment. */
#ifdef LEASES
#define INTIME(a, n) (attempt[a].valid && (attempt[a].phase != RUNNING || (attempt[a].basis & BIT(n))))
/* A node that forgot the lock stays mute also for a renewal that was heard and
 * may become part of the lease yet: it came from before the restart as well. */
#define MAYCOUNT(a, n) (INTIME(a, n) || (attempt[a].renewed & BIT(n)))
#define INUSE INTIME(node[n].lock, n)
#ifdef NOGRACE
#define MUTE 0
#else
#ifdef BESIDES
byte mutes[N];             /* the same for shares, a bit per attempt */
#define LOST(a) ((mutes[n] & BIT(a)) && MAYCOUNT(a, n))
#if C > 2
#define LOSTSHARE (LOST(1) || LOST(2) || LOST(3))
#else
#define LOSTSHARE (LOST(1) || LOST(2))
#endif
#else
#define LOSTSHARE 0
#endif
#define MUTE ((mute[n] != 0 && MAYCOUNT(mute[n], n)) || LOSTSHARE)
#endif
byte mute[N];              /* attempt whose lock the restart of the node lost */
inline begin_lease() { attempt[c].valid = 1 }
inline rest_on(nodes) { attempt[c].basis = nodes }
inline note_lost_lock() { mute[n] = (node[n].lock != 0 -> node[n].lock : mute[n]) }
#if defined(BESIDES) && !defined(NOGRACE)
inline note_lost_shares() { mutes[n] = mutes[n] | node[n].shares }
#else
inline note_lost_shares() { skip }
#endif
inline drop_renewal() {
  attempt[node[n].lock].renewed = attempt[node[n].lock].renewed & ~BIT(n);
  drop_kept()
}
#else
#define INUSE 0
#define INTIME(a, n) 0
#define MUTE 0
inline begin_lease() { skip }
inline rest_on(nodes) { skip }
inline note_lost_lock() { skip }
inline drop_renewal() { skip }
inline note_lost_shares() { skip }
#endif
