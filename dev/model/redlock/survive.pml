/*
 * Which faults a lease survives, as a Promela model of its own over the rules of
 * node.pml: a holder whose claim a quorum has granted, and two rivals for a later
 * tick. Nodes go away one at a time, each for longer than a ttl, so that its locks
 * lapse; it comes back as it was, or restarted, and abstains then. The next one goes
 * only after a whole round of EXTEND. Each round must be granted by a quorum.
 *
 * One rival sends COMMIT at once, as the first in rank does. The other one waits
 * behind the lease: it begins (LOCK, then COMMIT) when LOOK finds a quorum free.
 *
 * Sizes (-D): N nodes; AWAY: those that are down when the claim is made, a bit each;
 * then DIES nodes die for good, and the rival that claims at once comes only with
 * CLAIMATONCE. Checks taken away: NOJOIN, SETNOTABSTAINING, OVERUNENDED, NOLOOK.
 */
#define C 4
#define STREAMS 1
#ifndef N
#define N 3
#endif
#ifndef AWAY
#define AWAY 0
#define CLAIMATONCE
#endif
#ifndef DIES
#define DIES 0
#endif
#define Q (N/2 + 1)
#define ALL ((1 << N) - 1)
#define PREDECESSOR 1    /* its end has not reached the nodes that are down */
#define HOLDER 2
#define FIRST 3
#define WAITING 4

mtype:phase = { CLAIMING, RUNNING };
typedef Try {
  mtype:phase phase;
  byte stream, tick, token, number;
  bit rerun;
};
Try try[C + 1];
#define MUTE 0

#include "node.pml"
inline note_lost_locks() { skip }
inline check_orphan() { skip }
inline check_hindered() { skip }
inline check_done() { skip }
inline check_stale() { skip }
inline note_stale() { skip }
inline note_accepted() { skip }
inline show_set() { skip }

byte down = AWAY;      /* nodes that do not answer */
byte dead;             /* nodes that never will */
byte deaths = DIES;
byte has = ALL & ~AWAY; /* nodes that are known to have the claim */
byte asked, renewed;   /* in the open round */
bit rested;            /* a whole round since the last node came back */
byte granted;          /* LOCKs of the rival that waits */
bit lookedfree;              /* what its LOOK said */
byte at;               /* bit of the node at hand */

inline leave() {
  down = down | BIT(n); rested = 0; lose_locks();
  asked = asked & ~BIT(n); renewed = renewed & ~BIT(n);
  c = HOLDER
}
#define UP(n) (!(down & BIT(n)))
#ifdef NOLOOK
#define ISFREE 1
#else
#define ISFREE lookedfree
#endif
mtype = { goes_away, comes_back, restarts, dies, is_asked, LOCKs, COMMITs, lock_ends, VOIDs };
inline tell(what) {
  printf("node %d: try %d %e, %e; open %d, lock %d, fence %d; down %d, renewed %d\n",
    n, c, what, vote, node[n].open, node[n].lock, node[n].fence, down, renewed);
  vote = 0
}

inline ask() {
  c = HOLDER;
#ifndef NOJOIN
  if
  :: !(has & BIT(n)) ->
     commit();
     if
     :: vote == OK -> has = has | BIT(n)
     :: else
     fi
  :: else
  fi;
#endif
  extend();
  asked = asked | BIT(n);
  renewed = (vote == OK -> renewed | BIT(n) : renewed);
  tell(is_asked)
}

inline look() {
  c = WAITING; at = 0;
  for (n : 0 .. N-1) {
    at = at + (UP(n) && !ABSTAINS && !CLOSED && !BUSY)
  }
  lookedfree = (at >= Q); at = 0; n = 0
}

proctype World(byte n) {
  byte c;
  do
  :: d_step { UP(n) && !(asked & BIT(n)) -> ask() }
  :: d_step { asked == (ALL & ~down) && n == 0 ->
       assert(COUNT(renewed) >= Q);                  /* survives */
       rested = (down == dead && asked == (ALL & ~dead)); asked = 0; renewed = 0 }
  :: d_step { down == dead && rested && UP(n) ->
       leave(); tell(goes_away) }
  :: d_step { down == dead && rested && UP(n) && deaths > 0 ->
       leave(); dead = dead | BIT(n); deaths--; tell(dies) }
  :: d_step { (down & BIT(n)) && !(dead & BIT(n)) -> down = down & ~BIT(n); c = HOLDER; tell(comes_back) }
  :: d_step { (down & BIT(n)) && !(dead & BIT(n)) ->
       down = down & ~BIT(n); node[n].floor = 3; node[n].floorfence = C + 1; c = HOLDER; tell(restarts) }
  :: d_step { UP(n) && node[n].lock > HOLDER -> c = node[n].lock; tell(lock_ends); unlock(c); c = 0 }
#ifdef CLAIMATONCE
  :: d_step { UP(n) -> c = FIRST; commit(); tell(COMMITs) }
  :: d_step { UP(n) -> c = FIRST; void_(); tell(VOIDs) }
#endif
  :: d_step { n == 0 -> look() }
  :: d_step { UP(n) && ISFREE -> c = WAITING; lock_(); granted = (vote == OK -> granted | BIT(n) : granted); tell(LOCKs) }
  :: d_step { UP(n) && COUNT(granted) >= Q -> c = WAITING; commit(); tell(COMMITs) }
  od
}

init {
  byte n, c;
  atomic {
    for (c : 1 .. C) {
      try[c].tick = (c <= HOLDER -> c : 3); try[c].token = c; try[c].phase = (c == HOLDER -> RUNNING : CLAIMING)
    }
    c = HOLDER;
    for (n : 0 .. N-1) {
      if
      :: !(AWAY & BIT(n)) -> commit()
      :: else -> c = PREDECESSOR; commit();
         if
         :: close_claim()
         :: unlock(c)
         fi;
         c = HOLDER
      fi;
      run World(n)
    }
    vote = 0; c = 0; n = 0
  }
}
