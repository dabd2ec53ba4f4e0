/*
 * The rules of a node (N0 to N6), each one step, as each is one script. They
 * answer in `vote`. n is the node, c the attempt that asks.
 */
mtype:vote = { NO, OK, STALE };

#if defined(NOTOMB) || defined(CORE)
#define DEAD 0
#else
#define DEAD (node[n].dead & BIT(c))
#endif
#define ABSTAINS (attempt[c].tick <= node[n].floor || MUTE)
#define SAMETICK (node[n].tick == attempt[c].tick)
#define MINE (node[n].owner == c)
#ifdef CORE
#define FOREIGN 0
inline set_lock() { skip }
#else
#ifdef NOFOREIGN
#define FOREIGN 0
#else
#define FOREIGN (node[n].lock != 0 && node[n].lock != c)
#endif
inline set_lock() { node[n].lock = c }
#endif

/* The stored claim bars this attempt from its tick. An at-most-once attempt
 * passes only a void claim that was itself at most once: a void rerun claim may
 * have covered another one that did run. */
#if defined(NOSTOREDMODE)
#define BARRED (!node[n].isvoid && !attempt[c].rerun)
#elif defined(VOIDANYMODE)
#define BARRED (!node[n].isvoid && !(node[n].rerun && attempt[c].rerun))
#else
#define BARRED (node[n].rerun -> !attempt[c].rerun : !node[n].isvoid)
#endif

/* N2.2 and N3.4: LATER, DONE, CLAIMED. */
#ifdef NODONE
#define CLOSED (node[n].tick > attempt[c].tick || (SAMETICK && !MINE && BARRED))
#else
#define CLOSED (node[n].tick > attempt[c].tick || (SAMETICK && (node[n].isdone || (!MINE && BARRED))))
#endif
#ifdef NOTICK
#define CLOSED_COMMIT 0
#define CLOSED_ACQUIRE 0
#else
#define CLOSED_COMMIT CLOSED
#ifdef CORE
#define CLOSED_ACQUIRE 0
#else
#define CLOSED_ACQUIRE CLOSED
#endif
#endif

/* N3.6. A void claim's number stays used: it may have covered a claim that runs. */
#if defined(RERUN) || defined(MIXED)
#ifdef VOIDFREESNUMBER
#define OLDNUMBER(a) (SAMETICK && !MINE && !node[n].isvoid && (a) <= node[n].number)
#else
#define OLDNUMBER(a) (SAMETICK && !MINE && (a) <= node[n].number)
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
#define OLDTOKEN(t) ((t) < node[n].fence)
#else
#define OLDTOKEN(t) ((t) <= node[n].fence)
#endif
#endif

inline acquire() {
  if
  :: DEAD || ABSTAINS -> vote = NO
  :: CLOSED_ACQUIRE   -> vote = NO
  :: FOREIGN          -> vote = NO
  :: else             -> set_lock(); vote = OK
  fi
}

/* k tells which of the attempt's proposals is carried by this message. */
inline commit(k) {
  if
  :: DEAD || ABSTAINS -> vote = NO
  :: MINE && SAMETICK && attempt[c].token[k] == node[n].fence && !node[n].isvoid ->
     vote = OK;
     if
     :: !FOREIGN -> set_lock()
     :: else
     fi
  :: FOREIGN -> vote = NO
  :: CLOSED_COMMIT -> vote = NO
  :: OLDTOKEN(attempt[c].token[k]) || OLDNUMBER(attempt[c].number[k]) -> vote = STALE
  :: else ->
     blocked_again();
     node[n].fence = attempt[c].token[k];
     node[n].tick = attempt[c].tick;
     node[n].owner = c;
     node[n].number = attempt[c].number[k];
     node[n].isdone = 0;
     node[n].isvoid = 0;
     node[n].rerun = attempt[c].rerun;
     set_lock();
     vote = OK
  fi
}

#define LAST (attempt[c].tries - 1)
#define OWNS (MINE && attempt[c].tries > 0 && node[n].fence == attempt[c].token[LAST])

/* N4. The lock alone is no title: an old ACQUIRE may have planted it after
 * somebody else ran, so a node that accepted a larger token refuses. */
#ifdef EXTENDANYFENCE
#define OUTRUN 0
#else
#define OUTRUN (node[n].fence > attempt[c].token[LAST])
#endif
#ifdef RELOCKNOOWNER
#define MAYRELOCK 1
#else
#ifdef RELOCKLOOSE
#define MAYRELOCK OWNS
#else
#define MAYRELOCK (OWNS && !node[n].isdone && !node[n].isvoid && !ABSTAINS)
#endif
#endif

inline extend() {
  if
  :: DEAD -> vote = NO
  :: node[n].lock == c && !OUTRUN -> vote = OK
  :: node[n].lock == 0 && MAYRELOCK -> show_relock(); node[n].lock = c; vote = OK
  :: else -> vote = NO
  fi
}

/* N5. */
inline finish() {
  if
  :: OWNS -> node[n].isdone = 1; vote = OK
  :: else -> vote = NO
  fi;
  unlock()
}

/* N6. */
inline void_() {
  vote = OK;
#ifndef CORE
  node[n].dead = node[n].dead | BIT(c);
#endif
  note_told();
  if
#ifdef VOIDNOOWNER
  :: SAMETICK && !node[n].isdone -> node[n].isvoid = 1
#endif
#ifdef VOIDDELETES
  :: MINE && !node[n].isdone ->
     node[n].fence = 0; node[n].tick = 0; node[n].owner = 0; node[n].number = 0
#endif
  :: MINE && !node[n].isdone -> node[n].isvoid = 1
  :: else
  fi;
  unlock()
}

inline unlock() {
  if
  :: node[n].lock == c -> node[n].lock = 0
  :: else
  fi
}

/* N0. The floor lies above everything this node accepted in its former life:
 * that is what restart_grace and FUTURE buy, and all that is assumed of them. */
inline raise_floor() {
#ifdef VOTEATONCE
  skip
#else
  node[n].floor = (node[n].tick > node[n].floor -> node[n].tick : node[n].floor)
#endif
}
inline lose_lock() {
  note_lost_lock();
  node[n].lock = 0;
  node[n].dead = 0
}
inline lose_claim() {
#ifdef NOFLOOR
  node[n].fence = 0;
#endif
  node[n].tick = 0;
  node[n].owner = 0;
  node[n].number = 0;
  node[n].isdone = 0;
  node[n].isvoid = 0;
  node[n].rerun = 0
}
