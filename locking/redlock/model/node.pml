/*
 * The rules of a node (N0 to N6, N8), each one step, as each is one script. They
 * answer in `vote`. n is the node, c the attempt that asks.
 */
mtype:vote = { NO, OK, STALE, RENEWED, SET };

#define MAX(a, b) ((a) > (b) -> (a) : (b))

#if defined(NOTOMB) || defined(CORE)
#define DEAD 0
#else
#define DEAD (node[n].dead & BIT(c))
#endif

/* Each stream has a claim of its own. */
#ifdef ONERECORD
#define RECORD(a) 0
#else
#define RECORD(a) attempt[a].stream
#endif
#define CLAIM node[n].on[RECORD(c)]
#ifdef REPLACES
#define FILED (attempt[CLAIM.owner].stream == attempt[c].stream)
#else
#define FILED 1
#endif
#ifdef PLAIN
#define ISPLAIN(a) (attempt[a].stream == STREAMS - 1)
#else
#define ISPLAIN(a) 0
#endif

/* What FORGET left stands in for a claim that is not there. */
#ifdef NOGCTICK
#define FORGOTTEN 0
#else
#ifdef GCWHOLEJOB
#define FORGOTTEN (node[n].fence == 0 && attempt[c].tick <= node[n].gctick)
#else
#define FORGOTTEN (CLAIM.tick == 0 && attempt[c].tick <= node[n].gctick)
#endif
#endif
#define STORED MAX(node[n].fence, node[n].gcfence)
#define FENCE MAX(STORED, node[n].floorfence)

#define ABSTAINS ((attempt[c].tick <= node[n].floor && !ISPLAIN(c)) || MUTE)
#define SAMETICK (CLAIM.tick == attempt[c].tick && FILED && !ISPLAIN(c))
#define LATERTICK (CLAIM.tick > attempt[c].tick && FILED)
#define MINE (CLAIM.owner == c)
#ifdef CORE
#define FOREIGN 0
inline set_lock() { skip }
#else
#ifdef NOFOREIGN
#define FOREIGN 0
#else
#define FOREIGN ((node[n].lock != 0 && node[n].lock != c) || RIVALS)
#endif
inline set_lock() {
  if
  :: BESIDE(c) -> take_share()
  :: else -> node[n].lock = c
  fi
}
#endif

/* The stored claim bars this attempt from its tick. An at-most-once attempt
 * passes only a void claim that was itself at most once: a void rerun claim may
 * have covered another one that did run. */
#if defined(NOSTOREDMODE)
#define BARRED (!CLAIM.isvoid && !attempt[c].rerun)
#elif defined(VOIDANYMODE)
#define BARRED (!CLAIM.isvoid && !(CLAIM.rerun && attempt[c].rerun))
#else
#define BARRED (CLAIM.rerun -> !attempt[c].rerun : !CLAIM.isvoid)
#endif

/* N2.2 and N3.3: LATER, DONE, CLAIMED. */
#ifdef NODONE
#define HELD (SAMETICK && !MINE && BARRED)
#else
#define HELD (SAMETICK && (CLAIM.isdone || (!MINE && BARRED)))
#endif
#ifdef NOTICK
#define CLOSED 0
#else
#define CLOSED ((LATERTICK || HELD || FORGOTTEN) && !ISPLAIN(c))
#endif

/* N3.6. A void claim's number stays used: it may have covered a claim that runs. */
#if defined(RERUN) || defined(MIXED)
#ifdef VOIDFREESNUMBER
#define OLDNUMBER(a) (SAMETICK && !MINE && !CLAIM.isvoid && (a) <= CLAIM.number)
#else
#define OLDNUMBER(a) (SAMETICK && !MINE && (a) <= CLAIM.number)
#endif
#else
#define OLDNUMBER(a) 0
#endif
#ifdef NONUMBER
#undef OLDNUMBER
#define OLDNUMBER(a) 0
#endif

#ifdef ACCEPTSTALE
#define OLDTOKEN(t) 0
#else
#ifdef ACCEPTEQUAL
#define OLDTOKEN(t) ((t) < FENCE)
#else
#define OLDTOKEN(t) ((t) <= FENCE)
#endif
#endif

inline acquire() {
  if
  :: DEAD || ABSTAINS -> vote = NO
#ifndef CORE
  :: CLOSED           -> vote = NO
#endif
  :: FOREIGN          -> vote = NO
  :: else             -> set_lock(); vote = OK
  fi
}

/* k tells which of the attempt's proposals is carried by this message. */
inline commit(k) {
  if
  :: DEAD || ABSTAINS -> vote = NO
  :: MINE && CLAIM.tick == attempt[c].tick && attempt[c].token[k] == CLAIM.token && !CLAIM.isvoid ->
     vote = OK;
     if
     :: BESIDE(c) -> commit_again(attempt[c].token[k])
     :: !BESIDE(c) && !FOREIGN -> set_lock()
     :: else -> check_again()
     fi
  :: CLOSED -> check_hindered(); vote = NO
#ifndef NOLOST
  :: FOREIGN -> vote = NO
#endif
  :: OLDTOKEN(attempt[c].token[k]) || OLDNUMBER(attempt[c].number[k]) -> vote = STALE
  :: else ->
     blocked_again();
     node[n].fence = attempt[c].token[k];
     CLAIM.tick = attempt[c].tick;
     CLAIM.token = attempt[c].token[k];
     CLAIM.owner = c;
     CLAIM.number = attempt[c].number[k];
     CLAIM.isdone = 0;
     CLAIM.isvoid = 0;
     CLAIM.rerun = attempt[c].rerun;
     set_lock();
     set_title(attempt[c].token[k]);
     vote = OK
  fi
}
inline set_title(offer) {
#ifdef BESIDES
  node[n].title[c] = (BESIDE(c) -> offer : 0)
#else
  skip
#endif
}

#define LAST (attempt[c].tries - 1)
#define OWNS (MINE && attempt[c].tries > 0 && CLAIM.token == attempt[c].token[LAST])

/* N4. The lock alone is no title: an old ACQUIRE may have planted it after
 * somebody else ran, so a node that accepted a larger token refuses. */
#if defined(EXTENDANYFENCE)
#define OUTRUN 0
#elif defined(EXTENDFORGETS)
#define OUTRUN (node[n].fence > attempt[c].token[LAST])
#else
#define OUTRUN (STORED > attempt[c].token[LAST])
#endif
#ifdef RELOCKNOOWNER
#define MAYRELOCK 1
#else
#ifdef RELOCKLOOSE
#define MAYRELOCK OWNS
#else
#define MAYRELOCK (OWNS && !CLAIM.isdone && !CLAIM.isvoid && !ABSTAINS)
#endif
#endif

inline extend() {
  if
  :: BESIDE(c) -> extend_beside()
  :: else -> extend_alone()
  fi
}
inline extend_alone() {
  if
  :: DEAD -> vote = NO
  :: node[n].lock == c && !OUTRUN -> vote = RENEWED
  :: node[n].lock == 0 && !RIVALS && !OUTRUN && MAYRELOCK -> show_relock(); blocked_again(); node[n].lock = c; vote = SET
  :: else -> vote = NO
  fi
}

/* N5. */
inline finish() {
  if
  :: BESIDE(c) -> finish_beside()
  :: else -> finish_alone()
  fi
}
inline finish_alone() {
  if
  :: OWNS -> CLAIM.isdone = 1; vote = OK
  :: else -> vote = NO
  fi;
  unlock()
}

/* N5, with handover: the attempt has ended, and its tick is not done. What it may
 * still send must not keep the next attempt out. */
inline hand_over() {
#ifdef HANDDONE
  if
  :: OWNS -> CLAIM.isdone = 1
  :: else
  fi;
#endif
#ifdef HANDVOIDS
  if
  :: OWNS -> CLAIM.isvoid = 1
  :: else
  fi;
#endif
#if !defined(CORE) && !defined(HANDNOTOMB)
  node[n].dead = node[n].dead | BIT(c);
#endif
  vote = OK;
  note_told();
  show_handover();
  unlock()
}

/* N3.2, N4 and N5 of attempts that run beside others. */
#ifdef BESIDES
inline commit_again(offer) {
  if
  :: SHARES(c) && node[n].title[c] == offer
  :: !(SHARES(c) && node[n].title[c] == offer) && !FOREIGN && LATEST(offer) -> take_share(); node[n].title[c] = offer
  :: else -> check_again()
  fi
}

/* N4. A share is a title only with the token: an old ACQUIRE may have planted
 * it after somebody else ran the tick. */
#define TITLED (SHARES(c) && attempt[c].tries > 0 && node[n].title[c] == attempt[c].token[LAST])
#ifdef UNTITLED
#define RENEWABLE SHARES(c)
#else
#define RENEWABLE TITLED
#endif
inline extend_beside() {
  if
  :: DEAD -> vote = NO
  :: RENEWABLE -> vote = RENEWED
  :: !FOREIGN && !OUTRUN && MAYRELOCK ->
     show_relock(); take_share(); node[n].title[c] = attempt[c].token[LAST]; vote = SET
  :: else -> vote = NO
  fi
}

/* N5. Where a later tick has been claimed, the share says that this one ran. */
#ifdef FINISHANY
#define RAN SHARES(c)
#else
#define RAN TITLED
#endif
inline finish_beside() {
  if
  :: OWNS -> CLAIM.isdone = 1; vote = OK
#ifdef SHAREDDONE
  :: RAN -> CLAIM.isdone = 1; vote = OK
#else
  :: RAN -> vote = OK
#endif
  :: else -> vote = NO
  fi;
  check_done();
  drop_share(c)
}
#else
inline commit_again(offer) { skip }
inline extend_beside() { skip }
inline finish_beside() { skip }
#endif

/* N6. */
inline void_() {
  vote = OK;
#ifndef CORE
  node[n].dead = node[n].dead | BIT(c);
#endif
  note_told();
  if
#ifdef VOIDNOOWNER
  :: SAMETICK && !CLAIM.isdone -> CLAIM.isvoid = 1
#endif
#ifdef VOIDDELETES
  :: MINE && !CLAIM.isdone -> node[n].fence = 0; lose_record(CLAIM)
#endif
  :: MINE && !CLAIM.isdone -> CLAIM.isvoid = 1
  :: else
  fi;
  unlock()
}

inline unlock() {
  drop_share(c);
  if
  :: node[n].lock == c -> node[n].lock = 0
  :: else
  fi
}

/* N8. The largest tick that the node holds a claim of: forgotten ones count. */
#if STREAMS > 1
#define LASTTICK MAX(MAX(node[n].on[0].tick, node[n].on[1].tick), node[n].gctick)
#else
#define LASTTICK MAX(node[n].on[0].tick, node[n].gctick)
#endif
#ifdef BESIDES
#define NOSHARE (node[n].shares == 0)
#else
#define NOSHARE 1
#endif
#ifdef FORGETHELD
#define MAYFORGET (node[n].fence != 0)
#else
#define MAYFORGET (node[n].fence != 0 && node[n].lock == 0 && NOSHARE)
#endif
inline forget() {
  node[n].gctick = LASTTICK;
#ifndef NOGCFENCE
  node[n].gcfence = STORED;
#endif
  lose_claim()
}

/* N0. The floor lies above everything this node accepted in its former life:
 * that is what clock.pml is about, and all that is assumed of clocks here. */
inline raise_floor() {
#ifndef VOTEATONCE
  node[n].floor = MAX(LASTTICK, node[n].floor);
#endif
#ifndef NOFLOOR
  node[n].floorfence = FENCE
#endif
}
inline lose_lock() {
  note_lost_lock();
  lose_shares();
  node[n].lock = 0;
  node[n].dead = 0
}
inline lose_record(r) {
  r.tick = 0; r.token = 0; r.owner = 0; r.number = 0; r.isdone = 0; r.isvoid = 0; r.rerun = 0
}
inline lose_claim() {
  node[n].fence = 0;
  lose_record(node[n].on[0]);
#if STREAMS > 1
  lose_record(node[n].on[1])
#endif
}
inline lose_gc() { node[n].gcfence = 0; node[n].gctick = 0 }

/* A node whose store may come back as it once was. */
#ifdef OLDER
Node kept[N];
inline copy_record(r, s) {
  r.tick = s.tick; r.token = s.token; r.owner = s.owner; r.number = s.number;
  r.isdone = s.isdone; r.isvoid = s.isvoid; r.rerun = s.rerun
}
inline copy(a, b) {
  a.lock = b.lock; a.dead = b.dead; a.fence = b.fence; a.gcfence = b.gcfence; a.gctick = b.gctick;
  copy_record(a.on[0], b.on[0]);
#if STREAMS > 1
  copy_record(a.on[1], b.on[1])
#endif
}
#endif
