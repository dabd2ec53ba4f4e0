/*
 * What is said of a tick that replicas claim and none runs (C2, C5). A replica that Q
 * nodes have told of another's claim leaves the tick to that replica, perhaps after
 * it has given up a try of its own. Two may leave it to each other. So a replica whose
 * try a quorum may have accepted says at its end that the tick did not run.
 *
 * A request of a try may arrive at any later time, or never. Its answer may be
 * lost. VOID arrives at any time after the try was given up, which leaves a tombstone.
 * A replica remembers what a node told it, however old that is. It gives up each try
 * at any moment, as a try that wins leaves nothing to say. It dies never, and its window
 * may end at any time.
 *
 * Tokens, locks and restarts are left out: a node takes any claim of the tick while it
 * has none. That is worth a void claim, or a smaller token, elsewhere.
 *
 * Sizes (-D): N nodes, T tries of each of two replicas.
 * Checks taken away: UNSAID.
 */
#ifndef N
#define N 3
#endif
#ifndef T
#define T 1
#endif
#define Q (N / 2 + 1)
#define ALL ((1 << N) - 1)
#define BIT(n) (1 << (n))
#define COUNT(m) (((m)&1) + (((m)>>1)&1) + (((m)>>2)&1) + (((m)>>3)&1) + (((m)>>4)&1))
#define ANY(n) select(n : 0 .. N - 1)

typedef Try {
  byte under;              /* nodes that its request may still reach */
  byte able;               /* nodes that may have accepted it, as far as the replica knows */
  byte dead;               /* nodes with its tombstone */
  bool over;               /* given up */
};
typedef Replica {
  byte told[N];            /* the other's try that the node named last; 0: none */
  bool shown, said, ended;
};
Try try[2 * T + 1];        /* from 1: first those of replica 0 */
Replica replica[2];
byte claim[N];             /* the try; 0: none */

#define OTHERS(r, v) ((v) > (1 - (r)) * T && (v) <= (2 - (r)) * T)

/* arrive(v, n): COMMIT of a try reaches a node. */
inline arrive(r, v, n) {
  if
  :: try[v].dead & BIT(n)
  :: !(try[v].dead & BIT(n)) && (claim[n] == 0 || claim[n] == v) ->
    claim[n] = v
  :: else ->
    if                     /* the answer arrives, or is lost */
    :: replica[r].told[n] = claim[n];
      try[v].able = try[v].able & ~BIT(n)
    :: true
    fi
  fi
}

proctype replicate(byte r) {
  byte v = 1 + r * T, n, quorum;
  do
  :: v <= (r + 1) * T ->
    /* A try asks all nodes. */
    atomic {
      try[v].under = ALL; try[v].able = ALL
    };
    atomic {               /* It is given up. */
      replica[r].shown = replica[r].shown || COUNT(try[v].able) >= Q;
      try[v].able = 0; try[v].over = true; v++
    }
  :: v > r * T + 1 ->      /* it looks at a node */
    atomic { ANY(n); replica[r].told[n] = (OTHERS(r, claim[n]) -> claim[n] : 0); n = 0 }
  :: atomic {              /* it leaves the tick to the other */
      n = 1 + (1 - r) * T;
      do
      :: n <= (2 - r) * T ->
        quorum = (replica[r].told[0] == n) + (replica[r].told[1] == n) + (replica[r].told[2] == n);
        if
        :: quorum >= Q -> break
        :: else -> n++
        fi
      :: else -> break
      od;
      quorum >= Q ->
#ifndef UNSAID
      replica[r].said = replica[r].shown;
#endif
      goto end
    }
  :: v > (r + 1) * T -> atomic { replica[r].said = true; goto end } /* its window ends */
  od;
end:
  atomic {
    replica[r].ended = true;
    assert(!(replica[0].ended && replica[1].ended) || replica[0].said || replica[1].said)
  }
}

/* The network delivers what is under way. */
proctype deliver() {
  byte v, n;
end:
  do
  :: atomic {
      select(v : 1 .. 2 * T); ANY(n);
      if
      :: try[v].under & BIT(n) -> try[v].under = try[v].under & ~BIT(n); arrive((v - 1) / T, v, n)
      :: try[v].over && !(try[v].dead & BIT(n)) ->
        try[v].dead = try[v].dead | BIT(n);
        try[v].under = try[v].under & ~BIT(n);
        if
        :: claim[n] == v -> claim[n] = 0
        :: else
        fi
      :: else
      fi;
      v = 0; n = 0
    }
  od
}

init { atomic { run replicate(0); run replicate(1); run deliver() } }
