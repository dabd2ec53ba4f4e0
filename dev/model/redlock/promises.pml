/*
 * What must hold. A try is *issued* when it runs: a quorum granted its claim and it
 * has not given up.
 */
#define ISSUED(a) (try[a].phase == RUNNING)
#define FINISHED(a) (COUNT(try[a].acks) >= Q)
#define BOTHRERUN (try[i].rerun && try[c].rerun)
#define SAMERUN (try[i].tick == try[c].tick && try[i].stream == try[c].stream && !ISPLAIN(c))
#define ORDERED (try[i].stream == try[c].stream && !ISPLAIN(c))

/* Before the first message of try c. With LEASES only leases are looked at. */
inline note_what_was() {
  note_handovers();
#ifndef LEASES
  for (i : 1 .. C) {
    try[c].issuedbefore = (ISSUED(i) -> MAX(try[c].issuedbefore, try[i].token) : try[c].issuedbefore);
    try[c].finishedbefore = try[c].finishedbefore || (ISSUED(i) && FINISHED(i) && SAMERUN)
  }
  i = 0
#endif
}

/* When try c is about to run. */
inline check_issue() {
  for (i : 1 .. C) {
    if
    :: i != c && ISSUED(i) ->
       assert(try[i].token != try[c].token);                                     /* unique */
       assert(!ORDERED || try[i].tick >= try[c].tick || try[i].token < try[c].token);  /* order: ticks ... */
       assert(!ORDERED || try[i].tick <= try[c].tick || try[i].token > try[c].token);  /* ... as tokens */
       assert(!SAMERUN || BOTHRERUN);                                            /* once */
       assert(!SAMERUN || try[i].number != try[c].number || !BOTHRERUN);         /* number */
#if RESTARTS == 0 || defined(STRICT)
       assert(!(FINISHED(i) && SAMERUN && try[c].token > try[i].token));         /* finished */
#endif
#ifdef LEASES
       assert(!try[i].valid || TOGETHER(i, c))                                   /* lease */
#endif
    :: else
    fi
  }
  i = 0;
  witness();
  check_passed();
  assert(try[c].token > try[c].issuedbefore);    /* order of time */
  assert(!try[c].finishedbefore)                 /* finished */
}

/* A lease that was superseded before a round of EXTEND began is not extended. */
inline note_superseded() {
  for (i : 1 .. C) {
    try[c].superseded = try[c].superseded || (i != c && ISSUED(i) && try[i].token > try[c].token && !TOGETHER(i, c))
  }
  i = 0
}
inline check_extended() {
#ifdef SHOWOLDER
  for (i : 1 .. C) { assert(!(i != c && ISSUED(i) && try[i].token > try[c].token && try[c].phase == RUNNING)) }
  i = 0;
#endif
#ifdef STRANGER
  assert(!ousted);
#endif
  assert(!try[c].superseded)
}

/* A client of another kind has the lock of a quorum only while no lease lasts, and
 * no lease is extended past its lock. */
#ifdef STRANGER
bit ousted;
inline check_stranger() {
  if
  :: (node[0].lock == C) + (node[1].lock == C) + (node[2].lock == C) >= Q && ISSUED(1) ->
     assert(!try[1].valid); ousted = 1
  :: else
  fi
}
#endif

/* C5, two conclusions that do not hold: a quorum that names a claim says that it runs; */
#ifdef CLAIMEDISFINAL
inline check_giveup() {
  for (i : 0 .. N-1) { owned = owned + (node[i].on[try[c].stream].owner == c) }
  i = 0; assert(owned < Q); owned = 0
}
#else
inline check_giveup() { skip }
#endif
/* nodes at a later tick, so many that no quorum is left, say that the tick never runs. */
#ifdef LATERISFINAL
inline check_passed() {
  for (i : 0 .. N-1) { owned = owned + (node[i].on[try[c].stream].tick > try[c].tick) }
  i = 0; assert(owned < N-Q+1); owned = 0
}
#else
inline check_passed() { skip }
#endif

/* A claim of one stream does not close a tick of another; a tick is done only by a
 * run of its own claim. */
inline check_hindered() { assert(!CLOSED || CLAIM.owner == 0 || try[CLAIM.owner].stream == try[c].stream) }
inline check_done() { assert(!CLAIM.isdone || ISSUED(CLAIM.owner)) }

/* Where a try has ended, it leaves no lock and no open claim behind. */
#ifdef ORPHANS
byte ended[N];
inline note_end() { ended[n] = ended[n] | BIT(c); assert(node[n].open != c && !HASLOCK(c)) }
inline check_orphan() { assert(!(ended[n] & BIT(c))) }
#else
inline note_end() { skip }
inline check_orphan() { skip }
#endif

/* What was refused as STALE is accepted only if it runs: it leaves nothing to void. */
#ifdef STALES
byte stale[N];
inline note_stale() { stale[n] = stale[n] | BIT(c) }
inline check_stale() { assert(JOINS || !(stale[n] & BIT(c))) }
#else
inline note_stale() { skip }
inline check_stale() { skip }
#endif

/* A run that a node has accepted is to be read there, as a claim or as a record,
 * until it is void; what is void leaves no record of a start. */
#ifdef RECORDS
byte accepted[N], voided[N];
#define CLAIMED(a) (node[n].on[try[a].stream].owner == (a))
#define SHOWN(a) ((a) > C || !((accepted[n] & ~voided[n]) & BIT(a)) || CLAIMED(a) || ((node[n].started | node[n].finished) & BIT(a)))
inline note_accepted() { accepted[n] = accepted[n] | BIT(c); assert(SHOWN(1) && SHOWN(2)) }
inline note_void() { voided[n] = voided[n] | BIT(c); assert(!(node[n].started & voided[n])) }
inline lose_notes() { accepted[n] = 0; voided[n] = 0 }
#else
inline note_accepted() { skip }
#endif

/* Configurations that must reach a state show that the model can do the thing. */
#ifdef SHOWREOPEN
#define MAYGIVEUP (COUNT(try[c].heard) >= Q)
#else
#define MAYGIVEUP 1
#endif
inline witness() {
#ifdef SHOWREOPEN
  assert(!(c == 2 && try[1].phase == GAVEUP && try[1].tick == try[2].tick));
#endif
#ifdef SHOWSTREAMS
  assert(!(c == 2 && ISSUED(1) && try[1].stream != try[2].stream));
#endif
#ifdef SHOWFORGET
  assert(!(c == 2 && ISSUED(1) && node[0].gctick && node[1].gctick && node[2].gctick));
#endif
#ifdef SHOWHANDOVER
  assert(!(c == 2 && afterhandovers && try[1].tick == try[2].tick));
#endif
#ifdef SHOWRERUN
  assert(!(c == 2 && ISSUED(1) && try[1].tick == try[2].tick));
#endif
  skip
}
#ifdef SHOWHANDOVER
byte handovers;            /* nodes at which try 1 has handed its tick over */
bit afterhandovers;        /* try 2 began after all had heard */
inline note_handovers() { afterhandovers = (c == 2 && COUNT(handovers) == N) }
inline show_handover() { handovers = (c == 1 -> handovers | BIT(n) : handovers) }
#else
inline note_handovers() { skip }
inline show_handover() { skip }
#endif
#ifdef SHOWSET
inline show_set() { assert(TITLED || !(try[c].phase == RUNNING && ABSTAINS)) }
#else
inline show_set() { skip }
#endif
