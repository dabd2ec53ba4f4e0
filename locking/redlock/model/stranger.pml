/*
 * Extensions beside a client of another kind, which takes the lock of a plain
 * Redlock and frees it (STRANGER, with LEASES and one attempt). It leaves no fence,
 * so nodes cannot say that somebody worked in between: the holder has to know.
 *
 * A round of EXTEND may end after the deadline here. A request goes to a node once
 * in a round; it is answered, or its node is open from then on: then what was sent
 * to it may arrive at any later time.
 */
#ifdef STRANGER
#define THESTRANGER (C + 1)
#define MAYSTILLARRIVE (attempt[c].phase != RUNNING || (attempt[c].open & BIT(n)))
#define UNDERWAY attempt[c].extending
#define ASKS (attempt[c].extending && !(attempt[c].answered & BIT(n)))
bit ousted;                /* the stranger has had the lock since the attempt began to run */

#ifdef OPENRENEWS
#define BELIEVED 1
#else
#define BELIEVED (!(attempt[c].open & BIT(n)))
#endif

/* C3: whose lock the round found in place. */
inline note_kept() {
  if
#ifdef SETLATE
  :: vote == SET -> attempt[c].kept = attempt[c].kept | BIT(n)
#endif
  :: vote == RENEWED && BELIEVED -> attempt[c].kept = attempt[c].kept | BIT(n)
  :: else
  fi
}
inline drop_kept() { attempt[node[n].lock].kept = attempt[node[n].lock].kept & ~BIT(n) }

/* A node that was asked for the claim first has had its lock set by that. */
inline was_joined() {
#ifdef JOINRENEWS
  skip
#else
  if
  :: vote == RENEWED -> vote = SET
  :: else
  fi
#endif
}
inline has_answered() { attempt[c].answered = attempt[c].answered | BIT(n) }
inline leaves_open() { attempt[c].open = attempt[c].open | BIT(n) }
inline open_others(but) { attempt[c].open = attempt[c].open | (((1 << N) - 1) & ~(but)) }
inline end_round() { open_others(attempt[c].answered); attempt[c].answered = 0; attempt[c].kept = 0 }

#define ITS(k) (node[k].lock == THESTRANGER)
inline stranger_has() {
  if
  :: ITS(0) + ITS(1) + ITS(2) >= Q && attempt[1].phase == RUNNING ->
     assert(!attempt[1].valid);    /* leases do not overlap */
     ousted = 1
  :: else
  fi
}

/* A lease that somebody else's lay behind is never extended. */
inline check_ousted() { assert(!ousted) }
inline show_late() {
#ifdef SHOWLATE
  assert(attempt[c].phase != RUNNING)
#else
  skip
#endif
}
#else
#define MAYSTILLARRIVE 1
#define UNDERWAY 0
inline note_kept() { skip }
inline drop_kept() { skip }
inline open_others(but) { skip }
inline end_round() { skip }
inline check_ousted() { skip }
#endif
