/*
 * Changes of the list of nodes (N1, M1, M2) as a Promela model of its own: SEAL
 * on the old list, OPEN of the new one, by changers that may be cut off anywhere
 * and begin again, while tries of replicas with either list are under way.
 *
 * A try has one token, which may be anything, as in claim.pml. Each list is a set
 * of nodes with an epoch; all nodes are N. Clocks are not modelled: a seal tells what
 * its node can have accepted (clock.pml shows why it can), and OPEN puts the floor
 * there.
 *
 * Lists (-D): OLD and NEW are sets of nodes, bit by bit; with THIRD a second
 * changer goes from OLD to THIRD; with BACK one goes on from NEW to OLD. Sizes:
 * C tries. Checks taken away: the other -D names.
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
typedef Try {
  byte list, epoch;      /* what its replica has joined */
  bit begun, won;
  byte token;
  byte heard;            /* nodes that have granted it */
  byte issuedbefore;     /* largest token issued before it began */
};
typedef Changer {
  byte old, new, epoch;  /* epoch of the old list */
  byte sealed;           /* nodes whose seal it has heard */
  byte tick, fence;      /* the largest that these can have accepted */
};
Node node[N];
Try try[C];
Changer changer[2];

#define FENCE MAX(node[n].fence, node[n].floorfence)
#define TICKS MAX(node[n].tick, node[n].floor)
#define SAMEEPOCH(x) (node[n].epoch == x.epoch)
/* N1 */
#ifdef NAIVE
#define MEMBER 1
#else
#define MEMBER (node[n].list == try[c].list && SAMEEPOCH(try[c]) && node[n].target == 0)
#endif

/* All tries are for tick 1. */
inline commit() {
  if
  :: !MEMBER || 1 <= node[n].floor -> skip
  :: node[n].owner == c + 1 -> try[c].heard = try[c].heard | BIT(n)
  :: node[n].tick >= 1 || try[c].token <= FENCE -> skip
  :: else ->
     node[n].tick = 1; node[n].fence = try[c].token; node[n].owner = c + 1;
     try[c].heard = try[c].heard | BIT(n)
  fi;
  try[c].heard = (try[c].won -> 0 : try[c].heard)
}

inline note_what_was() {
  for (i : 0 .. C-1) {
    try[c].issuedbefore = (try[i].won -> MAX(try[c].issuedbefore, try[i].token) : try[c].issuedbefore)
  }
  i = 0
}
inline check_issue() {
  for (i : 0 .. C-1) {
    assert(i == c || !try[i].won || try[i].token != try[c].token);
    assert(i == c || !try[i].won)                                     /* once */
  }
  i = 0;
  assert(try[c].token > try[c].issuedbefore);
#ifdef SHOWNEW
  assert(try[c].epoch == 0)
#endif
}

mtype = { begins, runs };
#define SAY(what) printf("try %d: %e, list %d, epoch %d, token %d\n", c, what, try[c].list, try[c].epoch, try[c].token)

/* A replica joins what some node holds. */
proctype Replica(byte c) {
  byte i, n;
  do
  :: atomic { !try[c].begun && node[n].list != 0 && (node[n].list & BIT(n)) ->
       try[c].list = node[n].list; try[c].epoch = node[n].epoch; n = 0;
       note_what_was(); try[c].begun = 1; try[c].token = 1;
       do
       :: try[c].token < C -> try[c].token++
       :: break
       od;
       SAY(begins) }
  :: d_step { !try[c].begun && n < N - 1 -> n++ }
  :: d_step { !try[c].won && COUNT(try[c].heard) >= QUORUM(try[c].list) ->
       SAY(runs); check_issue(); try[c].heard = 0; try[c].issuedbefore = 0; try[c].won = 1 }
  od
}

proctype Wire(byte c, n) {
  do
  :: d_step { try[c].begun && (try[c].list & BIT(n)) -> commit();
       printf("try %d, node %d: COMMIT; now tick %d, token %d, owner %d\n", c, n, node[n].tick, FENCE, node[n].owner) }
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
