/*
 * The rules of a replica's attempt (C1 to C4) and the network between attempts
 * and nodes.
 *
 * Whatever an attempt has ever sent may reach a node at any later time, any
 * number of times, in any order, or never. A reply is heard at once or is lost:
 * a late reply changes nothing that a late decision of the attempt does not.
 */
#ifdef CORE
#define MAYARRIVE_ACQUIRE (attempt[c].phase == ACQUIRING)   /* later ones do nothing */
#else
#define MAYARRIVE_ACQUIRE (attempt[c].phase != IDLE)
#endif
#define SENT_COMMIT(k) (attempt[c].tries > (k))
#define IS_LAST(k) (attempt[c].tries == (k) + 1)
#define UNHEARD (!(attempt[c].heard & BIT(n)))

inline note_fence() {
  if
  :: node[n].fence > attempt[c].fence -> attempt[c].fence = node[n].fence
  :: else
  fi;
#if defined(RERUN) || defined(MIXED)
  if
  :: SAMETICK && node[n].number > attempt[c].attempts -> attempt[c].attempts = node[n].number
  :: else
  fi
#endif
}

inline hear_acquire() {
  if
  :: vote == OK && attempt[c].phase == ACQUIRING && UNHEARD ->
     attempt[c].heard = attempt[c].heard | BIT(n);
     note_fence()
  :: else
  fi
}

#ifdef NOSAMETCOUNT
#define COUNTS(k) 1
#else
#define COUNTS(k) IS_LAST(k)
#endif
#ifdef RUNAFTERVOID
#define COUNTING (attempt[c].phase == COMMITTING || attempt[c].phase == GAVEUP)
#else
#define COUNTING (attempt[c].phase == COMMITTING)
#endif

inline hear_commit(k) {
  if
  :: vote == OK && COUNTING && COUNTS(k) -> attempt[c].heard = attempt[c].heard | BIT(n)
  :: vote == STALE && COUNTING && IS_LAST(k) && attempt[c].tries < PROPOSALS ->
     attempt[c].stale = 1;
     note_fence()
  :: else
  fi
}

#ifdef LEASES
#define INTIME attempt[c].valid
#define ENDED (attempt[c].phase == RUNNING && !attempt[c].valid)
#else
#define INTIME 1
#define ENDED (attempt[c].phase == RUNNING)
#endif

inline hear_finish() {
  if
  :: vote == OK && !FINISHED(c) -> attempt[c].acks = attempt[c].acks | BIT(n)
  :: else
  fi
}

inline hear_extend() {
  if
  :: vote == OK && attempt[c].extending -> attempt[c].renewed = attempt[c].renewed | BIT(n)
  :: else
  fi
}

/* C1: with the reply of a quorum, a token above every fence heard. The token's
 * part taken from the clock may put it higher still (JUMPS). */
inline propose() {
  attempt[c].token[attempt[c].tries] = attempt[c].fence + 1 + jump;
#if defined(RERUN) || defined(MIXED)
  attempt[c].number[attempt[c].tries] = attempt[c].attempts + 1;
#endif
  attempt[c].fence = attempt[c].token[attempt[c].tries];
  attempt[c].tries++;
  attempt[c].stale = 0;
  jump = 0
}

inline count_anew() {
#ifdef NOSAMETCOUNT
  skip
#else
  attempt[c].heard = 0
#endif
}

#ifdef RUNAFTERVOID
#define MAYRUN (attempt[c].phase == COMMITTING || attempt[c].phase == GAVEUP)
#else
#define MAYRUN (attempt[c].phase == COMMITTING)
#endif

#ifdef SHOWREOPEN
#define MAYGIVEUP (attempt[c].phase == COMMITTING && COUNT(attempt[c].heard) >= Q)
#else
#define MAYGIVEUP (attempt[c].phase == COMMITTING)
#endif

/* What no longer matters is set to 0, so that equal states are seen as equal. */
inline forget_round() {
#ifndef RUNAFTERVOID
  attempt[c].heard = 0;
#endif
  attempt[c].fence = 0;
  attempt[c].attempts = 0;
  attempt[c].stale = 0;
  attempt[c].issuedbefore = 0;
  attempt[c].finishedbefore = 0
}

/* What passes between attempt c and node n. */
proctype Wire(byte c, n) {
  mtype:vote vote;
  do
  :: d_step { MAYARRIVE_ACQUIRE -> acquire(); hear_acquire(); vote = 0 }
#ifndef CORE
  :: d_step { attempt[c].phase == ACQUIRING -> acquire(); vote = 0 }   /* reply lost */
#endif
  :: d_step { SENT_COMMIT(0) -> commit(0); hear_commit(0); vote = 0 }
#if PROPOSALS > 1
  :: d_step { SENT_COMMIT(1) -> commit(1); hear_commit(1); vote = 0 }
#endif
  :: d_step { ENDED -> finish(); hear_finish(); vote = 0 }
#ifdef VOIDS
#ifdef VOIDAFTERRUN
  :: d_step { attempt[c].phase == GAVEUP || attempt[c].phase == RUNNING -> void_() }
#else
  :: d_step { attempt[c].phase == GAVEUP -> void_() }
#endif
#endif
#ifdef EXTENDS
  :: d_step { attempt[c].tries > 0 -> extend(); hear_extend(); vote = 0 }
#endif
  od
}

proctype Replica(byte c) {
  byte i;
  byte jump;
#if defined(CLAIMEDISFINAL) || defined(LATERISFINAL)
  byte owned;
#endif
  do
  :: d_step { attempt[c].phase == IDLE ->
       note_what_was(); begin_lease(); attempt[c].phase = ACQUIRING }
#ifdef JUMPS
  :: d_step { jump < JUMPS && COUNT(attempt[c].heard) >= Q && attempt[c].phase == ACQUIRING -> jump++ }
#endif
  :: d_step { attempt[c].phase == ACQUIRING && COUNT(attempt[c].heard) >= Q && INTIME ->
       propose(); attempt[c].heard = 0; attempt[c].phase = COMMITTING }
#if PROPOSALS > 1
  :: d_step { attempt[c].phase == COMMITTING && attempt[c].stale && INTIME ->
       propose(); count_anew() }
#endif
  :: d_step { MAYRUN && COUNT(attempt[c].heard) >= Q && INTIME ->
       check_issue();
       rest_on(attempt[c].heard);
       attempt[c].phase = RUNNING;
       forget_round() }
#ifdef VOIDS
  :: d_step { MAYGIVEUP -> check_giveup(); attempt[c].phase = GAVEUP; forget_round() }
#endif
#ifdef EXTENDS
  :: d_step { attempt[c].phase == RUNNING && !attempt[c].extending && INTIME ->
       note_superseded(); attempt[c].extending = 1 }
  :: d_step { attempt[c].extending && COUNT(attempt[c].renewed) >= Q && INTIME ->
       check_extended();
       rest_on(attempt[c].renewed);
       attempt[c].renewed = 0; attempt[c].superseded = 0; attempt[c].extending = 0 }
#endif
#ifdef LEASES
  :: d_step { attempt[c].valid -> attempt[c].valid = 0; attempt[c].basis = 0;
       attempt[c].renewed = 0; attempt[c].superseded = 0; attempt[c].extending = 0 }
#endif
  od
}


/* What befalls node n by itself. */
proctype Events(byte n) {
  do
  :: d_step { node[n].lock != 0 && !INUSE -> 
#ifdef LEASES
       HOLDER.renewed = HOLDER.renewed & ~BIT(n);
#endif
       node[n].lock = 0 }
#ifdef TOMBEXPIRY
  :: d_step { node[n].dead != 0 -> node[n].dead = 0 }
#endif
#if RESTARTS > 0
  :: d_step { restarts > 0 -> restarts--; note_lost_lock(); raise_floor(); node[n].lock = 0; node[n].dead = 0; lose_claim() }
  :: d_step { restarts > 0 -> restarts--; note_lost_lock(); raise_floor(); node[n].lock = 0; node[n].dead = 0 }
  :: d_step { restarts > 0 -> restarts--; raise_floor() }
#endif
  od
}
