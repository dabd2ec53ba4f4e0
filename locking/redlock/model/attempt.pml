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
#define MAYARRIVE_ACQUIRE (attempt[c].phase != IDLE && MAYSTILLARRIVE)
#endif
#define SENT_COMMIT(k) (attempt[c].tries > (k) && MAYSTILLARRIVE)
#define IS_LAST(k) (attempt[c].tries == (k) + 1)
#define UNHEARD (!(attempt[c].heard & BIT(n)))

inline note_fence() {
  if
  :: FENCE > attempt[c].fence -> attempt[c].fence = FENCE
  :: else
  fi;
#if defined(RERUN) || defined(MIXED)
  if
  :: SAMETICK && CLAIM.number > attempt[c].attempts -> attempt[c].attempts = CLAIM.number
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
#ifdef LEFTOUTVOTES
  :: vote == STALE && COUNTING && COUNTS(k) -> attempt[c].heard = attempt[c].heard | BIT(n)
#endif
  :: vote == OK && COUNTING && COUNTS(k) -> attempt[c].heard = attempt[c].heard | BIT(n)
  :: vote == STALE && COUNTING && IS_LAST(k) && attempt[c].tries < PROPOSALS ->
     attempt[c].stale = 1;
     note_fence()
  :: else
  fi
}

#ifdef LEASES
#define VALID attempt[c].valid
#define ENDED (attempt[c].phase == RUNNING && !attempt[c].valid && !UNDERWAY)
#else
#define VALID 1
#define ENDED (attempt[c].phase == RUNNING)
#endif

#ifdef HANDS
#define HANDED attempt[c].handed
#else
#define HANDED 0
#endif

inline hear_finish() {
  if
  :: vote == OK && !FINISHED(c) -> attempt[c].acks = attempt[c].acks | BIT(n)
  :: else
  fi
}

inline hear_extend() {
  if
  :: (vote == RENEWED || vote == SET) && attempt[c].extending ->
     attempt[c].renewed = attempt[c].renewed | BIT(n);
     note_kept()
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

/* C1: a fence may be left out, but the attempt's own earlier token may not. */
#define OWNLAST (attempt[c].tries > 0 -> TOKEN(c) : 0)

inline count_anew() {
#ifdef NOSAMETCOUNT
  skip
#else
  attempt[c].heard = 0
#endif
}

/* C1': a claim in one round begins with COMMIT, with any token that it may think
 * of (DIRECT of them): it has heard of no fence. */
inline begin_at_once(think) {
  note_what_was();
  begin_lease();
  jump = think;
  propose();
  say(proposes_at_once);
  attempt[c].phase = COMMITTING
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

/* Printed when a trace is shown, never during the search. */
mtype = { leaves_out, is_extended_late, is_not_extended, stranger_locks, EXTEND_reply_lost, EXTEND_late, COMMIT_and_EXTEND,
  begins, proposes, proposes_at_once, proposes_again, gives_up, runs, extends, is_extended,
  reaches_deadline, ACQUIRE, ACQUIRE_reply_lost, COMMIT, COMMIT_of_second_token, EXTEND,
  FINISH, HANDOVER, hands_over, VOID, lock_ends, share_ends, lock_is_deleted, is_released_by_force, tombstones_end, forgets, saves,
  restarts_empty, restarts_without_lock, restarts_without_claim, restarts_as_saved, restarts_with_all };
inline say(what) {
  printf("attempt %d %e: stream %d, tick %d, rerun %d, token %d, tries %d\n", c, what,
    attempt[c].stream, attempt[c].tick, attempt[c].rerun,
    (attempt[c].tries > 0 -> TOKEN(c) : 0), attempt[c].tries)
}
inline tell(what) {
  printf("attempt %d, node %d: %e answered %e; now fence %d, tick %d, owner %d, void %d, lock %d\n",
    c, n, what, vote, FENCE, CLAIM.tick, CLAIM.owner, CLAIM.isvoid, node[n].lock);
  vote = 0
}
inline befall(what) { printf("node %d: %e\n", n, what) }

/* What passes between attempt c and node n. */
proctype Wire(byte c, n) {
  mtype:vote vote;
  do
  :: d_step { MAYARRIVE_ACQUIRE -> acquire(); hear_acquire(); tell(ACQUIRE) }
#ifndef CORE
  :: d_step { attempt[c].phase == ACQUIRING -> acquire(); tell(ACQUIRE_reply_lost) }
#endif
  :: d_step { SENT_COMMIT(0) -> commit(0); hear_commit(0); tell(COMMIT) }
#if PROPOSALS > 1
  :: d_step { SENT_COMMIT(1) -> commit(1); hear_commit(1); tell(COMMIT_of_second_token) }
#endif
  :: d_step { ENDED && !HANDED -> finish(); hear_finish(); tell(FINISH) }
#ifdef HANDS
  :: d_step { ENDED && HANDED -> hand_over(); tell(HANDOVER) }
#endif
#ifdef VOIDS
#ifdef VOIDAFTERRUN
  :: d_step { attempt[c].phase == GAVEUP || attempt[c].phase == RUNNING -> void_(); tell(VOID) }
#else
  :: d_step { attempt[c].phase == GAVEUP -> void_(); tell(VOID) }
#endif
#endif
#ifdef STRANGER
  :: d_step { ASKS -> extend(); hear_extend(); has_answered(); tell(EXTEND) }
  :: d_step { ASKS -> extend(); has_answered(); leaves_open(); tell(EXTEND_reply_lost) }
  :: d_step { ASKS -> commit(0); extend(); was_joined(); hear_extend(); has_answered(); tell(COMMIT_and_EXTEND) }
  :: d_step { attempt[c].open & BIT(n) -> extend(); tell(EXTEND_late) }
#else
#ifdef EXTENDS
  :: d_step { attempt[c].tries > 0 -> extend(); hear_extend(); tell(EXTEND) }
#endif
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
#ifndef SHOWDIRECT
  :: d_step { attempt[c].phase == IDLE ->
       say(begins); note_what_was(); begin_lease(); attempt[c].phase = ACQUIRING }
#endif
#ifdef DIRECT
  :: d_step { attempt[c].phase == IDLE -> begin_at_once(0) }
#if DIRECT > 1
  :: d_step { attempt[c].phase == IDLE -> begin_at_once(1) }
#endif
#if DIRECT > 2
  :: d_step { attempt[c].phase == IDLE -> begin_at_once(2) }
#endif
#endif
#ifdef JUMPS
  :: d_step { jump < JUMPS && COUNT(attempt[c].heard) >= Q && attempt[c].phase == ACQUIRING -> jump++ }
#endif
  :: d_step { attempt[c].phase == ACQUIRING && COUNT(attempt[c].heard) >= Q && VALID ->
       propose(); say(proposes); attempt[c].heard = 0; attempt[c].phase = COMMITTING }
#ifdef LEAVEOUT
  :: d_step { (attempt[c].phase == ACQUIRING || attempt[c].phase == COMMITTING) && attempt[c].fence > OWNLAST ->
       say(leaves_out); attempt[c].fence = OWNLAST }
#endif
#if PROPOSALS > 1
  :: d_step { attempt[c].phase == COMMITTING && attempt[c].stale && VALID ->
       propose(); say(proposes_again); count_anew() }
#endif
  :: d_step { MAYRUN && COUNT(attempt[c].heard) >= Q && VALID ->
       say(runs); check_issue();
       rest_on(attempt[c].heard);
       open_others(attempt[c].heard);
       attempt[c].phase = RUNNING;
       forget_round() }
#ifdef VOIDS
  :: d_step { MAYGIVEUP -> say(gives_up); check_giveup(); attempt[c].phase = GAVEUP; forget_round() }
#endif
#ifdef HANDS
  :: d_step { ENDED && !HANDED && attempt[c].acks == 0 && !attempt[c].extending ->
       say(hands_over); HANDED = 1 }
#endif
#ifdef EXTENDS
  :: d_step { attempt[c].phase == RUNNING && !attempt[c].extending && !HANDED && VALID ->
       say(extends); note_superseded(); attempt[c].extending = 1 }
  :: d_step { attempt[c].extending && COUNT(attempt[c].renewed) >= Q && VALID ->
       say(is_extended); check_extended(); check_ousted();
       rest_on(attempt[c].renewed);
       end_round();
       attempt[c].renewed = 0; attempt[c].superseded = 0; attempt[c].extending = 0 }
#endif
#ifdef STRANGER
  :: d_step { attempt[c].extending && !VALID && COUNT(attempt[c].kept) >= Q ->
       say(is_extended_late); check_ousted(); show_late();
       rest_on(attempt[c].renewed); attempt[c].valid = 1;
       end_round(); attempt[c].renewed = 0; attempt[c].extending = 0 }
  :: d_step { attempt[c].extending -> say(is_not_extended);
       end_round(); attempt[c].renewed = 0; attempt[c].extending = 0 }
  :: d_step { attempt[c].valid -> say(reaches_deadline); attempt[c].valid = 0; attempt[c].basis = 0 }
#else
#ifdef LEASES
  :: d_step { attempt[c].valid -> say(reaches_deadline); attempt[c].valid = 0; attempt[c].basis = 0;
       attempt[c].renewed = 0; attempt[c].superseded = 0; attempt[c].extending = 0 }
#endif
#endif
  od
}

/* What befalls node n by itself, or by an operator's hand. */
proctype Events(byte n) {
  do
  :: d_step { node[n].lock != 0 && !INUSE -> befall(lock_ends); drop_renewal(); node[n].lock = 0 }
#ifdef BESIDES
  :: d_step { SHARES(1) && !INTIME(1, n) -> befall(share_ends); drop_share(1); attempt[1].renewed = attempt[1].renewed & ~BIT(n) }
  :: d_step { SHARES(2) && !INTIME(2, n) -> befall(share_ends); drop_share(2); attempt[2].renewed = attempt[2].renewed & ~BIT(n) }
#if C > 2
  :: d_step { SHARES(3) && !INTIME(3, n) -> befall(share_ends); drop_share(3); attempt[3].renewed = attempt[3].renewed & ~BIT(n) }
#endif
#endif
#ifdef STRANGER
  :: d_step { node[n].lock == 0 -> befall(stranger_locks); node[n].lock = THESTRANGER; stranger_has() }
#endif
#ifdef EVICT
  :: d_step { node[n].lock != 0 -> befall(is_released_by_force); drop_renewal();
       node[n].dead = node[n].dead | BIT(node[n].lock); node[n].lock = 0 }
#endif
#ifdef DELETELOCK
  :: d_step { node[n].lock != 0 -> befall(lock_is_deleted); drop_renewal(); node[n].lock = 0 }
#endif
#ifdef TOMBEXPIRY
  :: d_step { node[n].dead != 0 -> befall(tombstones_end); node[n].dead = 0 }
#endif
#ifdef FORGETS
  :: d_step { MAYFORGET -> befall(forgets); forget() }
#endif
#if RESTARTS > 0
  :: d_step { restarts > 0 -> befall(restarts_empty);
       restarts--; raise_floor(); lose_lock(); lose_claim(); lose_gc() }
  :: d_step { restarts > 0 -> befall(restarts_without_lock);
       restarts--; raise_floor(); lose_lock() }
  :: d_step { restarts > 0 -> befall(restarts_with_all);
       restarts--; raise_floor() }
#ifdef OLDER
  :: d_step { restarts > 0 -> befall(saves); copy(kept[n], node[n]) }
  :: d_step { restarts > 0 -> befall(restarts_as_saved);
       restarts--; raise_floor(); note_lost_lock(); copy(node[n], kept[n]) }
  :: d_step { restarts > 0 -> befall(restarts_without_claim);
       restarts--; raise_floor(); lose_claim(); lose_gc() }
#endif
#endif
  od
}
