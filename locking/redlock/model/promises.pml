/*
 * What must hold. An attempt is *issued* when it runs: a quorum accepted one
 * token of it and it has not given up.
 */
#define TOKEN(a) attempt[a].token[attempt[a].tries-1]
#define NUMBER(a) attempt[a].number[attempt[a].tries-1]
#define ISSUED(a) (attempt[a].phase == RUNNING)
#define FINISHED(a) (COUNT(attempt[a].acks) >= Q)
#define BOTHRERUN (attempt[i].rerun && attempt[c].rerun)

#define SAMERUN (attempt[i].tick == attempt[c].tick && attempt[i].stream == attempt[c].stream && !ISPLAIN(c))
#define ORDERED (attempt[i].stream == attempt[c].stream && !ISPLAIN(c))

/* At the first message of attempt c. */
inline note_what_was() {
  note_handovers();
  for (i : 1 .. C) {
    if
    :: ISSUED(i) && TOKEN(i) > attempt[c].issuedbefore -> attempt[c].issuedbefore = TOKEN(i)
    :: else
    fi;
    if
    :: ISSUED(i) && FINISHED(i) && SAMERUN -> attempt[c].finishedbefore = 1
    :: else
    fi
  }
  i = 0
}

/* When attempt c is about to run. */
inline check_issue() {
  for (i : 1 .. C) {
    if
    :: i != c && ISSUED(i) ->
       assert(TOKEN(i) != TOKEN(c));                                         /* tokens are unique */
       assert(!ORDERED || attempt[i].tick >= attempt[c].tick || TOKEN(i) < TOKEN(c));  /* ticks and tokens ... */
       assert(!ORDERED || attempt[i].tick <= attempt[c].tick || TOKEN(i) > TOKEN(c));  /* ... agree in order */
       assert(!SAMERUN || BOTHRERUN);                                        /* one run per tick */
       assert(!SAMERUN || NUMBER(i) != NUMBER(c) || !BOTHRERUN);
#if !defined(OLDER) || defined(STRICT)
       assert(!(FINISHED(i) && SAMERUN && TOKEN(c) > TOKEN(i)));
#endif
#ifdef LEASES
       assert(!attempt[i].valid || TOGETHER(i, c))                                        /* leases do not overlap */
#endif
    :: else
    fi
  }
  i = 0;
  witness();
  check_passed();
  assert(TOKEN(c) > attempt[c].issuedbefore);    /* tokens grow in the order of time */
  assert(!attempt[c].finishedbefore)             /* a finished tick does not run again */
}

/* A superseded attempt must not get its lease extended: larger token issued
 * before the extension began. */
inline note_superseded() {
  for (i : 1 .. C) {
    if
    :: i != c && ISSUED(i) && TOKEN(i) > TOKEN(c) && !TOGETHER(i, c) -> attempt[c].superseded = 1
    :: else
    fi
  }
  i = 0
}
inline check_extended() {
#ifdef SHOWOLDER
  for (i : 1 .. C) {
    assert(!(i != c && ISSUED(i) && TOKEN(i) > TOKEN(c) && attempt[c].phase == RUNNING))
  }
  i = 0;
#endif
  assert(!attempt[c].superseded)
}

/* Two conclusions another replica might draw, which do not hold: a quorum that
 * names a claim says that it runs; ... */
inline check_giveup() {
#ifdef CLAIMEDISFINAL
  for (i : 0 .. N-1) {
    if
    :: node[i].on[attempt[c].stream].owner == c -> owned++
    :: else
    fi
  }
  i = 0;
  assert(owned < Q);
  owned = 0
#else
  skip
#endif
}
/* ... and nodes at a later tick, so many that no quorum is left, say that the
 * tick will never run. */
inline check_passed() {
#ifdef LATERISFINAL
  for (i : 0 .. N-1) {
    if
    :: node[i].on[attempt[c].stream].tick > attempt[c].tick -> owned++
    :: else
    fi
  }
  i = 0;
  assert(owned < N-Q+1);
  owned = 0
#else
  skip
#endif
}

/* A claim of one stream does not close a tick of another. */
#if STREAMS > 1
inline check_hindered() {
  assert(CLAIM.owner == 0 || attempt[CLAIM.owner].stream == attempt[c].stream)
}
#else
inline check_hindered() { skip }
#endif

/* A tick is done only by the run of its own claim. */
#ifdef BESIDES
inline check_done() { assert(!CLAIM.isdone || ISSUED(CLAIM.owner)) }
#else
inline check_done() { skip }
#endif

/* N3.2 answers OK where somebody else has the lock: never to an attempt that
 * still counts. */
inline check_again() {
#ifdef LEASES
  assert(!attempt[c].valid || attempt[c].phase != COMMITTING)
#else
  skip
#endif
}

/* Where VOID of an attempt has been, the attempt must not block its tick again. */
#ifdef FREE
byte told[N];
inline note_told() { told[n] = told[n] | BIT(c) }
inline blocked_again() { assert(!(told[n] & BIT(c))) }
#else
inline note_told() { skip }
inline blocked_again() { skip }
#endif

#if defined(SHOWREOPEN) || defined(SHOWRETRY) || defined(SHOWRERUN) || defined(SHOWSTREAMS) || defined(SHOWFORGET) || defined(SHOWDIRECT) || defined(SHOWHANDOVER)
/* Configurations that must reach a state show that the model can do the thing. */
inline witness() {
#ifdef SHOWREOPEN
  assert(!(c == 2 && attempt[1].phase == GAVEUP && attempt[1].tick == attempt[2].tick))
#endif
#ifdef SHOWRETRY
  assert(attempt[c].tries == 1)
#endif
#ifdef SHOWDIRECT
  assert(attempt[c].phase == IDLE)
#endif
#ifdef SHOWSTREAMS
  assert(!(c == 2 && ISSUED(1) && attempt[1].stream != attempt[2].stream))
#endif
#ifdef SHOWFORGET
  assert(!(c == 2 && ISSUED(1) && node[0].gctick && node[1].gctick && node[2].gctick))
#endif
#ifdef SHOWHANDOVER
  assert(!(c == 2 && afterhandovers && attempt[1].tick == attempt[2].tick))
#endif
#ifdef SHOWRERUN
  assert(!(c == 2 && ISSUED(1) && attempt[1].tick == attempt[2].tick))
#endif
}
#else
inline witness() { skip }
#endif

#ifdef SHOWHANDOVER
byte handovers;            /* nodes at which attempt 1 has handed its tick over */
bit afterhandovers;        /* attempt 2 began after all had heard */
inline note_handovers() { afterhandovers = (c == 2 && COUNT(handovers) == N) }
inline show_handover() { handovers = (c == 1 -> handovers | BIT(n) : handovers) }
#else
inline show_handover() { skip }
inline note_handovers() { skip }
#endif

inline show_relock() {
#ifdef SHOWRELOCK
  assert(attempt[c].phase != RUNNING)
#else
  skip
#endif
}
