/*
 * Claims on one consistent store, as a Promela model for spin. check.sh runs it; README.md
 * says what was found.
 *
 * C tries want ticks of one job. A try reads the records, decides, and sends one
 * transaction that names the versions and the life it has read. The transaction reaches
 * the store at any later time, once, or never; its reply is heard or lost. Extensions,
 * ends and transactions with effects go the same way.
 *
 * The store may be copied at any time. LIVES=2: later the copy takes the store's place, in
 * another life, and what was committed since is lost.
 *
 * Sizes (-D): C, TICKS that a try may want in each life.
 * Behaviour: RERUN (an open claim without a lease is claimed again), FORGETS, EXTENDS,
 * FINISHES (effects and end commit together), EVICTS (an operator ends leases), JOINS (a holder
 * whose claim another life has forgotten adds it again), OLDALIVE (the old server goes on),
 * OBSERVES (the store has no clock: a lease is free for a try that has seen one version of it
 * for longer than a lease lasts).
 * Checks taken away: the other names, each at the rule it removes.
 */
#ifndef C
#define C 2
#endif
#ifndef TICKS
#define TICKS 1
#endif
#ifndef LIVES
#define LIVES 1
#endif
#define FLOOR 5                      /* in life 2, tokens begin above */

#define NONE 0
#define OPEN 1
#define DONE 2
#define VOIDED 3

typedef Server {
  byte seq;                          /* the last version that was given */
  byte cver, owner, tick, token, state, fence;  /* the claim record; cver 0: there is none */
  byte lver, lowner, round;          /* the lease record */
  byte gver, gtick, gfence;          /* what was forgotten */
};
Server now_, copy, old;              /* the store, a copy of it, what it was before */
byte life = 1;

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
  byte life, cver, lver, gver;       /* what it has read */
  bit pending;                       /* its claim is under way */
  bit valid;                         /* its own clock has not reached the deadline */
  byte basis;                        /* the round that its deadline rests on */
  byte xver, xlife; bit extending;   /* the lease that its extension replaces */
  byte fver; bit finishing;          /* the claim that its end replaces */
  bit evicted;                       /* an operator has ended its lease */
  byte jcver, jlver; bit joining;    /* what it has read before it adds its claim again */
  byte seen, seenlife, seenowner, seenround; /* the version of the lease that it observes */
  bit aged;                          /* it has seen that version for a ttl and the drift */
  byte before;                       /* the largest token issued before it began */
  bit donebefore;                    /* its tick had ended before it began */
};
Try try[C + 1];

byte issued;                         /* the largest token issued */
byte ran[2 * TICKS + 1];             /* tries that ran the tick */
byte effects[2 * TICKS + 1];         /* committed effects */
bit ended[2 * TICKS + 1];            /* an end was acknowledged */

/* A lease counts while the claim names its owner and is open. It lasts at least as long as
 * its holder believes; later the store's clock may say either. */
#ifdef CLOSEDCOUNTS
#define COUNTS(s) (s.lowner != 0)
#else
#define COUNTS(s) (s.lowner != 0 && s.owner == s.lowner && s.state == OPEN)
#endif
#define SURE(s) (COUNTS(s) && try[s.lowner].valid && s.round >= try[s.lowner].basis)
#define ENDED_(s) (!SURE(s))

#ifdef OBSERVES
#ifdef NOSEENVERSION                 /* the value alone: an extension looks the same */
#define STILLSEEN(s) (s.lowner == try[c].seenowner)
#else
#ifdef NOSEENLIFE
#define STILLSEEN(s) (s.lver == try[c].seen)
#else
#define STILLSEEN(s) (s.lver == try[c].seen && life == try[c].seenlife)
#endif
#endif
#ifdef FIRSTSIGHT
#define MAYBEFREE(s) 1
#else
#define MAYBEFREE(s) (!COUNTS(s) || STILLSEEN(s) && try[c].aged)
#endif
/* A ttl and the drift have passed since then: so has the time of a holder whose deadline rests
 * on what was written before. */
#define HOLDER try[try[c].seenowner]
#define LASTS (HOLDER.valid && (HOLDER.life < try[c].seenlife || HOLDER.life == try[c].seenlife && HOLDER.basis <= try[c].seenround))
#else
#define MAYBEFREE(s) ENDED_(s)
#endif

/* In another life the store abstains for the grace, which is longer than any lease. */
#ifdef NOGRACE
#define MUTE 0
#else
#define MUTE (life == 2 && HELD1)
#endif
#define HELDBY(a) (a <= C && try[a].life == 1 && try[a].valid)
#if C == 2
#define HELD1 (HELDBY(1) || HELDBY(2))
#else
#define HELD1 (HELDBY(1) || HELDBY(2) || HELDBY(3))
#endif

#ifdef NOFLOOR
#define ABSTAINS(t) 0
#define LEAST 0
#else
#define ABSTAINS(t) (life == 2 && t <= TICKS)  /* a tick of the life before */
#define LEAST (life == 2 -> FLOOR : 0)
#endif

#ifdef RERUN
#define AGAIN(s) (s.state != DONE)
#else
#define AGAIN(s) (s.state == VOIDED)
#endif

#define FREE(s, t) (s.cver == 0 && t > s.gtick \
  || s.cver > 0 && (t > s.tick || t == s.tick && AGAIN(s)))

#define MAX(a, b) ((a) > (b) -> (a) : (b))

inline read(s) {
  try[c].life = life; try[c].cver = s.cver; try[c].lver = s.lver; try[c].gver = s.gver;
  try[c].token = MAX(MAX((s.cver == 0 -> s.gfence : s.fence), LEAST), 0) + 1;
  try[c].before = issued; try[c].donebefore = ended[try[c].tick];
  try[c].valid = 1; try[c].pending = 1; try[c].phase = SENT
}

#ifdef NOLIFE
#define INLIFE(l) 1
#else
#define INLIFE(l) (l == life)
#endif
#ifdef NOCLAIMVERSION
#define SAMECLAIM(s) 1
#else
#define SAMECLAIM(s) (s.cver == try[c].cver)
#endif
#ifdef NOLEASEVERSION
#define SAMELEASE(s) 1
#else
#define SAMELEASE(s) (s.lver == try[c].lver)
#endif
#ifdef NOFORGOTTENVERSION
#define SAMEFORGOTTEN(s) 1
#else
#define SAMEFORGOTTEN(s) (s.cver > 0 || s.gver == try[c].gver)
#endif

inline version(s) { s.seq++ }

inline claim(s) {
  version(s);
  s.cver = s.seq; s.lver = s.seq;
  s.owner = c; s.tick = try[c].tick; s.token = try[c].token; s.fence = try[c].token; s.state = OPEN;
  s.lowner = c; s.round = 0
}

/* The claim is issued: the job runs. */
inline begin() {
  try[c].phase = RUNNING;
  assert(try[c].token > try[c].before);              /* tokens grow */
  assert(!try[c].donebefore);                        /* nothing runs after its end */
  for (k : 1 .. C) {
    if
    :: k != c && try[k].phase == RUNNING ->
       assert(!(try[k].valid && try[c].valid) || try[k].evicted);  /* one at a time */
       assert(try[k].token != try[c].token)
    :: else
    fi
  }
  k = 0;
  ran[try[c].tick]++;
#ifndef RERUN
  assert(ran[try[c].tick] == 1);                     /* once per tick */
#endif
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
  if
  :: INLIFE(try[c].life) && SAMECLAIM(s) && SAMELEASE(s) && SAMEFORGOTTEN(s) ->
     claim(s);
     if :: try[c].phase == SENT -> answered(1) :: else fi
  :: else ->
     if :: try[c].phase == SENT -> answered(0) :: else fi
  fi
}

/* It reads until it knows, or gives up. What it then finds missing may still arrive. */
inline look(s) {
  if
  :: s.cver > 0 && s.owner == c && s.state == OPEN && try[c].valid && INLIFE(try[c].life) -> begin()
  :: try[c].phase = GAVEUP; try[c].valid = 0
  fi
}

#ifdef NOEXTENDVERSION
#define SAMEEXTENDED(s) (s.lver > 0)
#else
#define SAMEEXTENDED(s) (s.lver == try[c].xver)
#endif

inline extend(s) {
  try[c].extending = 0;
  if
  :: INLIFE(try[c].xlife) && SAMEEXTENDED(s) ->
     assert(!try[c].evicted);                        /* an evicted lease ends */
     version(s); s.lver = s.seq; s.lowner = c;
     s.round++;
     if
#ifdef LATEROUND
     :: try[c].phase == RUNNING -> try[c].valid = 1; try[c].basis = s.round
#else
     :: try[c].phase == RUNNING && try[c].valid -> try[c].basis = s.round
#endif
     :: skip                                         /* the reply is lost */
     fi
  :: else
  fi
}

/* The claim that another life has forgotten is there again, with its lease, unless another has
 * come since it was read. */
#ifdef NOJOINVERSION
#define SAMEJOINED(s) 1
#else
#define SAMEJOINED(s) (s.cver == try[c].jcver && s.lver == try[c].jlver)
#endif

/* A later claim excludes it. */
#ifdef JOINSLATE
#define MAYJOIN(s) 1
#else
#define MAYJOIN(s) (s.cver == 0 || s.fence < try[c].token && s.tick < try[c].tick)
#endif

inline join(s) {
  try[c].joining = 0;
  if
  :: SAMEJOINED(s) ->
     version(s);
     s.cver = s.seq; s.lver = s.seq;
     s.owner = c; s.tick = try[c].tick; s.token = try[c].token; s.fence = MAX(s.fence, try[c].token); s.state = OPEN;
     s.lowner = c; s.round = 0;
     if
     :: try[c].phase == RUNNING && try[c].valid -> try[c].basis = 0; try[c].life = 2
     :: skip                                         /* the reply is lost */
     fi
  :: else
  fi
}

#ifdef FINISHBLIND
#define MINE(s) (s.cver > 0)
#else
#define MINE(s) (s.cver > 0 && s.owner == c && s.state == OPEN && s.cver == try[c].fver)
#endif

inline finish(s) {
  try[c].finishing = 0;
  if
  :: INLIFE(try[c].life) && MINE(s) ->
     version(s); s.cver = s.seq; s.state = DONE;
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
  s.cver = 0; s.lver = 0; s.owner = 0; s.tick = 0; s.token = 0; s.fence = 0; s.state = NONE; s.lowner = 0; s.round = 0
}

inline assign(to, from) {
  to.seq = from.seq; to.cver = from.cver; to.owner = from.owner; to.tick = from.tick; to.token = from.token;
  to.state = from.state; to.fence = from.fence; to.lver = from.lver; to.lowner = from.lowner; to.round = from.round;
  to.gver = from.gver; to.gtick = from.gtick; to.gfence = from.gfence
}

active proctype store() {
  byte c, k;
end:
  do
  :: atomic { select(c : 1 .. C);
     if
     :: try[c].phase == IDLE && !MUTE ->
        select(k : 1 .. TICKS * LIVES);
        if
#ifdef OLDALIVE
        :: life == 2 && k > TICKS && MAYBEFREE(old) && FREE(old, k) -> /* the old server knows of no other life */
           try[c].tick = k; try[c].token = old.fence + 1; try[c].before = issued; try[c].valid = 1; try[c].life = 2;
           k = 0; version(old); old.owner = c; old.tick = try[c].tick; old.fence = try[c].token; old.cver = old.seq; old.state = OPEN; old.lowner = c;
           begin()
#endif
        :: (k <= TICKS || life == 2) && !ABSTAINS(k) && FREE(now_, k) && MAYBEFREE(now_) ->
           try[c].tick = k; k = 0; read(now_)
        :: else -> k = 0
        fi
     :: try[c].pending -> deliver(now_)
     :: try[c].phase == SENT && try[c].pending -> try[c].phase = UNSURE
     :: try[c].phase == UNSURE -> look(now_)
     :: try[c].phase == GAVEUP && now_.cver > 0 && now_.owner == c && now_.state == OPEN && INLIFE(try[c].life) ->
        version(now_); now_.cver = now_.seq; now_.state = VOIDED
     :: try[c].valid && try[c].phase != IDLE -> try[c].valid = 0
#ifdef OBSERVES
     :: try[c].phase == IDLE && COUNTS(now_) && !STILLSEEN(now_) ->
        try[c].seen = now_.lver; try[c].seenlife = life; try[c].seenowner = now_.lowner; try[c].seenround = now_.round;
        try[c].aged = 0
     :: try[c].phase == IDLE && try[c].seen > 0 && !try[c].aged && !LASTS -> try[c].aged = 1
#endif
#ifdef EXTENDS
     :: try[c].phase == RUNNING && try[c].valid && !try[c].extending && now_.lowner == c && now_.seq < 12 ->
        try[c].xver = now_.lver; try[c].xlife = try[c].life; try[c].extending = 1
     :: try[c].extending -> extend(now_)
#endif
#ifdef JOINS
     :: life == 2 && try[c].phase == RUNNING && try[c].valid && !try[c].joining && try[c].life == 1 && now_.owner != c && MAYJOIN(now_) ->
        try[c].jcver = now_.cver; try[c].jlver = now_.lver; try[c].joining = 1
     :: try[c].joining -> join(now_)
#endif
#ifdef FINISHES
     :: try[c].phase == RUNNING && !try[c].finishing ->
        try[c].fver = now_.cver; try[c].finishing = 1;
        try[c].valid = 0                             /* its work is over */
     :: try[c].finishing -> finish(now_)
#else
     :: try[c].phase == RUNNING && now_.owner == c && now_.state == OPEN && INLIFE(try[c].life) ->
        version(now_); now_.cver = now_.seq; now_.state = DONE;
        ended[try[c].tick] = 1; try[c].phase = ENDED; try[c].valid = 0
#endif
     :: else
     fi;
     c = 0; k = 0 }
#ifdef EVICTS
  :: atomic { now_.cver > 0 && COUNTS(now_) ->
     try[now_.lowner].evicted = 1;
     version(now_); now_.lver = now_.seq; now_.lowner = 0; now_.round = 0 }
#endif
#ifdef FORGETS
  :: atomic { now_.cver > 0 && ENDED_(now_) && now_.gver == 0 -> forget(now_) }
#endif
#if LIVES > 1
  :: atomic { life == 1 -> assign(copy, now_) }
  :: atomic { life == 1 -> assign(old, now_); assign(now_, copy); life = 2 }
#endif
  od
}
