/*
 * The claim protocol of locking/redlock as a Promela model for spin: N nodes and
 * C tries to run ticks of one job. check.sh runs it; README.md tells what was found.
 *
 *   claim.pml     tries, the network, and what befalls nodes
 *   node.pml      the rules of a node
 *   promises.pml  what must hold, as assertions
 *   survive.pml   by itself: which faults a lease survives
 *   clock.pml     by itself: what the floor and FUTURE buy
 *   members.pml   by itself: changes of the list of nodes
 *
 * A try has one value, one token and one attempt number, chosen when it begins and
 * free to be anything. So a replica that asks for fences first, one that takes its
 * clock for a token, and one that leaves a fence out are all among the tries. A
 * replica whose try is refused begins another one.
 *
 * Whatever a try has ever sent may reach a node at any later time, any number of
 * times, in any order, or never. A reply is heard at once or is lost: a late reply
 * changes nothing that a late decision does not.
 *
 * Sizes (-D): C tries, N nodes, TICKS, STREAMS (1 or 2; PLAIN: the last one holds
 * plain locks), RESTARTS of nodes (OLDER: also to what they held before).
 * Modes: RERUN (on_crash: rerun for every try) or MIXED=k (for the first k).
 * Behaviour: VOIDS, TOMBEXPIRY, EXTENDS, LEASES (clocks run evenly), FORGETS, HANDS
 * (a run may hand its tick over), BESIDES (=1: every try runs beside others, =2:
 * any may), ORPHANS (is anything left of tries that ended), RECORDS, STALES, EVICT
 * (an operator's forced release), STRANGER (a client that leaves no fence).
 * CORE leaves out what can only say no: locks, tombstones, LOCK, N3.4.
 * Checks taken away: the other -D names, each at the rule it removes.
 */
#ifndef C
#define C 2
#endif
#ifndef N
#define N 3
#endif
#ifndef TICKS
#define TICKS 1
#endif
#ifndef STREAMS
#define STREAMS 1
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif
#ifdef QMINUS1
#define Q (N/2)
#else
#define Q (N/2 + 1)
#endif

mtype:phase = { IDLE, CLAIMING, RUNNING, GAVEUP };
typedef Try {
  mtype:phase phase;
  byte stream, tick, token, number;
  bit rerun, beside;
  bit direct;              /* it begins with COMMIT, else with LOCK */
  byte locked;             /* nodes that have granted it LOCK, a bit each */
  byte heard;              /* ... the claim */
  byte acks;               /* ... FINISH */
  byte renewed;            /* ... the open round of EXTEND */
  byte issuedbefore;       /* largest token issued before it began */
  bit finishedbefore;      /* its tick was finished before it began */
  bit extending;
  bit superseded;          /* a larger token was issued before the round */
  bit valid;               /* LEASES: own clock has not reached the deadline */
  byte basis;              /* LEASES: nodes the lease rests on */
  bit handed;              /* it has ended, and hands its tick over */
};
Try try[C + 1];            /* try[0] stays unused */
byte restarts = RESTARTS;

/* With LEASES a lock lasts as long as the lease that rests on it, as its holder
 * counts from before the first request; and a node that lost such a lock abstains
 * for longer than the lease (grace > ttl). Without, a lock may end at any moment. */
#ifdef LEASES
#define VALID try[c].valid
#define LEASED try[c].valid
#define INTIME(a, n) (try[a].valid && (try[a].phase != RUNNING || (try[a].basis & BIT(n))))
byte lost[N];              /* tries whose lock the restarts of the node lost */
#define LOST(a) ((a) <= C && (lost[n] & BIT(a)) && (INTIME(a, n) || (try[a].renewed & BIT(n))))
#ifdef NOGRACE
#define MUTE 0
#else
#define MUTE (LOST(1) || LOST(2))
#endif
#else
#define VALID 1
#define LEASED 0
#define INTIME(a, n) 0
#define MUTE 0
#endif

#include "node.pml"
#include "promises.pml"

/* A renewal that rests on a lock which has gone does not count. */
#ifdef LEASES
inline note_lost_locks() {
  lost[n] = lost[n] | BIT(node[n].lock);
#ifdef BESIDES
  lost[n] = lost[n] | node[n].ticklocks;
#endif
  for (k : 1 .. C) { try[k].renewed = try[k].renewed & ~BIT(n) }
  k = 0
}
#else
inline note_lost_locks() { skip }
#endif

#ifdef RUNAFTERVOID
#define COUNTING (try[c].phase == CLAIMING || try[c].phase == GAVEUP)
#else
#define COUNTING (try[c].phase == CLAIMING)
#endif
#define ENDED (try[c].phase == RUNNING && !LEASED)
#ifdef VOIDAFTERRUN
#define MAYVOID (try[c].phase == GAVEUP || try[c].phase == RUNNING)
#else
#define MAYVOID (try[c].phase == GAVEUP)
#endif

/* C4: where all that a try sent to a node was answered, nothing is under way to it
 * any more, and it needs no tombstone there. */
#ifdef ORPHANS
byte quiet[N];
#define UNDERWAY (!(quiet[n] & BIT(c)))
inline fall_quiet() { quiet[n] = quiet[n] | BIT(c) }
#else
#define UNDERWAY 1
#endif

/* C1: COMMIT at once, or after a quorum has granted LOCK. Only leases rest on it. */
#if !defined(LEASES) || defined(NOFIRSTROUND)
#define TWOWAYS 0
#else
#define TWOWAYS 1
#endif
#define SENDSCOMMIT (!TWOWAYS || try[c].direct || COUNT(try[c].locked) >= Q)

#ifdef STALEVOTES
#define YES (vote != NO)
#else
#define YES (vote == OK)
#endif
#define COUNT_VOTE(mask, counts) mask = (YES && (counts) -> mask | BIT(n) : mask)

/* C3: a round that has not ended by the deadline is lost. */
inline end_round() { try[c].renewed = 0; try[c].superseded = 0; try[c].extending = 0 }
#ifdef LATEROUND
#define INROUND 1
inline end_at_deadline() { skip }
#else
#define INROUND VALID
#define end_at_deadline() end_round()
#endif
#ifdef LEASES
#define ACKS 0             /* only leases are looked at */
#else
#define ACKS (!FINISHED(c))
#endif
#ifdef RERUN
#define ALLRERUN 1
#else
#define ALLRERUN 0
#endif
#if defined(RERUN) || defined(MIXED)
#define NUMBERED 1
#else
#define NUMBERED 0
#endif
/* What no longer matters is set to 0, so that equal states are seen as equal. */
inline forget_claiming() {
#ifndef RUNAFTERVOID
  try[c].heard = 0;
#endif
  try[c].issuedbefore = 0; try[c].finishedbefore = 0
}

/* Printed when a trace is shown, never during the search. */
mtype = { begins, gives_up, runs, extends, is_extended, hands_over, reaches_deadline, LOCKs, COMMITs, EXTENDs,
  FINISHes, HANDS_OVER, VOIDs, lock_ends, tick_lock_ends, marker_ends, is_released_by_force, stranger_locks,
  tombstones_end, forgets, saves, restarts_empty, restarts_without_locks, restarts_without_claim, restarts_as_saved,
  restarts_with_all };
inline say(what) {
  printf("try %d %e: stream %d, tick %d, rerun %d, token %d, number %d\n", c, what,
    try[c].stream, try[c].tick, try[c].rerun, try[c].token, try[c].number)
}
inline tell(what) {
  printf("try %d %e at node %d: %e; now fence %d, open %d, tick %d, owner %d, void %d, done %d, lock %d\n",
    c, what, n, vote, FENCE, node[n].open, CLAIM.tick, CLAIM.owner, CLAIM.isvoid, CLAIM.isdone, node[n].lock);
  vote = 0
}
#define befall(what) printf("node %d: %e\n", n, what)

/* What passes between try c and node n. */
#define BEGAN (try[c].phase != IDLE && UNDERWAY)
proctype Wire(byte c, n) {
  do
#ifndef CORE
  :: d_step { BEGAN && !try[c].direct -> lock_();
       COUNT_VOTE(try[c].locked, TWOWAYS && try[c].phase == CLAIMING && COUNT(try[c].locked) < Q); tell(LOCKs) }
#endif
  :: d_step { BEGAN && SENDSCOMMIT -> commit(); COUNT_VOTE(try[c].heard, COUNTING); tell(COMMITs) }
  :: d_step { ENDED && !try[c].handed -> bury(); finish(); note_end(); COUNT_VOTE(try[c].acks, ACKS); tell(FINISHes) }
#ifdef HANDS
  :: d_step { ENDED && try[c].handed -> bury(); hand_over(); note_end(); tell(HANDS_OVER) }
#endif
#ifdef VOIDS
  :: d_step { MAYVOID -> bury(); void_(); note_end(); tell(VOIDs) }
#endif
#ifdef ORPHANS
  :: d_step { ENDED && !try[c].handed -> finish(); note_end(); COUNT_VOTE(try[c].acks, ACKS); fall_quiet(); tell(FINISHes) }
#ifdef HANDS
  :: d_step { ENDED && try[c].handed -> hand_over(); note_end(); fall_quiet(); tell(HANDS_OVER) }
#endif
#ifdef VOIDS
  :: d_step { MAYVOID -> void_(); note_end(); fall_quiet(); tell(VOIDs) }
#endif
#endif
#ifdef EXTENDS
  :: d_step { try[c].phase == RUNNING && UNDERWAY -> extend(); COUNT_VOTE(try[c].renewed, try[c].extending); tell(EXTENDs) }
#endif
  od
}

/* Of tries that are alike, without loss the earlier one begins first. */
#define ALIKE (try[c-1].tick == try[c].tick && try[c-1].stream == try[c].stream && try[c-1].rerun == try[c].rerun && try[c-1].beside == try[c].beside)
#define ITSTURN (c == 1 || !ALIKE || try[c-1].phase != IDLE)

proctype Replica(byte c) {
  byte i, owned;
  do
  :: atomic { try[c].phase == IDLE && ITSTURN ->
       note_what_was(); try[c].phase = CLAIMING; try[c].valid = 1; try[c].token = 1; try[c].number = 1;
       do
       :: try[c].token < C -> try[c].token++
       :: break
       od;
       do
       :: NUMBERED && try[c].number < C -> try[c].number++
       :: break
       od;
       do
       :: TWOWAYS && !try[c].direct -> try[c].direct = 1
       :: break
       od;
       say(begins) }
  :: d_step { COUNTING && COUNT(try[c].heard) >= Q && VALID -> say(runs); check_issue();
       try[c].basis = try[c].heard; try[c].phase = RUNNING; forget_claiming() }
#ifdef VOIDS
  :: d_step { try[c].phase == CLAIMING && MAYGIVEUP -> say(gives_up); check_giveup();
       try[c].phase = GAVEUP; try[c].valid = 0; forget_claiming() }
#endif
#ifdef HANDS
  :: d_step { ENDED && !try[c].handed && try[c].acks == 0 && !try[c].extending -> say(hands_over); try[c].handed = 1 }
#endif
#ifdef EXTENDS
  :: d_step { try[c].phase == RUNNING && !try[c].extending && !try[c].handed && VALID ->
       say(extends); note_superseded(); try[c].extending = 1 }
  :: d_step { try[c].extending && COUNT(try[c].renewed) >= Q && INROUND -> say(is_extended); check_extended();
       try[c].valid = 1; try[c].basis = try[c].renewed; end_round() }
#endif
#ifdef LEASES
  :: d_step { try[c].valid -> say(reaches_deadline); try[c].valid = 0; try[c].basis = 0; end_at_deadline() }
#endif
  od
}

inline end_lock(a) { unlock(a); try[a].renewed = try[a].renewed & ~BIT(n) }
/* An older state of a node, all but its floor. */
#ifdef OLDER
Node kept[N];
inline copy(to, from) {
  to.fence = from.fence; to.open = from.open; to.lock = from.lock; to.titled = from.titled;
  to.dead = from.dead; to.gcfence = from.gcfence; to.gctick = from.gctick;
  to.on[0].tick = from.on[0].tick; to.on[0].owner = from.on[0].owner; to.on[0].number = from.on[0].number;
  to.on[0].rerun = from.on[0].rerun; to.on[0].isdone = from.on[0].isdone; to.on[0].isvoid = from.on[0].isvoid
}
#endif

/* What befalls node n by itself, or by an operator's hand. */
proctype Events(byte n) {
  byte k;
  do
  :: (0)
#ifndef CORE
  :: d_step { node[n].lock != 0 && !INTIME(node[n].lock, n) -> befall(lock_ends); k = node[n].lock; end_lock(k); k = 0 }
#endif
#ifdef BESIDES
  :: d_step { HASTICKLOCK(1) && !INTIME(1, n) -> befall(tick_lock_ends); end_lock(1) }
  :: d_step { HASTICKLOCK(2) && !INTIME(2, n) -> befall(tick_lock_ends); end_lock(2) }
  :: d_step { node[n].marker && node[n].ticklocks == 0 -> befall(marker_ends); node[n].marker = 0 }
#endif
#ifdef STRANGER
  :: d_step { node[n].lock == 0 -> befall(stranger_locks); node[n].lock = C; check_stranger() }
#endif
#ifdef EVICT
  :: d_step { node[n].lock != 0 -> befall(is_released_by_force); k = node[n].lock;
       node[n].dead = node[n].dead | BIT(k); end_lock(k); k = 0 }
#endif
#ifdef TOMBEXPIRY
  :: d_step { node[n].dead != 0 -> befall(tombstones_end); node[n].dead = 0 }
#endif
#ifdef FORGETS
  :: d_step { node[n].fence != 0 && NOLOCKS -> befall(forgets); forget() }
#endif
#if RESTARTS > 0
  :: d_step { restarts > 0 -> befall(restarts_empty); restarts--;
       raise_floor(); lose_locks(); lose_claim(); node[n].gcfence = 0; node[n].gctick = 0 }
  :: d_step { restarts > 0 -> befall(restarts_without_locks); restarts--; raise_floor(); lose_locks() }
  :: d_step { restarts > 0 -> befall(restarts_with_all); restarts--; raise_floor() }
#endif
#ifdef OLDER
  :: d_step { restarts > 0 -> befall(saves); copy(kept[n], node[n]) }
  :: d_step { restarts > 0 -> befall(restarts_as_saved); restarts--;
       raise_floor(); note_lost_locks(); copy(node[n], kept[n]) }
  :: d_step { restarts > 0 -> befall(restarts_without_claim); restarts--;
       raise_floor(); lose_claim(); node[n].gcfence = 0; node[n].gctick = 0 }
#endif
  od
}

/* Tries are alike, so without loss the earlier one has the earlier stream and tick. */
#ifdef STRANGER
#define TRIES (C - 1)      /* the last one stands for the stranger */
#else
#define TRIES C
#endif
#ifndef MIXED
#define MIXED 0
#endif
#ifndef BESIDES
#define BESIDES 0
#endif
init {
  byte i, j;
  atomic {
    for (i : 1 .. TRIES) {
      try[i].tick = (i > 1 -> try[i-1].tick : 1); try[i].stream = try[i-1].stream;
      do
      :: try[i].stream < STREAMS - 1 -> try[i].stream++; try[i].tick = 1
      :: break
      od;
      do
      :: try[i].tick < TICKS -> try[i].tick++
      :: break
      od;
      do
      :: BESIDES == 2 && !try[i].beside -> try[i].beside = 1
      :: break
      od;
      try[i].beside = try[i].beside || BESIDES == 1;
      try[i].rerun = (ALLRERUN || i <= MIXED);
      try[i].phase = IDLE;
      run Replica(i);
      for (j : 0 .. N-1) { run Wire(i, j) }
    }
    for (j : 0 .. N-1) { run Events(j) }
    i = 0; j = 0
  }
}
