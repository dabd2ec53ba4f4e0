/*
 * The rules of a node (N0, N2 to N10), each one step, as each is one script. They
 * answer in `vote`. n is the node, c the try that asks. A d_step takes the first
 * option of an `if` whose guard holds: the order of options is that of the tests.
 */
mtype:answer = { NO, OK, STALE };
mtype:answer vote;
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define BIT(i) (1 << (i))
#define COUNT(m) (((m)&1) + (((m)>>1)&1) + (((m)>>2)&1) + (((m)>>3)&1) + (((m)>>4)&1))

/* The claim of a stream. Tries are numbered from 1; 0 is nobody. */
typedef Claim {
  byte tick, owner;   /* 0: there is none */
  byte number;        /* attempt number, in rerun mode */
  bit rerun, isdone, isvoid;
};
typedef Node {
  byte fence;         /* largest token accepted; 0: none */
  byte open;          /* try accepted last, until it ends */
  Claim on[STREAMS];
  byte lock;          /* try that has the job's lock */
  byte titled;        /* tries whose lock COMMIT or EXTEND has set, a bit each */
  byte dead;          /* tombstones, a bit per try */
  byte floor, floorfence; /* the node abstains up to this tick; its fence counts as this */
  byte gcfence, gctick;   /* what FORGET leaves: the largest token and tick */
#ifdef BESIDES
  byte ticklocks;     /* tries that have the lock of their tick, a bit each */
  bit marker;         /* blocks tries for the job's lock */
#endif
#ifdef RECORDS
  byte started, finished; /* tries with a record */
#endif
};
Node node[N];

#if defined(NOTOMB) || defined(CORE)
#define DEAD 0
#else
#define DEAD (node[n].dead & BIT(c))
#endif
#ifdef PLAIN
#define ISPLAIN(a) (try[a].stream == STREAMS - 1)
#else
#define ISPLAIN(a) 0
#endif
#ifdef ONERECORD
#define CLAIM node[n].on[0]
#else
#define CLAIM node[n].on[try[c].stream]
#endif

/* N0 */
#define STORED MAX(node[n].fence, node[n].gcfence)
#define FENCE MAX(STORED, node[n].floorfence)
#define ABSTAINS ((try[c].tick <= node[n].floor && !ISPLAIN(c)) || MUTE)

/* N2.2: LATER, DONE, CLAIMED. */
#define SAMETICK (CLAIM.tick == try[c].tick && !ISPLAIN(c))
#if defined(NOSTOREDMODE)
#define EXCLUDES (!CLAIM.isvoid && !try[c].rerun)
#elif defined(VOIDANYMODE)
#define EXCLUDES (!CLAIM.isvoid && !(CLAIM.rerun && try[c].rerun))
#else
#define EXCLUDES (CLAIM.rerun -> !try[c].rerun : !CLAIM.isvoid)
#endif
#ifdef NODONE
#define HELD (SAMETICK && EXCLUDES)
#else
#define HELD (SAMETICK && (CLAIM.isdone || EXCLUDES))
#endif
#if defined(NOGCTICK)
#define FORGOTTEN 0
#elif defined(GCWHOLEJOB)
#define FORGOTTEN (node[n].fence == 0 && try[c].tick <= node[n].gctick)
#else
#define FORGOTTEN (CLAIM.tick == 0 && try[c].tick <= node[n].gctick)
#endif
#ifdef NOTICK
#define CLOSED 0
#else
#define CLOSED ((CLAIM.tick > try[c].tick || HELD || FORGOTTEN) && !ISPLAIN(c))
#endif

/* N3.5 */
#if defined(NONUMBER) || !(defined(RERUN) || defined(MIXED))
#define OLDNUMBER 0
#elif defined(VOIDFREESNUMBER)
#define OLDNUMBER (SAMETICK && !CLAIM.isvoid && try[c].number <= CLAIM.number)
#else
#define OLDNUMBER (SAMETICK && try[c].number <= CLAIM.number)
#endif
#if defined(ACCEPTSTALE)
#define OLDTOKEN 0
#elif defined(ACCEPTEQUAL)
#define OLDTOKEN (try[c].token < FENCE)
#else
#define OLDTOKEN (try[c].token <= (JOINS -> STORED : FENCE))
#endif

/* The lock of a try: the job's, or its tick's if it runs beside others (N9). */
#ifdef BESIDES
#define BESIDE(a) try[a].beside
#define ONERUN(a, b) (try[a].tick == try[b].tick && try[a].stream == try[b].stream)
#define TOGETHER(a, b) (BESIDE(a) && BESIDE(b) && !ONERUN(a, b))
#define HASTICKLOCK(a) (node[n].ticklocks & BIT(a))
#define RIVAL(a) ((a) <= C && (a) != c && HASTICKLOCK(a) && ONERUN(a, c))
#ifdef NOMARKER
#define KEPTOUT (BESIDE(c) && (RIVAL(1) || RIVAL(2)))
#else
#define KEPTOUT (BESIDE(c) -> RIVAL(1) || RIVAL(2) : node[n].marker)
#endif
#define HASLOCK(a) (node[n].lock == (a) || HASTICKLOCK(a))
#define NOLOCKS (node[n].lock == 0 && !node[n].marker)
#else
#define BESIDE(a) 0
#define TOGETHER(a, b) 0
#define KEPTOUT 0
#define HASLOCK(a) (node[n].lock == (a))
#define NOLOCKS (node[n].lock == 0)
#endif
#if defined(CORE) || defined(NOLOST)
#define BUSY 0
#else
#define BUSY ((node[n].lock != 0 && node[n].lock != c) || KEPTOUT)
#endif

#ifdef CORE
#define set_lock() skip
#define set_title() skip
#define unlock(a) skip
#define bury() skip
#else
inline set_lock() {
  check_orphan();
#ifdef BESIDES
  node[n].ticklocks = (BESIDE(c) -> node[n].ticklocks | BIT(c) : node[n].ticklocks);
  node[n].marker = node[n].marker || BESIDE(c);
#endif
  node[n].lock = (BESIDE(c) -> node[n].lock : c)
}
inline set_title() { node[n].titled = node[n].titled | BIT(c) }
inline unlock(a) {
  node[n].titled = node[n].titled & ~BIT(a);
#ifdef BESIDES
  node[n].ticklocks = node[n].ticklocks & ~BIT(a);
#endif
  node[n].lock = (node[n].lock == a -> 0 : node[n].lock)
}
/* Requests of c that are still under way find a tombstone. */
inline bury() { node[n].dead = node[n].dead | BIT(c) }
#endif

/* N2. A lock that is c's already stays as it is. */
inline lock_() {
  if
  :: DEAD || ABSTAINS || CLOSED || BUSY -> vote = NO
  :: else -> set_lock(); vote = OK
  fi
}

/* N3, join: a holder sends its COMMIT to nodes that lack it; the answer is no vote.
 * So a node takes it also while it abstains: what the floor closes stays closed. */
#if defined(JOINASVOTE) || defined(NOJOIN)
#define JOINS 0
#else
#define JOINS (try[c].phase == RUNNING)
#endif
/* N3.4: another try was accepted last and has not ended, and c has not the lock.
 * That holder's lock has only lapsed here, so its lease may live. */
#if defined(CORE) || defined(OVERUNENDED)
#define UNENDED 0
#else
#define UNENDED (node[n].open != 0 && !TOGETHER(node[n].open, c) && !HASLOCK(c) && !JOINS)
#endif

inline commit() {
  if
  :: DEAD || (ABSTAINS && !JOINS) || (node[n].open == c && BUSY) -> vote = NO
  :: node[n].open == c -> set_lock(); set_title(); vote = OK     /* asked again */
#ifdef AGAINLATE
  :: CLAIM.owner == c && !CLAIM.isvoid && !BUSY -> set_lock(); set_title(); vote = OK
#endif
  :: CLOSED || BUSY || UNENDED -> check_hindered(); vote = NO
  :: OLDTOKEN || OLDNUMBER -> note_stale(); vote = STALE
  :: else ->
     check_stale();
     file_predecessor();
     node[n].fence = try[c].token;
     node[n].open = c;
     CLAIM.tick = try[c].tick; CLAIM.owner = c; CLAIM.number = try[c].number; CLAIM.rerun = try[c].rerun;
     CLAIM.isdone = 0; CLAIM.isvoid = 0;
     set_lock(); set_title(); note_accepted();
     vote = OK
  fi
}

/* N4. A lock that LOCK has set is no title: an old one may arrive after another
 * try has run. Also a node that abstains sets the lock of its open claim again. */
#define HASTITLE (HASLOCK(c) && (node[n].titled & BIT(c)))
#ifdef UNTITLED
#define TITLED HASLOCK(c)
#else
#define TITLED HASTITLE
#endif
#if defined(SETANYOWNER)
#define MAYSET 1
#elif defined(SETOWNED)
#define MAYSET (CLAIM.owner == c && !CLAIM.isdone && !CLAIM.isvoid)
#elif defined(SETNOTABSTAINING)
#define MAYSET (node[n].open == c && !ABSTAINS)
#else
#define MAYSET (node[n].open == c)
#endif
inline extend() {
  if
  :: DEAD || (!TITLED && (BUSY || !MAYSET)) -> vote = NO
  :: else -> show_set(); set_lock(); set_title(); vote = OK
  fi
}

inline close_claim() { node[n].open = (node[n].open == c -> 0 : node[n].open); unlock(c) }

/* N5. A claim of v's is done; else a lock with its title shows that it ran (N9). */
#ifdef FINISHANY
#define RAN HASLOCK(c)
#else
#define RAN HASTITLE
#endif
#ifdef DONEANY
#define MAKESDONE (CLAIM.owner == c || RAN)
#else
#define MAKESDONE (CLAIM.owner == c)
#endif
inline finish() {
  vote = (CLAIM.owner == c || (BESIDE(c) && RAN) -> OK : NO);
  CLAIM.isdone = CLAIM.isdone || MAKESDONE;
  check_done(); close_claim(); record_finished()
}
/* N5, with handover: the tick is not done, another rerun may claim it. */
inline hand_over() {
#ifdef HANDDONE
  CLAIM.isdone = CLAIM.isdone || CLAIM.owner == c;
#endif
#ifdef HANDVOIDS
  CLAIM.isvoid = CLAIM.isvoid || CLAIM.owner == c;
#endif
  vote = OK; show_handover(); close_claim(); record_finished()
}

/* N6 */
#ifdef VOIDNOOWNER
#define MAKESVOID (SAMETICK && !CLAIM.isdone)
#else
#define MAKESVOID (CLAIM.owner == c && !CLAIM.isdone)
#endif
inline void_() {
  vote = OK;
#ifdef VOIDDELETES
  if
  :: MAKESVOID -> node[n].fence = 0; lose_record(CLAIM)
  :: else
  fi;
#endif
  CLAIM.isvoid = CLAIM.isvoid || MAKESVOID;
  close_claim(); drop_record()
}

/* N8 */
#if STREAMS > 1
#define LASTTICK MAX(MAX(node[n].on[0].tick, node[n].on[1].tick), node[n].gctick)
#else
#define LASTTICK MAX(node[n].on[0].tick, node[n].gctick)
#endif
inline forget() {
  node[n].gctick = LASTTICK;
#ifndef NOGCFENCE
  node[n].gcfence = STORED;
#endif
  lose_claim()
}

/* N0. The floor lies above all that this node accepted in its former incarnation:
 * clock.pml shows what of clocks that takes. */
inline raise_floor() {
#ifndef VOTEATONCE
  node[n].floor = MAX(LASTTICK, node[n].floor);
#endif
#ifndef NOFLOOR
  node[n].floorfence = FENCE
#endif
}
inline lose_locks() {
  note_lost_locks();
  node[n].lock = 0; node[n].titled = 0;
#ifndef RECORDS            /* what was under way to it does not arrive after a restart */
  node[n].dead = 0;
#endif
#ifdef BESIDES
  node[n].ticklocks = 0; node[n].marker = 0
#endif
}
inline lose_record(r) { r.tick = 0; r.owner = 0; r.number = 0; r.rerun = 0; r.isdone = 0; r.isvoid = 0 }
inline lose_claim() {
  node[n].fence = 0; node[n].open = 0;
  lose_record(node[n].on[0]);
#if STREAMS > 1
  lose_record(node[n].on[1]);
#endif
  lose_records()
}

/* N3.6, N5, N6, N7: a claim says itself that its run began. One that goes over it
 * files it first, unless it is void or has a record of its end. */
#ifdef RECORDS
#ifdef NOMOVE
#define FILES 0
#else
#define FILES (CLAIM.owner != 0 && !CLAIM.isvoid && !(node[n].finished & BIT(CLAIM.owner)))
#endif
inline file_predecessor() { node[n].started = node[n].started | (FILES -> BIT(CLAIM.owner) : 0) }
inline drop_record() {
#ifndef VOIDKEEPSRECORD
  node[n].started = node[n].started & ~BIT(c);
#endif
  note_void()
}
inline record_finished() {
  node[n].finished = node[n].finished | BIT(c); node[n].started = node[n].started & ~BIT(c)
}
inline lose_records() { node[n].started = 0; node[n].finished = 0; lose_notes() }
#else
inline file_predecessor() { skip }
inline drop_record() { skip }
inline record_finished() { skip }
inline lose_records() { skip }
#endif
