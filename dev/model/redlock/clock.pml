/*
 * What the floor and FUTURE buy (N0, N2.1, N3.1) and what the since of OPEN has
 * to be (M2): a Promela model of its own. claim.pml assumes that nothing which a
 * node accepted and forgot lies above its floor, and that a node which forgot a
 * lock abstains for longer than its lease. Here both follow from clocks.
 *
 * A node serves and restarts; it may be sealed, and another be opened then. The
 * clocks of both are small integers, those of replicas may read anything. Ticks
 * and tokens are looked at one at a time, as their tests are alike: with TOKENS
 * it is tokens, which count in units of time too, but from full seconds up.
 *
 * Sizes (-D): HALF a grace, RESTARTS, MAXTIME, TTL of leases (without it they
 * are left out), and BACK: how far a clock may lie below what it had read in a
 * incarnation that the node has forgotten.
 * Behaviour switched on: STEPS (a clock is set back while the node serves),
 * OPENS (seal and open). Checks taken away: the other -D names.
 */
#ifndef HALF
#define HALF 2
#endif
#define GRACE (2 * HALF)
#ifndef BACK
#define BACK HALF
#endif
#ifndef MAXTIME
#define MAXTIME 11
#endif
#ifndef RESTARTS
#define RESTARTS 2
#endif
#define SECOND 2
#define MAX(a, b) ((a) > (b) -> (a) : (b))

byte now = GRACE;        /* the node's clock */
byte since;              /* 0: declared new */
byte top;                /* the largest tick, or token, that it remembers */
bit lock;                /* it remembers that a lease may last */
byte restarts = RESTARTS;
byte sealedat;           /* what its seal says; 0: not sealed */
byte other, opensince;   /* clock and since of the node that is opened; 0: not yet */

byte read = GRACE;       /* the furthest that its clock has been, ... */
byte forgotten;          /* ... in incarnations that it has forgotten */
byte topever;            /* the largest it has accepted in all its incarnations */
byte left;               /* time until the last lease granted has ended */

#ifdef SHORTFLOOR
#define FLOOROF(s) ((s) + GRACE - 1)
#else
#define FLOOROF(s) ((s) + GRACE)
#endif
#ifdef TOKENS
#define CLOSED(s) ((FLOOROF(s) + SECOND - 1) / SECOND * SECOND)
#else
#define CLOSED(s) FLOOROF(s)
#endif
#if defined(NOFUTURE)
#define LARGEST (MAXTIME + HALF)
#elif defined(PLUSASECOND)
#define LARGEST (now + HALF + SECOND)
#else
#define LARGEST (now + HALF)
#endif
#ifdef SERVEEARLY
#define TOOEARLY 0
#else
#define TOOEARLY (now <= FLOOROF(since))
#endif

#ifdef TTL
inline grant() {
  assert(left == 0);                /* the lease before has ended */
  lock = 1; left = TTL
}
#else
inline grant() { skip }
#endif

/* COMMIT for tick t, or with token t. Of those that the node accepts only the
 * smallest and the largest are tried: if any can break a promise, these can. */
inline commit() {
  if
  :: t <= CLOSED(since) || TOOEARLY || t > LARGEST -> skip
  :: lock || t <= top -> skip
  :: else ->
     printf("node, clock %d: accepts %d, closed up to %d\n", now, t, CLOSED(since));
     assert(t > topever);           /* what was accepted once is never accepted again */
     top = t; topever = t;
     grant()
  fi
}

/* What is assumed of the node's clock, after a loss of memory and ever since. */
#define LOWEST (forgotten > BACK -> forgotten - BACK : 0)
#ifdef STEPSFREELY
#define SETBACKTO 0
#else
#define SETBACKTO LOWEST
#endif

/* N0: a since that lies too far ahead is set back. */
inline mind_since() {
  if
  :: since > now + GRACE -> since = now
  :: else
  fi
}

inline restart() {
  restarts--;
  since = now;
#ifdef LASTINCARNATION
  read = now;
#endif
  read = MAX(read, now);
  lock = 0;
  printf("node, clock %d: restarts, closed up to %d, remembers %d\n", now, CLOSED(since), top)
}

/* While the node is down its clock may be set to anything that is trusted. */
inline set_clock() {
  now = LOWEST;
  do
  :: now < MAXTIME -> now++
  :: break
  od
}

#ifdef OWNTIME
#define OPENSINCE other
#else
#define OPENSINCE MAX(other, sealedat)
#endif
#ifdef OPENFAR
#define FARAHEAD (sealedat > other + GRACE)
#else
#define FARAHEAD (sealedat > other + HALF)
#endif

active proctype Cluster() {
  byte t;
end:
  do
  :: atomic { sealedat == 0 ->
       if
       :: t = MAX(top, CLOSED(since)) + 1
       :: t = LARGEST
       fi;
       commit(); t = 0 }
  :: d_step { now < MAXTIME ->
       now++; read = MAX(read, now); left = (left > 0 -> left - 1 : 0) }
  :: d_step { lock && left == 0 -> lock = 0 }
  :: atomic { restarts > 0 && sealedat == 0 -> set_clock(); restart() }
  :: atomic { restarts > 0 && sealedat == 0 -> forgotten = MAX(forgotten, read);
       set_clock(); top = 0; restart() }
#ifdef STEPS
  :: atomic { sealedat == 0 && now > SETBACKTO -> now--;
       do
       :: now > SETBACKTO -> now--
       :: break
       od;
       printf("node, clock %d: was set back\n", now);
       mind_since() }
#endif
#ifdef OPENS
  /* To be left behind by a change is to be forgotten. */
  :: d_step { sealedat == 0 && now + BACK >= read -> sealedat = MAX(now, since); forgotten = MAX(forgotten, read);
       printf("node, clock %d: is sealed\n", now) }
  :: atomic { sealedat > 0 && opensince == 0 ->
       do
       :: other < MAXTIME -> other++
       :: break
       od;
       if
       :: FARAHEAD || other == 0 -> other = 0
       :: else -> opensince = OPENSINCE;
          printf("other node, clock %d: is opened, since %d\n", other, opensince);
          t = other
       fi;
       do                               /* and set back later, as far as is trusted */
       :: other > 0 && other + HALF > t -> other--
       :: break
       od;
       t = 0;
       if
       :: opensince > other + GRACE -> opensince = other
       :: else
       fi;
       assert(opensince == 0 || topever <= CLOSED(opensince)) }
#endif
  od
}
