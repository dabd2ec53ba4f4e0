#!/usr/bin/env bash
# Checks the claim protocol with spin: every configuration that must hold, and
# every check taken away once, which must break the promise it protects. Prints
# a table; exits 1 if anything comes out otherwise.
#
#   ./check.sh            everything, a few minutes on two cores
#   ./check.sh --quick    under a minute
#   ./check.sh NAME       one configuration; --trace NAME also prints its trace
#
# JOBS (default: number of cores) run at once, up to 3 GB of memory each.
set -euo pipefail
work=
cd "$(dirname "$0")"

# set | name | expected promise broken, or holds | flags without their -D
# set: q also in --quick, f only in full. The flags begin with CLOCK or MEMBERS
# where the model is clock.pml or members.pml, else it is claim.pml.
configurations() {
  cat <<'LIST'
q | at-most-once           | holds      | CORE C=2 TICKS=2
q | at-most-once, void     | holds      | CORE VOIDS C=2 TICKS=2
q | rerun, void            | holds      | CORE VOIDS RERUN C=2 JUMPS=2
q | mixed modes, void      | holds      | CORE VOIDS MIXED=1 C=2 JUMPS=1
q | restart, void          | holds      | CORE VOIDS RESTARTS=1 C=2 TICKS=2 PROPOSALS=1
f | 3 attempts, all        | holds      | CORE VOIDS C=3 TICKS=2
f | 3 attempts, jumps      | holds      | CORE VOIDS RERUN C=3 JUMPS=2 PROPOSALS=1
f | 3 attempts, restart    | holds      | CORE VOIDS RESTARTS=1 C=3 TICKS=2 PROPOSALS=1
f | two restarts, void     | holds      | CORE VOIDS RESTARTS=2 C=2 TICKS=2 PROPOSALS=1
f | restart, rerun         | holds      | CORE VOIDS RERUN RESTARTS=1 C=2
f | 3 attempts, rerun      | holds      | CORE VOIDS RERUN C=3 PROPOSALS=1
f | 3 attempts, mixed 1    | holds      | CORE VOIDS MIXED=1 C=3 PROPOSALS=1
f | 3 attempts, mixed 2    | holds      | CORE VOIDS MIXED=2 C=3 PROPOSALS=1
f | 5 nodes, 2 ticks       | holds      | CORE VOIDS N=5 C=2 TICKS=2 PROPOSALS=1
q | lock and tombstones    | holds      | VOIDS FREE C=2
f | extend, 2 ticks        | holds      | EXTENDS C=2 TICKS=2 PROPOSALS=1
f | extend, rerun, void    | holds      | EXTENDS VOIDS RERUN C=2 PROPOSALS=1
f | relock: owner only     | holds      | EXTENDS RELOCKLOOSE RERUN VOIDS RESTARTS=1 C=2 PROPOSALS=1
q | leases                 | holds      | LEASES EXTENDS C=2 TICKS=2 PROPOSALS=1
f | leases, rerun          | holds      | LEASES EXTENDS RERUN C=2 PROPOSALS=1
f | leases, restart        | holds      | LEASES EXTENDS RESTARTS=1 C=2 TICKS=2 PROPOSALS=1
f | beside                 | holds      | BESIDES=1 EXTENDS VOIDS C=2 TICKS=2 PROPOSALS=1
f | beside, any            | holds      | BESIDES=2 EXTENDS C=2 TICKS=2 PROPOSALS=1
f | beside, rerun          | holds      | BESIDES=1 EXTENDS VOIDS RERUN C=2 TICKS=2 PROPOSALS=1
q | beside, leases         | holds      | BESIDES=2 LEASES EXTENDS C=2 TICKS=2 PROPOSALS=1
f | beside, leases, rerun  | holds      | BESIDES=2 LEASES EXTENDS RERUN C=2 TICKS=2 PROPOSALS=1
f | beside, restart        | holds      | BESIDES=2 LEASES EXTENDS RESTARTS=1 C=2 TICKS=2 PROPOSALS=1
f | beside, streams        | holds      | BESIDES=2 EXTENDS STREAMS=2 C=2 PROPOSALS=1
f | beside, forget         | holds      | BESIDES=2 FORGETS EXTENDS RERUN C=2 PROPOSALS=1
f | streams                | holds      | CORE VOIDS C=2 STREAMS=2 TICKS=2
f | streams, 3 attempts    | holds      | CORE VOIDS C=3 STREAMS=2 PROPOSALS=1
f | plain beside ticks     | holds      | CORE VOIDS C=2 STREAMS=2 PLAIN TICKS=2 RESTARTS=1 PROPOSALS=1
q | forget                 | holds      | CORE FORGETS C=2 TICKS=2
f | forget, restart        | holds      | CORE FORGETS VOIDS C=2 TICKS=2 RESTARTS=1 PROPOSALS=1
f | forget, streams, rerun | holds      | CORE VOIDS FORGETS RERUN STREAMS=2 C=2
f | forget, extend         | holds      | FORGETS EXTENDS RERUN C=2 PROPOSALS=1
q | forget, leases         | holds      | LEASES EXTENDS FORGETS C=2 TICKS=2 PROPOSALS=1
f | older store            | holds      | CORE RESTARTS=1 OLDER C=2 TICKS=2 PROPOSALS=1
f | older store, rerun     | holds      | CORE RERUN RESTARTS=1 OLDER C=2 PROPOSALS=1
f | older store, forget    | holds      | CORE FORGETS RESTARTS=1 OLDER C=2 PROPOSALS=1
q | left out               | holds      | LEAVEOUT CORE VOIDS C=2 TICKS=2
f | left out, rerun        | holds      | LEAVEOUT CORE VOIDS RERUN C=2
f | left out, restart      | holds      | LEAVEOUT CORE VOIDS RESTARTS=1 C=2 TICKS=2 PROPOSALS=1
q | handover               | holds      | HANDS VOIDS FREE RERUN C=2 PROPOSALS=1
f | handover, mixed modes  | holds      | HANDS CORE VOIDS MIXED=1 C=2 JUMPS=1
f | handover, 3 attempts   | holds      | HANDS CORE VOIDS RERUN C=3 PROPOSALS=1
q | handover, leases       | holds      | HANDS LEASES EXTENDS FREE RERUN C=2 PROPOSALS=1
f | handover, restart      | holds      | HANDS CORE VOIDS RERUN RESTARTS=1 C=2
f | handover, beside       | holds      | HANDS BESIDES=1 EXTENDS RERUN C=2 TICKS=2 PROPOSALS=1
q | direct                 | holds      | DIRECT=2 CORE VOIDS C=2 TICKS=2
f | direct, rerun          | holds      | DIRECT=2 CORE VOIDS RERUN C=2
f | direct, mixed modes    | holds      | DIRECT=2 CORE VOIDS MIXED=1 C=2 JUMPS=1
f | direct, 3 attempts     | holds      | DIRECT=2 CORE VOIDS C=3 TICKS=2 PROPOSALS=1
f | direct, 3 reruns       | holds      | DIRECT=3 CORE VOIDS RERUN C=3 PROPOSALS=1
f | direct, 5 nodes        | holds      | DIRECT=2 CORE VOIDS N=5 C=2 TICKS=2 PROPOSALS=1
f | direct, restart        | holds      | DIRECT=2 CORE VOIDS RESTARTS=1 C=2 TICKS=2 PROPOSALS=1
f | direct, older store    | holds      | DIRECT=2 CORE RESTARTS=1 OLDER C=2 TICKS=2 PROPOSALS=1
f | direct, streams        | holds      | DIRECT=2 CORE VOIDS C=2 STREAMS=2 TICKS=2
f | direct, forget         | holds      | DIRECT=2 CORE FORGETS VOIDS C=2 TICKS=2 RESTARTS=1 PROPOSALS=1
q | direct, tombstones     | holds      | DIRECT=2 VOIDS FREE C=2
f | direct, extend, rerun  | holds      | DIRECT=2 EXTENDS VOIDS RERUN C=2 PROPOSALS=1
q | direct, leases         | holds      | DIRECT=2 LEASES EXTENDS C=2 TICKS=2 PROPOSALS=1
f | direct, leases, rerun  | holds      | DIRECT=2 LEASES EXTENDS RERUN C=2 PROPOSALS=1
q | leases, stranger       | holds      | STRANGER LEASES EXTENDS C=1 PROPOSALS=1
q | direct, stranger       | holds      | STRANGER DIRECT=1 LEASES EXTENDS C=1 PROPOSALS=1
f | direct, leases, restart | holds     | DIRECT=2 LEASES EXTENDS RESTARTS=1 C=2 TICKS=2 PROPOSALS=1
f | direct, beside, leases | holds      | DIRECT=1 BESIDES=2 LEASES EXTENDS C=2 TICKS=2 PROPOSALS=1
f | direct, beside, rerun  | holds      | DIRECT=1 BESIDES=1 EXTENDS VOIDS RERUN C=2 PROPOSALS=1
q | clocks                 | holds      | CLOCK RESTARTS=2
q | clocks, tokens         | holds      | CLOCK RESTARTS=2 TOKENS
f | clocks set back        | holds      | CLOCK RESTARTS=1 STEPS
q | clocks, leases         | holds      | CLOCK RESTARTS=1 TTL=3
q | clocks, open           | holds      | CLOCK RESTARTS=1 OPENS
f | clocks, open, tokens   | holds      | CLOCK RESTARTS=1 OPENS TOKENS
q | list: one replaced     | holds      | MEMBERS N=4 OLD=7 NEW=14
f | list: 3 to 5           | holds      | MEMBERS N=5 OLD=7 NEW=31
q | list: 3 to 1           | holds      | MEMBERS N=3 OLD=7 NEW=1
f | list: 1 to 3           | holds      | MEMBERS N=3 OLD=1 NEW=7
f | list: two targets      | holds      | MEMBERS N=4 OLD=7 NEW=14 THIRD=13
f | list: open unsealed    | holds      | MEMBERS OPENUNSEALED N=4 OLD=7 NEW=14 THIRD=13
f | list: claims dropped   | holds      | MEMBERS OPENFORGETS N=4 OLD=7 NEW=14
f | list: there and back   | holds      | MEMBERS N=4 OLD=7 NEW=14 BACK
f | show: two streams      | reached    | SHOWSTREAMS CORE C=2 STREAMS=2
f | show: run after forget | reached    | SHOWFORGET CORE FORGETS C=2 TICKS=2
q | show: run on new list  | reached    | MEMBERS SHOWNEW N=4 OLD=7 NEW=14
q | show: in one round     | reached    | SHOWDIRECT DIRECT=2 CORE C=2
q | show: void, then run   | reached    | SHOWREOPEN VOIDS C=2
q | show: run after STALE  | reached    | SHOWRETRY C=2 TICKS=2
q | show: run after handover | reached  | SHOWHANDOVER HANDS RERUN C=2
q | show: rerun            | reached    | SHOWRERUN RERUN C=2
q | show: lock set again   | reached    | SHOWRELOCK EXTENDS C=2
q | show: older extended   | reached    | BESIDES=1 SHOWOLDER EXTENDS C=2 TICKS=2 PROPOSALS=1
q | show: extended late    | reached    | SHOWLATE STRANGER LEASES EXTENDS C=1 PROPOSALS=1
q | NOTICK                 | once       | NOTICK CORE C=2
q | ACCEPTSTALE            | order      | ACCEPTSTALE CORE C=2 TICKS=2
q | ACCEPTEQUAL            | unique     | ACCEPTEQUAL CORE C=2 TICKS=2
q | NODONE                 | finished   | NODONE CORE RERUN C=2
q | HANDDONE               | holds      | HANDDONE SHOWHANDOVER HANDS RERUN C=2
q | HANDVOIDS              | once       | HANDVOIDS HANDS CORE C=2
q | HANDNOTOMB             | blocked    | HANDNOTOMB HANDS LEASES EXTENDS FREE RERUN C=2 PROPOSALS=1
q | NOSAMETCOUNT           | finished   | NOSAMETCOUNT CORE RERUN C=2
q | NOFLOOR                | order      | NOFLOOR CORE RESTARTS=1 C=2 TICKS=2
q | VOTEATONCE             | once       | VOTEATONCE CORE RESTARTS=1 C=2
q | QMINUS1                | once       | QMINUS1 CORE C=2
q | NOSTOREDMODE           | once       | NOSTOREDMODE CORE MIXED=1 C=2
q | NONUMBER               | number     | NONUMBER CORE RERUN JUMPS=1 C=2
q | VOIDAFTERRUN           | once       | VOIDAFTERRUN VOIDS CORE C=2
q | RUNAFTERVOID           | once       | RUNAFTERVOID VOIDS CORE C=2
q | VOIDNOOWNER            | once       | VOIDNOOWNER VOIDS CORE C=3 PROPOSALS=1
q | VOIDDELETES            | unique     | VOIDDELETES VOIDS CORE C=3 TICKS=2 PROPOSALS=1
q | VOIDANYMODE            | once       | VOIDANYMODE VOIDS CORE MIXED=2 C=3 PROPOSALS=1
f | VOIDFREESNUMBER        | number     | VOIDFREESNUMBER VOIDS CORE RERUN JUMPS=2 C=3 PROPOSALS=1
q | NOTOMB                 | blocked    | NOTOMB VOIDS FREE C=2
q | TOMBEXPIRY             | blocked    | TOMBEXPIRY VOIDS FREE C=2
f | RELOCKNOOWNER          | superseded | RELOCKNOOWNER EXTENDANYFENCE EXTENDS C=2 TICKS=2 PROPOSALS=1
q | EXTENDANYFENCE         | superseded | EXTENDANYFENCE EXTENDS RERUN C=2 PROPOSALS=1
q | NOFOREIGN              | lease      | NOFOREIGN LEASES EXTENDS C=2 TICKS=2 PROPOSALS=1
q | SETLATE                | ousted     | SETLATE STRANGER LEASES EXTENDS C=1 PROPOSALS=1
q | OPENRENEWS             | ousted     | OPENRENEWS STRANGER LEASES EXTENDS C=1 PROPOSALS=1
q | JOINRENEWS             | ousted     | JOINRENEWS STRANGER LEASES EXTENDS C=1 PROPOSALS=1
f | NOGRACE                | lease      | NOGRACE LEASES EXTENDS RESTARTS=1 C=2 TICKS=2 PROPOSALS=1
q | ONERECORD              | stream     | ONERECORD CORE C=2 STREAMS=2 TICKS=2
f | REPLACES               | once       | ONERECORD REPLACES CORE C=3 STREAMS=2 TICKS=2
q | NOGCFENCE              | unique     | NOGCFENCE FORGETS CORE C=2 TICKS=2
q | NOGCTICK               | once       | NOGCTICK FORGETS CORE C=2
f | GCWHOLEJOB             | once       | GCWHOLEJOB FORGETS CORE C=3 STREAMS=2 TICKS=2 PROPOSALS=1
f | EXTENDFORGETS          | superseded | EXTENDFORGETS FORGETS FORGETHELD EXTENDS RERUN C=2 PROPOSALS=1
q | NOSHARES               | lease      | NOSHARES BESIDES=2 LEASES C=2 TICKS=2 PROPOSALS=1
q | UNTITLED               | superseded | UNTITLED BESIDES=1 EXTENDS RERUN C=2 PROPOSALS=1
q | TAKEUPLATE             | superseded | TAKEUPLATE BESIDES=2 EXTENDS STREAMS=2 C=2 PROPOSALS=1
q | FINISHANY              | finished   | FINISHANY BESIDES=1 RERUN C=2 PROPOSALS=1
q | SHAREDDONE             | done       | SHAREDDONE BESIDES=1 C=2 TICKS=2 PROPOSALS=1
q | ACCEPTSTALE, left out  | order      | ACCEPTSTALE LEAVEOUT CORE C=2 TICKS=2
q | LEFTOUTVOTES           | order      | LEFTOUTVOTES LEAVEOUT CORE C=2 TICKS=2
q | ACCEPTSTALE, direct    | order      | ACCEPTSTALE DIRECT=2 CORE C=2 TICKS=2
q | ACCEPTEQUAL, direct    | unique     | ACCEPTEQUAL DIRECT=2 CORE C=2 TICKS=2
q | NOTICK, direct         | once       | NOTICK DIRECT=2 CORE C=2
q | NONUMBER, direct       | number     | NONUMBER DIRECT=2 CORE RERUN C=2
q | NOSAMETCOUNT, direct   | finished   | NOSAMETCOUNT DIRECT=2 CORE RERUN C=2
q | NOLOST, direct         | lease      | NOLOST DIRECT=2 LEASES EXTENDS C=2 TICKS=2 PROPOSALS=1
f | EVICT                  | lease      | EVICT LEASES EXTENDS C=2 TICKS=2 PROPOSALS=1
f | DELETELOCK             | again      | DELETELOCK LEASES EXTENDS C=2 TICKS=2 PROPOSALS=1
f | STRICT                 | finished   | STRICT OLDER RERUN CORE RESTARTS=1 C=2 PROPOSALS=1
f | OLDERNOFLOOR           | order      | OLDER NOFLOOR CORE RESTARTS=1 C=2 TICKS=2 PROPOSALS=1
q | NOFUTURE               | forgotten  | CLOCK NOFUTURE
f | NOFUTURE, tokens       | forgotten  | CLOCK NOFUTURE TOKENS
q | PLUSASECOND            | forgotten  | CLOCK PLUSASECOND TOKENS
q | SHORTFLOOR             | forgotten  | CLOCK SHORTFLOOR
f | BACK=3                 | forgotten  | CLOCK BACK=3
f | LASTLIFE               | forgotten  | CLOCK LASTLIFE
f | STEPSFREELY            | forgotten  | CLOCK STEPS STEPSFREELY RESTARTS=1
q | SERVEEARLY             | overlap    | CLOCK SERVEEARLY HALF=3 MAXTIME=14 TTL=5 RESTARTS=1
f | TTL=6                  | overlap    | CLOCK TTL=6 RESTARTS=1
q | OWNTIME                | sealed     | CLOCK OPENS OWNTIME STEPS RESTARTS=0
f | OPENFAR                | sealed     | CLOCK OPENS OPENFAR RESTARTS=0
f | BACK=3, open           | sealed     | CLOCK OPENS STEPS BACK=3 RESTARTS=0
q | NAIVE                  | once       | MEMBERS NAIVE N=5 OLD=7 NEW=31
q | NOSEALS                | unique     | MEMBERS NOSEALS N=4 OLD=7 NEW=14
f | BLINDSEAL              | unique     | MEMBERS BLINDSEAL N=4 OLD=7 NEW=14 THIRD=13
q | OWNFLOOR               | unique     | MEMBERS OWNFLOOR N=4 OLD=7 NEW=14
q | CLAIMEDISFINAL         | final      | CLAIMEDISFINAL VOIDS CORE C=2
q | LATERISFINAL           | final      | LATERISFINAL CORE C=2 TICKS=2
LIST
}

need_spin() {
  if command -v spin >/dev/null && command -v gcc >/dev/null; then return; fi
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get install -y spin gcc libc6-dev >/dev/null && return
  fi
  echo "check.sh: spin or gcc is missing; install the packages spin and gcc" >&2
  exit 2
}

# Names the promise by the assertion that pan reports as violated.
promise() {
  case "$1" in
  "") echo holds ;;
  *finishedbefore* | *acks*) echo finished ;;
  *handovers*) echo reached ;;
  *topever*opensince* | *opensince*topever*) echo sealed ;;
  *topever*) echo forgotten ;;
  *left==0*) echo overlap ;;
  *issuedbefore*) echo order ;;
  *superseded*) echo superseded ;;
  *ousted*) echo ousted ;;
  *told*) echo blocked ;;
  *valid*phase*) echo again ;;
  *valid*) echo lease ;;
  *isdone*phase*) echo done ;;
  *owner==0*) echo stream ;;
  *owned*) echo final ;;
  *number*) echo number ;;
  *phase* | *'.tries==1'* | *epoch==0*) echo reached ;;
  *rerun*) echo once ;;
  *'.tick>='* | *'.tick<='*) echo order ;;
  *'.tick!='*) echo once ;;
  *'!=attempt[c].token'*) echo unique ;;
  *) echo "unknown: $1" ;;
  esac
}

# Checks one configuration in a directory of its own; leaves a line in result.
check() {
  local dir=$1 name=$2 expected=$3 flags=$4 model=claim seen states seconds begun=$SECONDS
  case "$flags" in
  CLOCK*) model=clock ;;
  MEMBERS*) model=members ;;
  esac
  mkdir -p "$dir" && cp ./*.pml "$dir" && cd "$dir"
  # shellcheck disable=SC2086 # flags are words
  spin $(printf -- '-D%s ' $flags) -a $model.pml >spin.log 2>&1 &&
    gcc -O2 -DSAFETY -DVECTORSZ=2048 -DMEMLIM=3000 -w -o pan pan.c >>spin.log 2>&1 &&
    ./pan -m1000000 >pan.log 2>&1 || true
  seconds=$((SECONDS - begun))
  states=$(awk '/states, stored/ {print $1}' pan.log 2>/dev/null || true)
  if ! grep -q 'errors: 0$\|assertion violated' pan.log 2>/dev/null; then
    seen=failed
  elif grep -qE 'max search depth too small|out of memory|not completed' pan.log &&
    ! grep -q 'assertion violated' pan.log; then
    seen=incomplete
  else
    seen=$(promise "$(grep -m1 'assertion violated' pan.log | sed 's/.*violated//; s/ (at depth.*//' || true)")
  fi
  if [ "$seen" != holds ] && [ -e $model.pml.trail ]; then
    # shellcheck disable=SC2086
    spin $(printf -- '-D%s ' $flags) -t $model.pml 2>/dev/null |
      sed -n '/trail ends/q; s/^ *\(attempt\|changer\|node\|other\)/\1/p' >trace || true
  fi
  printf '%-24s %10s %5s  %-10s %s%s\n' "$name" "${states:--}" "$seconds" "$expected" "$seen" \
    "$([ "$seen" = "$expected" ] || echo '  << surprise')" >result
}

main() {
  local wanted=all trace=no set name expected flags running=0 i=0 failed=0
  case "${1:-}" in
  --quick) wanted=quick ;;
  --trace) trace=yes wanted=${2:?name of a configuration} ;;
  ?*) wanted=$1 ;;
  esac
  need_spin
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  printf '%-24s %10s %5s  %-10s %s\n' configuration states sec expected seen
  while IFS='|' read -r set name expected flags; do
    case "$wanted:$set" in
    all:* | quick:q) ;;
    *) [ "$wanted" = "$name" ] || continue ;;
    esac
    i=$((i + 1))
    if [ "$running" -ge "${JOBS:-$(nproc)}" ]; then wait -n && running=$((running - 1)); fi
    (check "$work/$(printf %03d $i)" "$name" "$expected" "$flags") &
    running=$((running + 1))
  done < <(configurations | sed 's/ *| */|/g; s/ *$//')
  wait
  if [ "$i" = 0 ]; then
    echo "check.sh: no configuration is called $wanted" >&2
    exit 2
  fi
  cat "$work"/*/result
  failed=$(cat "$work"/*/result | grep -c surprise || true)
  if [ "$trace" = yes ]; then cat "$work"/*/trace; fi
  echo
  echo "$i configurations, $failed surprises, $SECONDS s"
  [ "$failed" = 0 ]
}

main "$@"
