/*
 * One node whose place another server may take (N0, C9): a primary and standbys that
 * copy it, as behind Sentinel, in a Redis Cluster, or at a provider. One node is a
 * quorum (Q = 1), and whichever primary a request reaches answers for it.
 *
 * Any server may become a primary at any time, also beside one that lives on. Any
 * primary may become a standby at any time. A standby copies any primary now and
 * then, so its copy may be old. By copying it acknowledges what that primary has
 * answered. The primary may not learn that a standby has left: the acknowledgement
 * still counts, until the primary itself becomes a standby.
 *
 * A request of a try may reach any primary at any time, any number of times. Ticks
 * and tokens are one number here, as their tests are alike (clock.pml). Time passes
 * evenly; each clock is ahead by an amount of its own. A lock ends by the clock of
 * the server that holds the copy.
 *
 * LOCK, VOID and FINISH are left out. A request of a try that already runs only makes
 * a server say no, so it is left out, except EXTEND.
 *
 * Sizes (-D): S servers, C tries, COPIES that must acknowledge, SKEW between clocks,
 * HALF a grace, MAXTIME, EMPTIED (how often a server may lose its memory), TTL. With
 * TTL only leases are looked at; without it only ticks and tokens.
 * Assumptions: SILENT (never two primaries), NOTICES (a primary learns at once that a
 * standby has left), LAG (how long a primary accepts requests beside a newer one).
 * Checks taken away: NOGRACE, RUNIDONLY, EXTENDNOCOPIES, and smaller COPIES.
 */
#ifndef S
#define S 2
#endif
#ifndef C
#define C 2
#endif
#ifndef COPIES
#define COPIES (S - 1)
#endif
#ifndef SKEW
#define SKEW 0
#endif
#ifndef HALF
#define HALF 1
#endif
#define GRACE (2 * HALF)
#ifndef MAXTIME
#define MAXTIME (2 * GRACE + SKEW + 2)
#endif
#ifndef EMPTIED
#define EMPTIED 0
#endif
#define BIT(i) (1 << (i))
#define COUNT(m) (((m)&1) + (((m)>>1)&1) + (((m)>>2)&1))
#define MAX(a, b) ((a) > (b) -> (a) : (b))

typedef Server {
  byte incarnation;               /* the server, from 1, whose incarnation is stored; 0: none of these */
  byte since;
  byte top, open;          /* the largest tick accepted, and its try */
#ifdef TTL
  byte lock, until;        /* the try that has the lock, and when it ends */
#endif
};
Server server[S];
byte ahead[S];             /* its clock reads `now` and this */
byte primaries = 1;        /* a bit each */
byte now = GRACE + 1;
byte emptied = EMPTIED;

mtype:phase = { IDLE, CLAIMING, RUNNING };
typedef Try {
  mtype:phase phase;
  byte tick;               /* its token as well; 0: not yet chosen */
  byte issuedbefore;       /* the largest issued before it began */
  byte at, acks;           /* primary that answered OK, from 1; who has acknowledged it */
#ifdef TTL
  byte left;               /* time until its lease ends */
  byte round;              /* ... if the open round of EXTEND counts; 0: none is open */
#endif
};
Try try[C + 1];            /* try[0] stays unused */

#define ISPRIMARY(s) (primaries & BIT(s))
#define CLOCK (now + ahead[s])
#define MINE (server[s].open == c)

/* N0. A primary has a new replication id, so no record that it finds is of its incarnation. */
#ifdef RUNIDONLY
inline begin_incarnation() { skip }
inline copy_incarnation() { server[s].incarnation = server[p].incarnation; server[s].since = server[p].since }
#else
inline begin_incarnation() { server[s].incarnation = 0; server[s].since = 0 }
inline copy_incarnation() { skip }
#endif
#define KNOWSINCARNATION (server[s].incarnation == s + 1)
#ifdef NOGRACE
inline note_incarnation() { server[s].incarnation = s + 1 }
#define FLOOR GRACE
#else
inline note_incarnation() { server[s].incarnation = s + 1; server[s].since = CLOCK }
#define FLOOR (server[s].since + GRACE)
#endif

/* N3 and, for EXTEND, N4 and the join of C3. */
#ifdef TTL
#define FREE (server[s].lock == 0 || server[s].lock == c || CLOCK >= server[s].until)
#define SMALLEST (server[s].top + 1)
#define LARGEST C
#define INRANGE 1
#define INTIME (try[c].left > 0)
inline set_lock() { server[s].lock = c; server[s].until = CLOCK + TTL }
#else
#define FREE 1
#define SMALLEST (MAX(FLOOR, server[s].top) + 1)
#define LARGEST (CLOCK + HALF)
#define INRANGE (try[c].tick > FLOOR && try[c].tick <= LARGEST)
#define INTIME 1
inline set_lock() { skip }
#endif
#ifdef AGAINATONCE         /* "OK again" before the test of the floor */
#define AGAIN 1
#else
#define AGAIN (CLOCK > FLOOR && INRANGE)
#endif
inline accept() { server[s].top = try[c].tick; server[s].open = c; set_lock() }

/* As with min-replicas-to-write: a primary stops some time after the standbys left. */
#ifdef LAG
byte stops[S];             /* counted down to 1; 0: it does not stop */
#define ANSWERS (ISPRIMARY(s) && KNOWSINCARNATION && stops[s] != 1)
inline note_promotion() {
  for (k : 0 .. S-1) { stops[k] = (ISPRIMARY(k) && stops[k] == 0 -> LAG + 2 : stops[k]) }
  stops[s] = 0; k = 0
}
inline pass_lag() {
  for (i : 0 .. S-1) { stops[i] = (stops[i] > 1 -> stops[i] - 1 : stops[i]) }
  i = 0
}
#else
#define ANSWERS (ISPRIMARY(s) && KNOWSINCARNATION)
inline note_promotion() { skip }
inline pass_lag() { skip }
#endif

/* C9. Only one answer is awaited at a time: a new one may replace it, or be lost. */
inline await_copies() {
  if
  :: try[c].at = s + 1; try[c].acks = 0
  :: true
  fi
}
#define COPIED (try[c].at != 0 && COUNT(try[c].acks) >= COPIES)
#ifdef EXTENDNOCOPIES
#define EXTENDED (try[c].at != 0)
#else
#define EXTENDED COPIED
#endif
inline drop_answer(i) { try[i].at = 0; try[i].acks = 0 }
/* Server s is no primary any more, or not the one that answered. */
inline lose_answers() {
  for (k : 1 .. C) {
    if
    :: try[k].at == s + 1 && COUNT(try[k].acks) < COPIES -> drop_answer(k)
    :: else
    fi
  }
  k = 0
}
#ifdef NOTICES
inline leave_others(p) {
  for (k : 1 .. C) { try[k].acks = (try[k].at == p + 1 -> try[k].acks : try[k].acks & ~BIT(s)) }
  k = 0
}
#else
inline leave_others(p) { skip }
#endif

/* Printed when a trace is shown, never during the search. */
mtype = { begins, runs, is_extended, COMMIT, EXTEND, copies, is_promoted, is_demoted, is_emptied };
inline say(what) { printf("try %d %e: tick %d\n", c, what, try[c].tick) }
inline tell(what) {
  printf("server %d, clock %d: %e; since %d, tick %d of try %d, primaries %d\n",
    s, CLOCK, what, server[s].since, server[s].top, server[s].open, primaries)
}

/* What passes between try c and server s. */
proctype Wire(byte c, s) {
  do
  :: atomic { try[c].phase == CLAIMING && ANSWERS && MINE && FREE && AGAIN -> set_lock(); await_copies(); tell(COMMIT) }
  :: atomic { try[c].phase == CLAIMING && ANSWERS && !MINE && FREE && CLOCK > FLOOR &&
         (try[c].tick == 0 -> SMALLEST <= LARGEST : INRANGE && try[c].tick > server[s].top) ->
       if
       :: try[c].tick == 0 ->
          try[c].tick = SMALLEST;
          do
          :: try[c].tick < LARGEST -> try[c].tick++
          :: break
          od
       :: else
       fi;
       accept(); await_copies(); tell(COMMIT) }
#ifdef TTL
  :: atomic { try[c].round > 0 && ANSWERS && FREE && (MINE || try[c].tick > server[s].top) ->
       accept(); await_copies(); tell(EXTEND) }
#endif
  od
}

/* Server s copies server p. */
proctype Stream(byte s, p) {
  byte k;
  do
  :: d_step { !ISPRIMARY(s) && ISPRIMARY(p) ->
       copy_incarnation(); server[s].top = server[p].top; server[s].open = server[p].open;
#ifdef TTL
       server[s].lock = server[p].lock; server[s].until = server[p].until;
#endif
       leave_others(p);
       for (k : 1 .. C) { try[k].acks = (try[k].at == p + 1 -> try[k].acks | BIT(s) : try[k].acks) }
       k = 0; tell(copies) }
  od
}

#ifdef SILENT
#define MAYSTART (primaries == 0)
#else
#define MAYSTART (!ISPRIMARY(s))
#endif

/* What befalls server s. */
proctype Events(byte s) {
  byte k;
  do
  :: d_step { MAYSTART -> note_promotion(); primaries = primaries | BIT(s); leave_others(s); tell(is_promoted) }
  :: d_step { ISPRIMARY(s) && !KNOWSINCARNATION -> note_incarnation() }
  :: d_step { ISPRIMARY(s) -> primaries = primaries & ~BIT(s); begin_incarnation(); lose_answers(); tell(is_demoted) }
#if EMPTIED > 0
  :: d_step { emptied > 0 -> emptied--; begin_incarnation(); lose_answers(); leave_others(s);
       server[s].incarnation = 0; server[s].since = 0; server[s].top = 0; server[s].open = 0;
#ifdef TTL
       server[s].lock = 0; server[s].until = 0;
#endif
       tell(is_emptied) }
#endif
  od
}

#define ISSUED(i) (i != c && try[i].phase == RUNNING)
inline check_issue() {
  for (i : 1 .. C) {
    if
    :: ISSUED(i) ->
#ifdef TTL
       assert(try[i].left == 0)                 /* lease */
#else
       assert(try[i].tick != try[c].tick)       /* once */
#endif
    :: else
    fi
  }
  i = 0;
  assert(try[c].tick > try[c].issuedbefore);    /* order */
#ifdef SHOWFAILOVER
  assert(c == 1 || primaries != 2);
#endif
  skip
}
/* Tries are alike, so without loss the earlier one begins first. */
#define ITSTURN (c == 1 || try[c-1].phase != IDLE)

proctype Replica(byte c) {
  byte i;
  do
  :: d_step { try[c].phase == IDLE && ITSTURN ->
#ifdef TTL
       try[c].left = TTL;
#else
       for (i : 1 .. C) {
         try[c].issuedbefore = (ISSUED(i) -> MAX(try[c].issuedbefore, try[i].tick) : try[c].issuedbefore)
       }
       i = 0;
#endif
       try[c].phase = CLAIMING; say(begins) }
  :: d_step { try[c].phase == CLAIMING && COPIED && INTIME -> say(runs);
       check_issue(); try[c].issuedbefore = 0; drop_answer(c); try[c].phase = RUNNING }
#ifdef TTL
  :: d_step { try[c].phase == RUNNING && INTIME && try[c].round == 0 -> try[c].round = TTL }
  :: d_step { try[c].phase == RUNNING && INTIME && EXTENDED -> say(is_extended);
       try[c].left = try[c].round; try[c].round = 0; drop_answer(c) }
#endif
  od
}

/* What has ended is set to 0, so that equal states are seen as equal. */
proctype Time() {
  byte i;
  do
  :: d_step { now < MAXTIME -> now++; pass_lag();
#ifdef TTL
       for (i : 1 .. C) {
         try[i].left = (try[i].left > 0 -> try[i].left - 1 : 0);
         try[i].round = (try[i].left > 0 && try[i].round > 0 -> try[i].round - 1 : 0);
         if
         :: try[i].left == 0 -> drop_answer(i)
         :: else
         fi
       }
       for (i : 0 .. S-1) {
         if
         :: server[i].until <= now -> server[i].lock = 0; server[i].until = 0
         :: else
         fi
       }
       i = 0
#endif
     }
  od
}

init {
  byte i, j;
  atomic {
    for (i : 0 .. S-1) {
      do
      :: ahead[i] < SKEW -> ahead[i]++
      :: break
      od
    }
    if                     /* only how far they are apart matters */
    :: ahead[0] = 0
    :: ahead[S-1] = 0
    fi;
    server[0].incarnation = 1;    /* declared new */
    for (j : 1 .. C) { try[j].phase = IDLE; run Replica(j) }
    for (i : 0 .. S-1) {
      run Events(i);
      for (j : 1 .. C) { run Wire(j, i) }
      for (j : 0 .. S-1) {
        if
        :: i != j -> run Stream(i, j)
        :: else
        fi
      }
    }
    run Time();
    i = 0; j = 0
  }
}
