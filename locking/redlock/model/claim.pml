/*
 * The claim protocol of locking/redlock as a Promela model for spin: N nodes,
 * C attempts to run ticks of one job. Run it with check.sh; README.md says what
 * is modelled, what is left out and what was found.
 *
 *   claim.pml     sizes, what a node and an attempt keep, and the start
 *   node.pml      the rules of a node, N0 to N6
 *   beside.pml    what changes where attempts of several ticks run beside one another
 *   lease.pml     clocks that run evenly, for the promise on leases
 *   stranger.pml  rounds of extensions beside a client that leaves no fence
 *   attempt.pml   the rules of a replica's attempt, C1 to C4, and the network
 *   promises.pml  what must hold, as assertions
 *   clock.pml     by itself: what the floor and FUTURE buy
 *   members.pml   by itself: changes of the list of nodes
 *
 * Sizes (-D): C attempts, N nodes, TICKS, STREAMS (1 or 2; PLAIN: the last one
 * holds plain locks), PROPOSALS tokens an attempt may try, RESTARTS of nodes
 * (OLDER: also to what they held before), DIRECT (attempts may claim in one round,
 * with one of so many tokens). Modes: RERUN (on_crash: rerun for every attempt) or
 * MIXED=k (for the first k), else every attempt runs at most once.
 * Behaviour switched on: VOIDS, TOMBEXPIRY, EXTENDS, LEASES, FORGETS, JUMPS=k,
 * HANDS (a run may hand its tick over), BESIDES (=1: every attempt runs beside others, =2: any may), FREE, EVICT (an operator's forced release), DELETELOCK (a lock goes by itself),
 * LEAVEOUT (an attempt may take a token that is not above all fences it heard of),
 * STRANGER (a client of another kind takes and frees the lock; it leaves no fence. With C=1).
 * CORE leaves out what can only say no: lock, tombstones and N2.2.
 * Checks taken away: the other -D names, each at the rule it removes.
 *
 * A d_step takes the first option of an `if` whose guard holds, so the order of
 * options in a rule is the order of its tests.
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
#ifndef PROPOSALS
#define PROPOSALS 2
#endif
#ifndef RESTARTS
#define RESTARTS 0
#endif

#ifdef QMINUS1
#define Q (N/2)
#else
#define Q (N/2 + 1)
#endif

#define BIT(i) (1 << (i))
#define COUNT(m) (((m)&1) + (((m)>>1)&1) + (((m)>>2)&1) + (((m)>>3)&1) + (((m)>>4)&1))

/* The claim of a stream. Attempts are numbered from 1; 0 is nobody. */
typedef Claim {
  byte tick;     /* 0: there is none */
  byte token;
  byte owner;
  byte number;   /* its attempt number, in rerun mode */
  bit isdone;
  bit isvoid;
  bit rerun;     /* its mode */
};

/* What a node keeps. */
typedef Node {
  byte lock;     /* attempt that holds the lock */
  byte fence;    /* largest token accepted; 0: there is no claim */
  Claim on[STREAMS];
  byte dead;     /* tombstones, a bit per attempt */
  byte floor;    /* the node abstains for ticks up to this one, ... */
  byte floorfence; /* ... and counts this token as accepted */
  byte gcfence;  /* what FORGET leaves behind: the largest token ... */
  byte gctick;   /* ... and tick forgotten */
#ifdef BESIDES
  byte shares;         /* attempts that have a share of the lock, a bit each */
  byte title[C + 1];   /* the token accepted with the share; 0: none yet */
#endif
};

mtype:phase = { IDLE, ACQUIRING, COMMITTING, RUNNING, GAVEUP };

typedef Attempt {
  mtype:phase phase;
  byte stream;
  byte tick;
  bit rerun;
  byte tries;              /* proposals made */
  byte token[PROPOSALS];
  byte number[PROPOSALS];
  byte heard;              /* nodes whose yes counts in the present round */
  byte fence;              /* largest fence heard */
  byte attempts;           /* largest attempt number heard */
  bit stale;               /* a node answered STALE to the last proposal */
  byte acks;               /* nodes that acknowledged FINISH */
  byte issuedbefore;       /* largest token issued before this attempt began */
  bit finishedbefore;      /* its tick was finished before it began */
  byte renewed;            /* nodes whose renewal counts in the open extension */
  bit extending;
  bit superseded;          /* a larger token was issued before the extension */
  byte basis;              /* LEASES: nodes the lease rests on */
  bit valid;               /* LEASES: own clock has not reached the deadline */
#ifdef STRANGER
  byte kept;               /* nodes that held the lock without a break until this round */
  byte answered;           /* nodes that have answered in this round */
  byte open;               /* nodes that left a request unanswered: it may arrive yet */
#endif
  bit handed;              /* HANDS: it has ended, and hands its tick over */
#ifdef BESIDES
  bit beside;
#endif
};

Node node[N];
#ifdef STRANGER
Attempt attempt[C + 2];    /* the last one stands for the stranger */
#else
Attempt attempt[C + 1];    /* attempt[0] stays unused */
#endif
byte restarts = RESTARTS;

#include "lease.pml"
#include "stranger.pml"
#include "beside.pml"
#include "node.pml"
#include "promises.pml"
#include "attempt.pml"

/* Attempts are alike, so without loss the earlier one has the earlier stream
 * and tick. */
init {
  byte i, j;
  atomic {
    for (i : 1 .. C) {
      attempt[i].tick = 1;
      if
      :: i > 1 -> attempt[i].tick = attempt[i-1].tick; attempt[i].stream = attempt[i-1].stream
      :: else
      fi;
#if STREAMS > 1
      if
      :: attempt[i].stream == 0 -> attempt[i].stream = 1; attempt[i].tick = 1
      :: skip
      fi;
#endif
      do
      :: attempt[i].tick < TICKS -> attempt[i].tick++
      :: break
      od;
#ifdef RERUN
      attempt[i].rerun = 1;
#endif
#ifdef MIXED
      attempt[i].rerun = (i <= MIXED);
#endif
#ifdef BESIDES
      attempt[i].beside = 1;
#if BESIDES > 1
      if
      :: attempt[i].beside = 0
      :: skip
      fi;
#endif
#endif
      attempt[i].phase = IDLE;
      run Replica(i);
      for (j : 0 .. N-1) {
        run Wire(i, j)
      }
    }
    for (j : 0 .. N-1) {
      run Events(j)
    }
    i = 0; j = 0
  }
}
