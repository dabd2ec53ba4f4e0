/*
 * Changes of the list of nodes (N1, M1, M2) as a Promela model of its own: SEAL
 * on the old list, OPEN of the new one, by changers that may be cut off anywhere
 * and begin again, while attempts of replicas with either list are under way.
 *
 * A claim is two rounds as in claim.pml without what can only say no. Each list
 * is a set of nodes with an epoch; all nodes are N. Clocks are not modelled: a
 * seal tells what its node can have accepted (clock.pml shows why it can), and
 * OPEN puts the floor there.
 *
 * Lists (-D): OLD and NEW are sets of nodes, bit by bit; with THIRD a second
 * changer goes from OLD to THIRD; with BACK one goes on from NEW to OLD. Sizes:
 * C attempts. Checks taken away: the other -D names.
 */
#ifndef N
#define N 4
#endif
#ifndef C
#define C 2
#endif
#ifndef OLD
#define OLD 7
#define NEW 14
#endif
#ifndef TWOTICKS
#define TWOTICKS 0
#endif
#define BIT(i) (1 << (i))
#define COUNT(m) (((m)&1) + (((m)>>1)&1) + (((m)>>2)&1) + (((m)>>3)&1) + (((m)>>4)&1))
#define QUORUM(m) (COUNT(m) / 2 + 1)
#define MAX(a, b) ((a) > (b) -> (a) : (b))

typedef Node {
  byte list;             /* set of nodes; 0: blank */
  byte epoch;
  byte target;           /* sealed for this list with the next epoch; 0: not sealed */
  byte fence, tick;      /* the claim */
  byte owner;
  byte floor, floorfence;/* the node abstains up to here */
};
typedef Attempt {
  byte list, epoch;      /* what its replica has joined */
  byte phase;            /* 0 idle, 1 acquiring, 2 committing, 3 runs */
  byte tick, token;
  byte fence;            /* largest heard */
  byte heard;            /* nodes whose yes counts in the present round */
  byte issuedbefore;     /* largest token issued before it began */
};
typedef Changer {
  byte old, new, epoch;  /* epoch of the old list */
  byte sealed;           /* nodes whose seal it has heard */
  byte tick, fence;      /* the largest that these can have accepted */
};
Node node[N];
Attempt attempt[C];
Changer changer[2];

#define FENCE MAX(node[n].fence, node[n].floorfence)
#define TICKS MAX(node[n].tick, node[n].floor)
#ifdef NOEPOCH
#define SAMEEPOCH(x) 1
#else
#define SAMEEPOCH(x) (node[n].epoch == x.epoch)
#endif
/* N1 */
#ifdef NAIVE
#define MEMBER 1
#else
#define MEMBER (node[n].list == attempt[c].list && SAMEEPOCH(attempt[c]) && node[n].target == 0)
#endif

inline acquire() {
  if
  :: MEMBER && attempt[c].tick > node[n].floor && !(attempt[c].heard & BIT(n)) ->
     attempt[c].heard = attempt[c].heard | BIT(n);
     attempt[c].fence = MAX(attempt[c].fence, FENCE)
  :: else
  fi
}
inline commit() {
  if
  :: !MEMBER || attempt[c].tick <= node[n].floor -> skip
  :: node[n].owner == c + 1 -> heard_commit()
  :: node[n].tick >= attempt[c].tick || attempt[c].token <= FENCE -> skip
  :: else ->
     node[n].tick = attempt[c].tick; node[n].fence = attempt[c].token; node[n].owner = c + 1;
     heard_commit()
  fi
}
inline heard_commit() {
  if
  :: attempt[c].phase == 2 -> attempt[c].heard = attempt[c].heard | BIT(n)
  :: else
  fi
}

inline note_what_was() {
  for (i : 0 .. C-1) {
    if
    :: attempt[i].phase == 3 -> attempt[c].issuedbefore = MAX(attempt[c].issuedbefore, attempt[i].token)
    :: else
    fi
  }
  i = 0
}
inline check_issue() {
  for (i : 0 .. C-1) {
    if
    :: i != c && attempt[i].phase == 3 ->
       assert(attempt[i].token != attempt[c].token);
       assert(attempt[i].tick != attempt[c].tick)
    :: else
    fi
  }
  i = 0;
  assert(attempt[c].token > attempt[c].issuedbefore);
  show_issue()
}
#ifdef SHOWNEW
inline show_issue() { assert(attempt[c].epoch == 0) }
#else
inline show_issue() { skip }
#endif

#define Q(c) QUORUM(attempt[c].list)
#define SAY(what) printf("attempt %d: %e, list %d, epoch %d, tick %d, token %d\n", c, what, attempt[c].list, attempt[c].epoch, attempt[c].tick, attempt[c].token)
mtype = { begins, proposes, runs };

/* A replica joins what some node holds. */
proctype Replica(byte c) {
  byte i, n;
  do
  :: d_step { attempt[c].phase == 0 && node[n].list != 0 && (node[n].list & BIT(n)) ->
       attempt[c].list = node[n].list; attempt[c].epoch = node[n].epoch;
       note_what_was(); attempt[c].phase = 1; SAY(begins); n = 0 }
  :: d_step { attempt[c].phase == 0 && n < N - 1 -> n++ }
  :: d_step { attempt[c].phase == 1 && COUNT(attempt[c].heard) >= Q(c) ->
       attempt[c].token = attempt[c].fence + 1; attempt[c].fence = 0;
       attempt[c].heard = 0; attempt[c].phase = 2; SAY(proposes) }
  :: d_step { attempt[c].phase == 2 && COUNT(attempt[c].heard) >= Q(c) ->
       SAY(runs); check_issue(); attempt[c].heard = 0; attempt[c].issuedbefore = 0; attempt[c].phase = 3 }
  od
}

proctype Wire(byte c, n) {
  do
  :: d_step { attempt[c].phase == 1 && (attempt[c].list & BIT(n)) -> acquire() }
  :: d_step { attempt[c].phase >= 2 && (attempt[c].list & BIT(n)) -> commit();
       printf("attempt %d, node %d: COMMIT; now tick %d, token %d, owner %d\n", c, n, node[n].tick, FENCE, node[n].owner) }
  od
}

#define FROM(n) (node[n].list == changer[g].old && SAMEEPOCH(changer[g]))
#define NEXT (changer[g].epoch + 1)
#ifdef BLINDSEAL
#define MAYSEAL (FROM(n) && (changer[g].old & BIT(n)))
#else
#define MAYSEAL (FROM(n) && (changer[g].old & BIT(n)) && (node[n].target == 0 || node[n].target == changer[g].new))
#endif
/* A node that was opened for the target counts as sealed for it. */
#define WASOPENED (node[n].list == changer[g].new && node[n].epoch == NEXT && (changer[g].old & BIT(n)))
#ifdef NOSEALS
#define MAYOPEN 1
#else
#define MAYOPEN (COUNT(changer[g].sealed) >= QUORUM(changer[g].old))
#endif
#ifdef OPENUNSEALED
#define OPENABLE FROM(n)
#else
#define OPENABLE (FROM(n) && node[n].target == changer[g].new)
#endif

inline seal() {
  node[n].target = changer[g].new;
  hear_seal();
  printf("changer %d, node %d: SEAL for list %d\n", g, n, changer[g].new)
}
inline hear_seal() {
  changer[g].sealed = changer[g].sealed | BIT(n);
#ifndef OWNFLOOR
  changer[g].tick = MAX(changer[g].tick, TICKS);
  changer[g].fence = MAX(changer[g].fence, FENCE)
#endif
}
inline open() {
  node[n].floor = MAX(changer[g].tick, TICKS);
  node[n].floorfence = MAX(changer[g].fence, FENCE);
#ifdef OPENFORGETS
  node[n].fence = 0; node[n].tick = 0; node[n].owner = 0;
#endif
  node[n].list = changer[g].new; node[n].epoch = NEXT; node[n].target = 0;
  printf("changer %d, node %d: OPEN as list %d, epoch %d, floor %d, fence %d\n", g, n, changer[g].new, NEXT, node[n].floor, FENCE)
}

/* What it knows is lost when a changer is cut off; the nodes tell it again. */
proctype Change(byte g, n) {
  do
  :: d_step { MAYSEAL -> seal() }
  :: d_step { MAYSEAL && node[n].target == 0 -> node[n].target = changer[g].new }  /* reply lost */
  :: d_step { WASOPENED && !(changer[g].sealed & BIT(n)) -> hear_seal() }
  :: d_step { MAYOPEN && (changer[g].new & BIT(n)) && (node[n].list == 0 || OPENABLE) -> open() }
  od
}

/* M1: a replica formats a blank node of a list which a quorum holds. The floor
 * is whatever its own clock says. */
inline holders() {
  held = 0;
  for (i : 0 .. N-1) {
    if
    :: (list & BIT(i)) && node[i].list == list && node[i].epoch == epoch -> held++
    :: else
    fi
  }
  i = 0
}
proctype Format(byte n, list, epoch) {
  byte i, held;
  d_step { node[n].list == 0 ->
    holders();
    if
    :: held >= QUORUM(list) -> node[n].list = list; node[n].epoch = epoch
    :: else
    fi;
    held = 0 }
}

init {
  byte i, j;
  atomic {
    for (i : 0 .. N-1) {
      if
      :: OLD & BIT(i) -> node[i].list = OLD
      :: else
      fi
    }
    changer[0].old = OLD; changer[0].new = NEW;
#ifdef THIRD
    changer[1].old = OLD; changer[1].new = THIRD;
#endif
#ifdef BACK
    changer[1].old = NEW; changer[1].new = OLD; changer[1].epoch = 1;
#endif
#ifdef NAIVE
    /* Some replicas are simply given the new list. */
    for (i : 0 .. N-1) {
      if
      :: node[i].list == 0 -> node[i].list = NEW
      :: else
      fi
    }
#endif
    for (i : 0 .. C-1) {
      attempt[i].tick = 1;
      do
      :: TWOTICKS && attempt[i].tick == 1 -> attempt[i].tick = 2
      :: break
      od;
      run Replica(i);
      for (j : 0 .. N-1) { run Wire(i, j) }
    }
    for (j : 0 .. N-1) {
      run Change(0, j);
#if defined(THIRD) || defined(BACK)
      run Change(1, j);
#endif
      if
      :: NEW & BIT(j) & ~OLD -> run Format(j, NEW, 1)
      :: else
      fi
    }
    i = 0; j = 0
  }
}
