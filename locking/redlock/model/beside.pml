/*
 * Attempts of several ticks of a job beside one another (BESIDES). Such an
 * attempt takes a share of the lock instead of the lock: one per tick of a
 * stream. Shares keep out whoever wants the lock, and each other's attempts of
 * the same tick. COMMIT writes its token into the share (its title).
 */
#ifdef BESIDES
#define BESIDE(a) attempt[a].beside
#define ONERUN(a, b) (attempt[a].tick == attempt[b].tick && attempt[a].stream == attempt[b].stream)
/* Attempts a and b may hold leases at one time. */
#define TOGETHER(a, b) (BESIDE(a) && BESIDE(b) && !ONERUN(a, b))
#define SHARES(a) (node[n].shares & BIT(a))
#ifdef NOSHARES
#define RIVAL(a) ((a) != c && SHARES(a) && BESIDE(c) && ONERUN(a, c))
#else
#define RIVAL(a) ((a) != c && SHARES(a) && !TOGETHER(a, c))
#endif
#if C > 2
#define RIVALS (RIVAL(1) || RIVAL(2) || RIVAL(3))
#else
#define RIVALS (RIVAL(1) || RIVAL(2))
#endif
#ifdef TAKEUPLATE
#define LATEST(t) 1
#else
#define LATEST(t) (STORED <= (t))
#endif

inline take_share() { node[n].shares = node[n].shares | BIT(c) }
inline drop_share(a) {
  node[n].shares = node[n].shares & ~BIT(a);
  node[n].title[a] = 0
}
inline lose_shares() {
  note_lost_shares();
  node[n].shares = 0;
  node[n].title[1] = 0;
  node[n].title[2] = 0;
#if C > 2
  node[n].title[3] = 0
#endif
}
#else
#define BESIDE(a) 0
#define RIVALS 0
#define TOGETHER(a, b) 0
inline take_share() { skip }
inline drop_share(a) { skip }
inline lose_shares() { skip }
#endif
