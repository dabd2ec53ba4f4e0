/*
 * Claims on one consistent store, as a Promela model for spin. check.sh runs it; README.md
 * says what was found.
 *
 * C tries want ticks of one job. A try reads the records, decides, and sends one
 * transaction that names the versions and the incarnation it has read. The transaction reaches
 * the store at any later time, once, or never; its reply is heard or lost. Extensions,
 * ends and transactions with effects go the same way.
 *
 * The store may be copied at any time. INCARNATIONS=2: later the copy takes the store's place, in
 * another incarnation, and what was committed since is lost.
 *
 * Sizes (-D): C, TICKS that a try may want in each incarnation.
 * Behaviour: RERUN (an open claim without a lease is claimed again), FORGETS, EXTENDS (while the
 * store has given fewer versions than this),
 * FINISHES (effects and end commit together), EVICTS (an operator ends leases), JOINS (a holder
 * whose claim another incarnation has forgotten adds it again), OLDALIVE (the old server goes on),
 * OBSERVES (the store has no clock: a lease is free for a try that has seen one version of it
 * for longer than a lease lasts),
 * BESIDES (runs of ticks may overlap. 1: every try takes the lock of its tick; 2: any try does,
 * the others take the job's), PRUNES (such a try may read leases of other ticks, and drop those
 * that have expired).
 * Checks taken away: the other names, each at the rule it removes.
 */
#ifndef C
#define C 2
#endif
#ifndef TICKS
#define TICKS 1
#endif
#ifndef INCARNATIONS
#define INCARNATIONS 1
#endif
#ifndef LATERTICKS
#define LATERTICKS TICKS
#endif
#define FLOOR 5                      /* in incarnation 2, tokens begin above */

#define NONE 0
#define OPEN 1
#define DONE 2
#define VOIDED 3

/* The job's lease has the key 0, that of a tick the key of its tick. */
#if INCARNATIONS == 1
#define LASTTICK TICKS
#else
#define LASTTICK (TICKS + LATERTICKS)
#endif
#ifdef BESIDES
#define LASTKEY LASTTICK
#define BESIDE(a) try[a].beside
#else
#define LASTKEY 0
#define BESIDE(a) 0
#endif
#define KEY(a) (BESIDE(a) -> try[a].tick : 0)
#define UNREAD 255

typedef Lease {
  byte ver, owner, round             /* ver 0: there is none */
};
typedef Sighting {
  byte ver, incarnation, owner, round;      /* of the lease when it was first seen as it is */
  bit aged                           /* that was a ttl and the drift ago */
};
typedef Server {
  byte seq;                          /* the last version that was given */
  byte cver, owner, tick, token, state, fence;  /* the latest claim, in the claims record; cver 0: there is none */
  byte earlier[LASTKEY + 1];         /* in the claims record, by tick: owners of open claims with a successor */
  Lease lease[LASTKEY + 1];          /* the lease records */
  byte gver, gtick, gfence           /* what was forgotten */
};
Server now_;                         /* the store */
#if INCARNATIONS > 1
Server copy;                         /* a copy of it */
#endif
#ifdef OLDALIVE
Server old;                          /* what it was before */
#endif
byte incarnation = 1;

/* phases of a try */
#define IDLE 0
#define SENT 1
#define UNSURE 2
#define RUNNING 3
#define ENDED 4
#define GAVEUP 5
typedef Try {
  byte phase;
  byte tick, token;
  bit beside;                        /* its lock is that of its tick */
  byte incarnation, cver, gver;             /* what it has read */
  byte lver[LASTKEY + 1];            /* the leases among that */
  bit pending;                       /* its claim is under way */
  bit valid;                         /* its own clock has not reached the deadline */
  byte basis;                        /* the round that its deadline rests on */
  byte xver, xincarnation; bit extending;   /* the lease that its extension replaces */
  byte fver; bit finishing;          /* the claim that its end replaces */
  bit evicted;                       /* an operator has ended its lease */
  bit joining;                       /* its claim is to be added again */
#ifdef OBSERVES
  Sighting seen[LASTKEY + 1];
#endif
  byte before;                       /* the largest token issued before it began */
  bit donebefore;                    /* its tick had ended before it began */
  bit superseded;                    /* a later tick was claimed before */
};
Try try[C + 1];

byte issued;                         /* the largest token issued */
byte claimed;                        /* the latest tick claimed */
byte ran[LASTTICK + 1];              /* tries that ran the tick */
byte effects[LASTTICK + 1];          /* committed effects */
bit ended[LASTTICK + 1];             /* an end was acknowledged */

/* A lease counts while its owner has an open claim. It lasts at least as long as its holder
 * believes; later the store's clock may say either. */
#define HAS(s, a, k) (s.owner == a && s.state == OPEN || s.earlier[k] == a)
#define COUNTS(s, k) (s.lease[k].owner != 0 && HAS(s, s.lease[k].owner, k))
#define HOLDER(s, k) try[s.lease[k].owner]
#define SURE(s, k) (COUNTS(s, k) && HOLDER(s, k).valid && s.lease[k].round >= HOLDER(s, k).basis)

#ifdef OBSERVES
#define SEEN(k) try[c].seen[k]
#ifdef NOSEENVERSION                 /* the value alone: an extension looks the same */
#define STILLSEEN(s, k) (s.lease[k].owner == SEEN(k).owner)
#elif defined NOSEENINCARNATION
#define STILLSEEN(s, k) (s.lease[k].ver == SEEN(k).ver)
#else
#define STILLSEEN(s, k) (s.lease[k].ver == SEEN(k).ver && incarnation == SEEN(k).incarnation)
#endif
/* A ttl and the drift have passed since then: so has the time of a holder whose deadline rests
 * on what was written before. */
#define SEENHOLDER(k) try[SEEN(k).owner]
#define SEENLASTS(k) (SEENHOLDER(k).valid && (SEENHOLDER(k).incarnation < SEEN(k).incarnation \
  || SEENHOLDER(k).incarnation == SEEN(k).incarnation && SEENHOLDER(k).basis <= SEEN(k).round))
#endif

/* FORGET, which is no try, goes by the time that the holder wrote. */
#if !defined OBSERVES
#define MAYBEFREE(s, k) (!SURE(s, k))
#elif defined FIRSTSIGHT
#define MAYBEFREE(s, k) 1
#else
#define MAYBEFREE(s, k) (!COUNTS(s, k) || (c == 0 -> !SURE(s, k) : STILLSEEN(s, k) && SEEN(k).aged))
#endif

/* The lock of a tick blocks other tries of that tick, and tries for the job's lock. The job's
 * lock blocks all. */
#ifdef NOTICKLOCK
#define BLOCKS(k) (k == 0 || !BESIDE(c))
#elif defined NOMARKER
#define BLOCKS(k) (k == 0 || k == KEY(c))
#elif defined NOJOBLOCK
#define BLOCKS(k) (k == KEY(c) || !BESIDE(c))
#else
#define BLOCKS(k) (k == 0 || k == KEY(c) || !BESIDE(c))
#endif

inline blocks(s) {
  blocked = 0;
  for (n : 0 .. LASTKEY) { blocked = blocked || BLOCKS(n) && !MAYBEFREE(s, n) }
  n = 0
}

/* In another incarnation the store abstains for the grace, which is longer than any lease. */
#ifdef NOGRACE
#define MUTE 0
#else
#define MUTE (incarnation == 2 && HELD1)
#endif
#define HELDBY(a) (a <= C && try[a].incarnation == 1 && try[a].valid)
#if C == 2
#define HELD1 (HELDBY(1) || HELDBY(2))
#else
#define HELD1 (HELDBY(1) || HELDBY(2) || HELDBY(3))
#endif

#ifdef NOFLOOR
#define ABSTAINS(t) 0
#define LEAST 0
#else
#define ABSTAINS(t) (incarnation == 2 && t <= TICKS)  /* a tick of the incarnation before */
#define LEAST (incarnation == 2 -> FLOOR : 0)
#endif

#ifdef RERUN
#define AGAIN(s) (s.state != DONE)
#else
#define AGAIN(s) (s.state == VOIDED)
#endif

/* A tick with a claimed successor is never rerun. */
#ifdef RERUNEARLIER
#define AFTER(s, t) (t != s.tick)
#else
#define AFTER(s, t) (t > s.tick)
#endif

#define FREE(s, t) (s.cver == 0 && t > s.gtick \
  || s.cver > 0 && (AFTER(s, t) || t == s.tick && AGAIN(s)))

#define MAX(a, b) ((a) > (b) -> (a) : (b))

/* A tick that may run beside others needs the job's lease and its own, all others need those
 * of all open claims. */
#define NEEDS(s, k) (k == 0 || k == KEY(c) || !BESIDE(c) && (s.earlier[k] != 0 || s.tick == k && s.state == OPEN && BESIDE(s.owner)))

inline readLeases(s) {
  for (n : 0 .. LASTKEY) {
    if
    :: NEEDS(s, n) -> try[c].lver[n] = s.lease[n].ver
    :: else -> try[c].lver[n] = UNREAD
#ifdef PRUNES
    :: s.lease[n].ver > 0 -> try[c].lver[n] = s.lease[n].ver
#endif
    fi
  }
  n = 0
}

inline read(s) {
  try[c].incarnation = incarnation; try[c].cver = s.cver; try[c].gver = s.gver;
  readLeases(s);
  try[c].token = MAX(MAX((s.cver == 0 -> s.gfence : s.fence), LEAST), 0) + 1;
  try[c].before = issued; try[c].donebefore = ended[try[c].tick];
  try[c].valid = 1; try[c].pending = 1; try[c].phase = SENT
}

#ifdef NOINCARNATION
#define OFINCARNATION(l) 1
#else
#define OFINCARNATION(l) (l == incarnation)
#endif
#ifdef NOCLAIMVERSION
#define SAMECLAIM(s) 1
#else
#define SAMECLAIM(s) (s.cver == try[c].cver)
#endif
#ifdef NOLEASEVERSION
#define SAMELEASE(s, k) 1
#else
#define SAMELEASE(s, k) (try[c].lver[k] == UNREAD || s.lease[k].ver == try[c].lver[k])
#endif
#ifdef NOFORGOTTENVERSION
#define SAMEFORGOTTEN(s) 1
#else
#define SAMEFORGOTTEN(s) (s.cver > 0 || s.gver == try[c].gver)
#endif

inline version(s) { s.seq++ }

/* Whether all leases are as they were read. */
inline compareLeases(s) {
  same = 1;
  for (n : 0 .. LASTKEY) { same = same && SAMELEASE(s, n) }
  n = 0
}

#ifdef PRUNEUNREAD
#define EXPIRED(s, k) (try[c].lver[k] == UNREAD || MAYBEFREE(s, k))
#elif defined PRUNELASTING
#define EXPIRED(s, k) (try[c].lver[k] != UNREAD)
#else
#define EXPIRED(s, k) (try[c].lver[k] != UNREAD && MAYBEFREE(s, k))
#endif

inline drop(s, k) { s.lease[k].ver = 0; s.lease[k].owner = 0; s.lease[k].round = 0 }

/* The try's claim takes the place of the one before, which stays in the record if its run may
 * go on beside. Leases that were read and have expired are dropped, and the claims of their
 * ticks. */
inline replace(s) {
  version(s);
#if defined BESIDES && !defined NOEARLIER
  if
  :: s.cver > 0 && s.state == OPEN && BESIDE(s.owner) -> s.earlier[s.tick] = s.owner
  :: else
  fi;
#endif
  for (n : 0 .. LASTKEY) {
    if
    :: n != KEY(c) && EXPIRED(s, n) ->
       s.earlier[n] = 0;
#ifndef NODROP
       drop(s, n)
#endif
#ifdef PRUNES
    :: n != KEY(c) && n != 0 && BESIDE(c)            /* the store's clock says that it lasts */
#endif
    :: else
    fi
  }
  n = 0;
  s.cver = s.seq; s.owner = c; s.tick = try[c].tick; s.token = try[c].token; s.state = OPEN;
  s.earlier[KEY(c)] = 0;
  s.lease[KEY(c)].ver = s.seq; s.lease[KEY(c)].owner = c; s.lease[KEY(c)].round = 0
}

inline claim(s) {
  replace(s);
  s.fence = try[c].token;
  try[c].superseded = try[c].tick < claimed;
  claimed = MAX(claimed, try[c].tick)
}

/* The claim is issued: the job runs. */
inline begin() {
  try[c].phase = RUNNING;
  assert(try[c].token > try[c].before);              /* tokens grow */
  for (k : 1 .. C) {
    if
    :: k != c && try[k].phase == RUNNING ->
       assert(!(try[k].valid && try[c].valid) || try[k].evicted || BESIDE(k) && BESIDE(c) && try[k].tick != try[c].tick);  /* one at a time */
       assert(try[k].token != try[c].token)
    :: else
    fi
  }
  k = 0;
  ran[try[c].tick]++;
#ifndef RERUN
  assert(ran[try[c].tick] == 1);                     /* once per tick */
#endif
  assert(!try[c].superseded);                        /* not after a successor */
  assert(!try[c].donebefore);                        /* nothing runs after its end */
  issued = MAX(issued, try[c].token)
}

/* The reply is heard in time, heard too late, or lost. */
inline answered(won) {
  if
  :: won && try[c].valid -> begin()
  :: try[c].phase = UNSURE
  :: !won -> try[c].phase = GAVEUP
  :: won -> try[c].valid = 0; try[c].phase = GAVEUP
  fi
}

inline deliver(s) {
  try[c].pending = 0;
  compareLeases(s);
  if
  :: OFINCARNATION(try[c].incarnation) && SAMECLAIM(s) && same && SAMEFORGOTTEN(s) ->
     claim(s);
     if :: try[c].phase == SENT -> answered(1) :: else fi
  :: else ->
     if :: try[c].phase == SENT -> answered(0) :: else fi
  fi
}

/* It reads until it knows, or gives up. What it then finds missing may still arrive. */
inline look(s) {
  if
  :: HAS(s, c, KEY(c)) && try[c].valid && OFINCARNATION(try[c].incarnation) -> begin()
  :: try[c].phase = GAVEUP; try[c].valid = 0
  fi
}

#ifdef NOEXTENDVERSION
#define SAMEEXTENDED(s) (OWN(s).ver > 0)
#else
#define SAMEEXTENDED(s) (OWN(s).ver == try[c].xver)
#endif
#define OWN(s) s.lease[KEY(c)]

inline extend(s) {
  try[c].extending = 0;
  if
  :: OFINCARNATION(try[c].xincarnation) && SAMEEXTENDED(s) ->
     assert(!try[c].evicted);                        /* an evicted lease ends */
     version(s); OWN(s).ver = s.seq; OWN(s).owner = c;
     OWN(s).round++;
     if
#ifdef LATEROUND
     :: try[c].phase == RUNNING -> try[c].valid = 1; try[c].basis = OWN(s).round
#else
     :: try[c].phase == RUNNING && try[c].valid -> try[c].basis = OWN(s).round
#endif
     :: skip                                         /* the reply is lost */
     fi
  :: else ->
     assert(!(try[c].valid && try[c].phase == RUNNING && try[c].xincarnation == incarnation) || try[c].evicted)  /* survives */
  fi;
  try[c].xver = 0; try[c].xincarnation = 0                  /* not needed any more: fewer states */
}

/* The claim that another incarnation has forgotten is there again, with its lease, unless another has
 * come since it was read. */
#ifdef NOJOINVERSION
#define SAMEJOINED(s) 1
#else
#define SAMEJOINED(s) (s.cver == try[c].cver && same)
#endif

/* A later claim excludes it. */
#ifdef JOINSLATE
#define MAYJOIN(s) 1
#else
#define MAYJOIN(s) (s.cver == 0 || s.fence < try[c].token && s.tick < try[c].tick)
#endif

inline join(s) {
  try[c].joining = 0;
  compareLeases(s);
  if
  :: SAMEJOINED(s) ->
#ifdef JOINDROPS
     s.cver = 0;                                     /* nothing stays of the claim before */
#endif
     replace(s);
     s.fence = MAX(s.fence, try[c].token);
     if
     :: try[c].phase == RUNNING && try[c].valid -> try[c].basis = 0; try[c].incarnation = 2
     :: skip                                         /* the reply is lost */
     fi
  :: else
  fi
}

/* The claim is closed, or, of a tick with a claimed successor, dropped. */
inline close(s, as) {
  version(s); s.cver = s.seq;
  if
  :: s.earlier[KEY(c)] == c -> s.earlier[KEY(c)] = 0
  :: else -> s.state = as
  fi
}

#ifdef FINISHBLIND
#define MINE(s) (s.cver > 0)
#else
#define MINE(s) (HAS(s, c, KEY(c)) && s.cver == try[c].fver)
#endif

inline finish(s) {
  try[c].finishing = 0;
  if
  :: OFINCARNATION(try[c].incarnation) && MINE(s) ->
     close(s, DONE);
     effects[try[c].tick]++;
     assert(effects[try[c].tick] == 1);              /* effects once */
     if
     :: ended[try[c].tick] = 1; try[c].phase = ENDED; try[c].valid = 0
     :: skip                                         /* the reply is lost: it may try again */
     fi
  :: else
  fi
}

#ifdef NOGFENCE
#define KEEPFENCE(s) s.gfence
#else
#define KEEPFENCE(s) MAX(s.gfence, s.fence)
#endif

inline forget(s) {
  s.gtick = MAX(s.gtick, s.tick); s.gfence = KEEPFENCE(s);
  version(s); s.gver = s.seq;
  s.cver = 0; s.owner = 0; s.tick = 0; s.token = 0; s.fence = 0; s.state = NONE;
  for (n : 0 .. LASTKEY) { s.earlier[n] = 0; drop(s, n) }
  n = 0
}

inline assign(to, from) {
  to.seq = from.seq; to.cver = from.cver; to.owner = from.owner; to.tick = from.tick; to.token = from.token;
  to.state = from.state; to.fence = from.fence; to.gver = from.gver; to.gtick = from.gtick; to.gfence = from.gfence;
  for (n : 0 .. LASTKEY) {
    to.earlier[n] = from.earlier[n];
    to.lease[n].ver = from.lease[n].ver; to.lease[n].owner = from.lease[n].owner; to.lease[n].round = from.lease[n].round
  }
  n = 0
}

active proctype store() {
  byte c, k, n;
  bit blocked, same;
end:
  do
  :: atomic { select(c : 1 .. C);
     if
     :: try[c].phase == IDLE && !MUTE && (c == 1 || try[c - 1].phase != IDLE) -> /* tries are alike */
        select(k : 1 .. LASTTICK);
        try[c].tick = k;
#ifdef BESIDES
        if
        :: try[c].beside = 1
        :: BESIDES == 2
        fi;
#endif
        blocks(now_);
        if
#ifdef OLDALIVE
        :: incarnation == 2 && k > TICKS && !SURE(old, 0) && FREE(old, k) -> /* the old server knows of no other incarnation */
           try[c].token = old.fence + 1; try[c].before = issued; try[c].valid = 1; try[c].incarnation = 2;
           k = 0; version(old); old.owner = c; old.tick = try[c].tick; old.fence = try[c].token; old.cver = old.seq; old.state = OPEN; old.lease[0].owner = c;
           begin()
#endif
        :: (k <= TICKS || incarnation == 2) && !ABSTAINS(k) && FREE(now_, k) && !blocked ->
           k = 0; read(now_)
        :: else -> k = 0; try[c].tick = 0; try[c].beside = 0
        fi;
        blocked = 0
     :: try[c].pending -> deliver(now_)
     :: try[c].phase == SENT && try[c].pending -> try[c].phase = UNSURE
     :: try[c].phase == UNSURE -> look(now_)
     :: try[c].phase == GAVEUP && HAS(now_, c, KEY(c)) && OFINCARNATION(try[c].incarnation) -> close(now_, VOIDED)
     :: try[c].valid && try[c].phase != IDLE -> try[c].valid = 0
#ifdef OBSERVES
     :: try[c].phase == IDLE -> select(k : 0 .. LASTKEY);
        if
        :: COUNTS(now_, k) && !STILLSEEN(now_, k) ->
           SEEN(k).ver = now_.lease[k].ver; SEEN(k).incarnation = incarnation; SEEN(k).owner = now_.lease[k].owner; SEEN(k).round = now_.lease[k].round;
           SEEN(k).aged = 0
        :: SEEN(k).ver > 0 && !SEEN(k).aged && !SEENLASTS(k) -> SEEN(k).aged = 1
        :: else
        fi
#endif
#ifdef EXTENDS
     :: try[c].phase == RUNNING && try[c].valid && !try[c].extending && OWN(now_).owner == c && now_.seq < EXTENDS ->
        try[c].xver = OWN(now_).ver; try[c].xincarnation = try[c].incarnation; try[c].extending = 1
     :: try[c].extending -> extend(now_)
#endif
#ifdef JOINS
     :: incarnation == 2 && try[c].phase == RUNNING && try[c].valid && !try[c].joining && try[c].incarnation == 1 && !HAS(now_, c, KEY(c)) && MAYJOIN(now_) ->
        try[c].cver = now_.cver; readLeases(now_); try[c].joining = 1
     :: try[c].joining -> join(now_)
#endif
#ifdef FINISHES
     :: try[c].phase == RUNNING && !try[c].finishing ->
        try[c].fver = now_.cver; try[c].finishing = 1;
        try[c].valid = 0                             /* its work is over */
     :: try[c].finishing -> finish(now_)
#else
     :: try[c].phase == RUNNING && HAS(now_, c, KEY(c)) && OFINCARNATION(try[c].incarnation) ->
        close(now_, DONE);
        ended[try[c].tick] = 1; try[c].phase = ENDED; try[c].valid = 0
#endif
     :: else
     fi;
     c = 0; k = 0; same = 0 }
#ifdef EVICTS
  :: atomic { select(k : 0 .. LASTKEY);
     if
     :: COUNTS(now_, k) ->
        HOLDER(now_, k).evicted = 1;
        version(now_);
#ifdef EVICTALL
        for (n : 0 .. LASTKEY) { now_.lease[n].ver = now_.seq; now_.lease[n].owner = 0; now_.lease[n].round = 0 }
        n = 0
#else
        now_.lease[k].ver = now_.seq; now_.lease[k].owner = 0; now_.lease[k].round = 0
#endif
     :: else
     fi;
     k = 0 }
#endif
#ifdef FORGETS
  :: atomic { now_.cver > 0 && now_.gver == 0 ->
     blocks(now_);                                   /* by any lease: no try is asked for */
     if
     :: !blocked -> forget(now_)
     :: else
     fi;
     blocked = 0 }
#endif
#if INCARNATIONS > 1
  :: atomic { incarnation == 1 -> assign(copy, now_) }
#ifdef OLDALIVE
  :: atomic { incarnation == 1 -> assign(old, now_); assign(now_, copy); incarnation = 2 }
#else
  :: atomic { incarnation == 1 -> assign(now_, copy); incarnation = 2 }
#endif
#endif
  od
}
