#!/usr/bin/env bash
# Checks the claim protocol with spin: every configuration that must hold, and
# every check taken away once, which must break the promise it protects. Prints
# a table; exits 1 if anything comes out otherwise.
#
#   ./check.sh            everything, an hour on two cores
#   ./check.sh --quick    a few minutes
#   ./check.sh NAME       one configuration; --trace NAME also prints its trace
#
# JOBS (default: number of cores) run at once, up to MEMLIM (default: 6500) MB of memory
# each.
set -euo pipefail
work=
optimize=-O2 # pays in long searches; of a short one gcc takes most of the time
cd "$(dirname "$0")"

# set | name | expected promise broken, or holds | flags without their -D
# set: q also in --quick, f only in full, h the same with hash compaction, x (the same, not
# yet searched to the end) only by name. The flags begin with CLOCK, FAILOVER, MEMBERS or
# SURVIVE or TOLD where the model is the file of that name, else it is claim.pml.
configurations() {
  cat <<'LIST'
q | at-most-once           | holds      | CORE VOIDS C=2 TICKS=2
q | rerun                  | holds      | CORE VOIDS RERUN C=2
q | mixed modes            | holds      | CORE VOIDS MIXED=1 C=2
q | restart                | holds      | CORE VOIDS RESTARTS=1 C=2 TICKS=2
f | two restarts           | holds      | CORE VOIDS RESTARTS=2 C=2 TICKS=2
f | restart, rerun         | holds      | CORE VOIDS RERUN RESTARTS=1 C=2
f | older store            | holds      | CORE RESTARTS=1 OLDER C=2 TICKS=2
f | older store, rerun     | holds      | CORE RERUN RESTARTS=1 OLDER C=2
f | older store, forget    | holds      | CORE FORGETS RESTARTS=1 OLDER C=2
f | 3 tries                | holds      | CORE VOIDS C=3 TICKS=2
f | 3 tries, rerun         | holds      | CORE VOIDS RERUN C=3
f | 3 tries, mixed 1       | holds      | CORE VOIDS MIXED=1 C=3
f | 3 tries, mixed 2       | holds      | CORE VOIDS MIXED=2 C=3
f | 3 tries, restart       | holds      | CORE VOIDS RESTARTS=1 C=3
f | 5 nodes                | holds      | CORE VOIDS N=5 C=2 TICKS=2
q | streams                | holds      | CORE VOIDS C=2 STREAMS=2 TICKS=2
f | streams, 3 tries       | holds      | CORE VOIDS C=3 STREAMS=2
f | plain beside ticks     | holds      | CORE VOIDS C=2 STREAMS=2 PLAIN TICKS=2 RESTARTS=1
q | forget                 | holds      | CORE FORGETS VOIDS C=2 TICKS=2
f | forget, restart        | holds      | CORE FORGETS VOIDS C=2 TICKS=2 RESTARTS=1
f | forget, streams, rerun | holds      | CORE VOIDS FORGETS RERUN STREAMS=2 C=2
q | handover               | holds      | HANDS CORE VOIDS RERUN C=2
q | handover, mixed modes  | holds      | HANDS CORE VOIDS MIXED=1 C=2
f | handover, 3 tries      | holds      | HANDS CORE VOIDS RERUN C=3
f | handover, restart      | holds      | HANDS CORE VOIDS RERUN RESTARTS=1 C=2
q | stale, restart         | holds      | STALES CORE VOIDS RERUN RESTARTS=1 C=2
q | stale, forget          | holds      | STALES CORE FORGETS VOIDS C=2 TICKS=2
q | records                | holds      | RECORDS VOIDS C=2 TICKS=2
f | records, rerun         | holds      | RECORDS VOIDS RERUN C=2
f | records, handover      | holds      | RECORDS HANDS VOIDS RERUN C=2
f | records, restart       | holds      | RECORDS VOIDS RERUN RESTARTS=1 C=2
q | told of another        | holds      | TOLD
f | orphans                | holds      | ORPHANS VOIDS C=2
f | orphans, handover      | holds      | ORPHANS HANDS RERUN C=2
f | extend                 | holds      | EXTENDS C=2 TICKS=2
f | extend, rerun          | holds      | EXTENDS VOIDS RERUN C=2
f | extend, streams        | holds      | EXTENDS STREAMS=2 C=2
f | extend, forget         | holds      | EXTENDS FORGETS RERUN C=2
q | leases                 | holds      | LEASES EXTENDS C=2 TICKS=2
f | leases, void           | holds      | LEASES EXTENDS VOIDS C=2 TICKS=2
f | leases, rerun          | holds      | LEASES EXTENDS RERUN C=2
q | leases, streams        | holds      | LEASES EXTENDS STREAMS=2 C=2
f | leases, handover       | holds      | LEASES EXTENDS HANDS RERUN C=2
f | leases, forget         | holds      | LEASES EXTENDS FORGETS C=2 TICKS=2
f | leases, restart        | holds      | LEASES EXTENDS RESTARTS=1 C=2 TICKS=2
h | leases, restart, rerun | holds      | LEASES EXTENDS RERUN RESTARTS=1 C=2
x | leases, older store    | holds      | LEASES EXTENDS RERUN RESTARTS=1 OLDER C=2
q | leases, stranger       | holds      | STRANGER LEASES EXTENDS C=2
f | beside, leases         | holds      | BESIDES=2 LEASES EXTENDS C=2 TICKS=2
h | beside, leases, rerun  | holds      | BESIDES=2 LEASES EXTENDS RERUN C=2 TICKS=2
x | beside, restart        | holds      | BESIDES=2 LEASES EXTENDS RESTARTS=1 C=2 TICKS=2
h | beside, streams        | holds      | BESIDES=2 LEASES EXTENDS STREAMS=2 C=2
f | beside, extend         | holds      | BESIDES=1 EXTENDS VOIDS C=2 TICKS=2
f | beside, any            | holds      | BESIDES=2 EXTENDS C=2 TICKS=2
h | beside, rerun          | holds      | BESIDES=1 EXTENDS RERUN C=2 TICKS=2
h | beside, forget         | holds      | BESIDES=2 FORGETS EXTENDS RERUN C=2
h | beside, orphans        | holds      | BESIDES=1 ORPHANS VOIDS C=2 TICKS=2
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
q | survive: two down      | holds      | SURVIVE N=5 AWAY=24 DIES=1
q | survive: rolling       | holds      | SURVIVE N=3
f | survive: rolling, 5    | holds      | SURVIVE N=5
q | failover: silent       | holds      | FAILOVER SILENT COPIES=0 SKEW=1
f | failover: silent, longer | holds    | FAILOVER SILENT COPIES=0 SKEW=1 MAXTIME=10
f | failover: silent, finer | holds     | FAILOVER SILENT COPIES=0 SKEW=2 HALF=2
q | failover: silent, leases | holds    | FAILOVER SILENT COPIES=0 SKEW=1 TTL=2
q | failover: silent, emptied | holds   | FAILOVER SILENT COPIES=0 EMPTIED=1
q | failover: copies       | holds      | FAILOVER SKEW=2
f | failover: copies, longer | holds    | FAILOVER MAXTIME=9
q | failover: copies, 3 tries | holds   | FAILOVER C=3
q | failover: copies, leases | holds    | FAILOVER SKEW=1 TTL=2
q | failover: emptied      | holds      | FAILOVER EMPTIED=1
f | failover: emptied, leases | holds   | FAILOVER EMPTIED=1 SKEW=1 TTL=2
q | failover: 3 servers    | holds      | FAILOVER S=3
h | failover: 3 servers, skew | holds   | FAILOVER S=3 SKEW=1
h | failover: 3 servers, longer | holds | FAILOVER S=3 MAXTIME=9
f | failover: 3 servers, leases | holds | FAILOVER S=3 TTL=2
q | failover: no grace     | holds      | FAILOVER NOGRACE SKEW=2
q | failover: no grace, leases | holds  | FAILOVER NOGRACE TTL=2
q | failover: no grace, 3  | holds      | FAILOVER NOGRACE NOTICES S=3
f | failover: no grace, 3, leases | holds | FAILOVER NOGRACE NOTICES S=3 TTL=2
q | failover: lag          | holds      | FAILOVER COPIES=0 LAG=1
q | show: two streams      | reached    | SHOWSTREAMS CORE C=2 STREAMS=2
q | show: run after forget | reached    | SHOWFORGET CORE FORGETS C=2 TICKS=2
q | show: run on new list  | reached    | MEMBERS SHOWNEW N=4 OLD=7 NEW=14
q | show: void, then run   | reached    | SHOWREOPEN VOIDS C=2
q | show: run after handover | reached  | SHOWHANDOVER HANDS RERUN C=2
q | show: rerun            | reached    | SHOWRERUN RERUN C=2
q | show: set, abstaining  | reached    | SHOWSET EXTENDS RESTARTS=1 C=2
q | show: older extended   | reached    | SHOWOLDER BESIDES=1 EXTENDS C=2 TICKS=2
q | show: run after failover | reached  | FAILOVER SHOWFAILOVER
q | NOTICK                 | once       | NOTICK CORE C=2
q | ACCEPTSTALE            | unique     | ACCEPTSTALE CORE C=2 TICKS=2
q | ACCEPTEQUAL            | unique     | ACCEPTEQUAL CORE C=2 TICKS=2
q | STALEVOTES             | unique     | STALEVOTES CORE C=2 TICKS=2
q | NODONE                 | finished   | NODONE CORE RERUN C=2
q | NONUMBER               | number     | NONUMBER CORE RERUN C=2
q | NOSTOREDMODE           | once       | NOSTOREDMODE CORE MIXED=1 C=2
q | QMINUS1                | unique     | QMINUS1 CORE C=2
q | NOFLOOR                | unique     | NOFLOOR CORE RESTARTS=1 C=2 TICKS=2
q | VOTEATONCE             | once       | VOTEATONCE CORE RESTARTS=1 C=2
q | VOIDAFTERRUN           | once       | VOIDAFTERRUN VOIDS CORE C=2
q | RUNAFTERVOID           | once       | RUNAFTERVOID VOIDS CORE C=2
q | VOIDNOOWNER            | once       | VOIDNOOWNER VOIDS CORE C=3
q | VOIDDELETES            | unique     | VOIDDELETES VOIDS CORE C=3 TICKS=2
q | VOIDANYMODE            | once       | VOIDANYMODE VOIDS CORE MIXED=2 C=3
f | VOIDFREESNUMBER        | number     | VOIDFREESNUMBER VOIDS CORE RERUN C=3
q | HANDDONE               | holds      | HANDDONE SHOWHANDOVER HANDS RERUN C=2
q | HANDVOIDS              | once       | HANDVOIDS HANDS CORE C=2
q | NOTOMB                 | orphan     | NOTOMB ORPHANS VOIDS C=2
q | NOTOMB, finish         | orphan     | NOTOMB ORPHANS C=2
q | TOMBEXPIRY             | orphan     | TOMBEXPIRY ORPHANS VOIDS C=2
q | NOMOVE                 | unseen     | NOMOVE RECORDS VOIDS RERUN C=2
q | VOIDKEEPSRECORD        | phantom    | VOIDKEEPSRECORD RECORDS VOIDS C=2 TICKS=2
q | AGAINLATE              | superseded | AGAINLATE EXTENDS STREAMS=2 C=2
q | UNTITLED               | superseded | UNTITLED EXTENDS RERUN C=2
f | SETANYOWNER            | superseded | SETANYOWNER EXTENDS C=2 TICKS=2
q | SETOWNED               | superseded | SETOWNED EXTENDS STREAMS=2 C=2
f | RESTART, no clocks     | superseded | EXTENDS RERUN RESTARTS=1 C=2
q | OVERUNENDED, join      | lease      | OVERUNENDED LEASES EXTENDS RESTARTS=1 C=2 TICKS=2
q | NOFIRSTROUND           | lease      | NOFIRSTROUND LEASES EXTENDS RESTARTS=1 C=2 TICKS=2
q | NOLOST                 | lease      | NOLOST LEASES EXTENDS C=2 TICKS=2
q | NOGRACE                | lease      | NOGRACE LEASES EXTENDS RESTARTS=1 C=2 TICKS=2
q | LATEROUND              | ousted     | LATEROUND STRANGER LEASES EXTENDS C=2
q | EVICT                  | lease      | EVICT LEASES EXTENDS C=2 TICKS=2
q | ONERECORD              | stream     | ONERECORD CORE C=2 STREAMS=2 TICKS=2
q | NOGCFENCE              | unique     | NOGCFENCE FORGETS CORE C=2 TICKS=2
q | NOGCTICK               | once       | NOGCTICK FORGETS CORE C=2
h | GCWHOLEJOB             | once       | GCWHOLEJOB FORGETS CORE C=3 STREAMS=2 TICKS=2
q | NOMARKER               | lease      | NOMARKER BESIDES=2 LEASES C=2 TICKS=2
q | UNTITLED, beside       | finished   | UNTITLED BESIDES=1 EXTENDS RERUN C=2
q | FINISHANY              | finished   | FINISHANY BESIDES=1 RERUN C=2
q | DONEANY                | done       | DONEANY BESIDES=1 C=2 TICKS=2
q | STRICT                 | finished   | STRICT RERUN CORE RESTARTS=1 C=2
f | OLDERNOFLOOR           | unique     | OLDER NOFLOOR CORE RESTARTS=1 C=2 TICKS=2
q | NOJOIN                 | survives   | SURVIVE NOJOIN N=5 AWAY=24 DIES=1
q | SETNOTABSTAINING       | survives   | SURVIVE SETNOTABSTAINING N=3
q | OVERUNENDED            | survives   | SURVIVE OVERUNENDED N=3
q | JOINASVOTE             | survives   | SURVIVE JOINASVOTE N=5 AWAY=24 DIES=1
q | NOLOOK                 | survives   | SURVIVE NOLOOK N=3
q | CLAIMATONCE            | survives   | SURVIVE CLAIMATONCE N=5 AWAY=24 DIES=1
q | NOFUTURE               | forgotten  | CLOCK NOFUTURE
f | NOFUTURE, tokens       | forgotten  | CLOCK NOFUTURE TOKENS
q | PLUSASECOND            | forgotten  | CLOCK PLUSASECOND TOKENS
q | SHORTFLOOR             | forgotten  | CLOCK SHORTFLOOR
f | BACK=3                 | forgotten  | CLOCK BACK=3
f | LASTINCARNATION        | forgotten  | CLOCK LASTINCARNATION
f | STEPSFREELY            | forgotten  | CLOCK STEPS STEPSFREELY RESTARTS=1
q | SERVEEARLY             | overlap    | CLOCK SERVEEARLY HALF=3 MAXTIME=14 TTL=5 RESTARTS=1
f | TTL=6                  | overlap    | CLOCK TTL=6 RESTARTS=1
q | OWNTIME                | sealed     | CLOCK OPENS OWNTIME STEPS RESTARTS=0
f | OPENFAR                | sealed     | CLOCK OPENS OPENFAR RESTARTS=0
f | BACK=3, open           | sealed     | CLOCK OPENS STEPS BACK=3 RESTARTS=0
q | NAIVE                  | unique     | MEMBERS NAIVE N=5 OLD=7 NEW=31
q | NOSEALS                | unique     | MEMBERS NOSEALS N=4 OLD=7 NEW=14
f | BLINDSEAL              | unique     | MEMBERS BLINDSEAL N=4 OLD=7 NEW=14 THIRD=13
q | OWNFLOOR               | unique     | MEMBERS OWNFLOOR N=4 OLD=7 NEW=14
q | NOCOPIES               | once       | FAILOVER COPIES=0
q | NOCOPIES, leases       | lease      | FAILOVER COPIES=0 TTL=2
q | FEWERCOPIES            | once       | FAILOVER COPIES=1 S=3
q | EXTENDNOCOPIES         | lease      | FAILOVER EXTENDNOCOPIES TTL=2
q | RUNIDONLY              | once       | FAILOVER RUNIDONLY SILENT COPIES=0
q | DURABLE                | once       | FAILOVER NOGRACE SILENT COPIES=0
q | NOGRACE, silent        | lease      | FAILOVER NOGRACE SILENT COPIES=0 TTL=2
q | NOGRACE, skew          | lease      | FAILOVER NOGRACE SKEW=1 TTL=2
q | NOGRACE, emptied       | once       | FAILOVER NOGRACE EMPTIED=1
q | NOGRACE, 3 servers     | once       | FAILOVER NOGRACE S=3
q | NOGRACE, 3, leases     | lease      | FAILOVER NOGRACE S=3 TTL=2
f | AGAINATONCE            | once       | FAILOVER AGAINATONCE S=3
q | SKEW=2                 | once       | FAILOVER SILENT COPIES=0 SKEW=2
q | SKEW=3, finer          | once       | FAILOVER SILENT COPIES=0 SKEW=3 HALF=2
f | SKEW=2, emptied        | once       | FAILOVER EMPTIED=1 SKEW=2
f | SKEW=2, 3 servers      | once       | FAILOVER S=3 SKEW=2
q | TTL=4                  | lease      | FAILOVER SILENT COPIES=0 TTL=4
q | LAG=2                  | once       | FAILOVER COPIES=0 LAG=2
q | LAG=1, skew            | once       | FAILOVER COPIES=0 LAG=1 SKEW=1
q | UNSAID                 | unsaid     | TOLD UNSAID
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
  *renewed*) echo survives ;;
  *handovers* | *primaries*) echo reached ;;
  *topever*opensince* | *opensince*topever*) echo sealed ;;
  *topever*) echo forgotten ;;
  *said*) echo unsaid ;;
  *'.left==0'*) echo lease ;;
  *left==0*) echo overlap ;;
  *finishedbefore* | *acks*) echo finished ;;
  *issuedbefore*) echo order ;;
  *superseded*) echo superseded ;;
  *ousted*) echo ousted ;;
  *stale*) echo stale ;;
  *ended*) echo orphan ;;
  *'started&voided'*) echo phantom ;;
  *accepted*) echo unseen ;;
  *valid*) echo lease ;;
  *isdone*phase*) echo done ;;
  *owned*) echo final ;;
  *number*) echo number ;;
  *'.won'*'.token!='*) echo unique ;;
  *won*) echo once ;;
  *phase* | *epoch==0*) echo reached ;;
  *stream*owner* | *owner*stream*) echo stream ;;
  *rerun*) echo once ;;
  *'.tick>='* | *'.tick<='*) echo order ;;
  *'.tick!='*) echo once ;;
  *token*) echo unique ;;
  *gctick*) echo reached ;;
  *) echo "unknown: $1" ;;
  esac
}

# Checks one configuration in a directory of its own; leaves a line in result.
check() {
  local dir=$1 name=$2 expected=$3 flags=$4 set=$5 model=claim search= seen states seconds begun=$SECONDS
  case "$set" in h | x) search=-DHC4 ;; esac
  case "$flags" in
  CLOCK*) model=clock ;;
  FAILOVER*) model=failover ;;
  MEMBERS*) model=members ;;
  SURVIVE*) model=survive ;;
  TOLD*) model=told ;;
  esac
  mkdir -p "$dir" && cp ./*.pml "$dir" && cd "$dir"
  # shellcheck disable=SC2086 # flags are words
  spin $(printf -- '-D%s ' $flags) -a $model.pml >spin.log 2>&1 &&
    gcc $optimize -DSAFETY -DVECTORSZ=2048 -DMEMLIM=${MEMLIM:-6500} $search -w -o pan pan.c >>spin.log 2>&1 &&
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
      sed -n '/trail ends/q; s/^ *\(try\|changer\|node\|other\|holder\|rival\|server\)/\1/p' >trace || true
  fi
  printf '%-24s %10s %5s  %-10s %s%s\n' "$name" "${states:--}" "$seconds" "$expected" "$seen" \
    "$([ "$seen" = "$expected" ] || echo '  << surprise')" >result
}

main() {
  local wanted=all trace=no set name expected flags running=0 i=0 failed=0
  case "${1:-}" in
  --quick) wanted=quick optimize=-O1 ;;
  --trace) trace=yes wanted=${2:?name of a configuration} ;;
  ?*) wanted=$1 ;;
  esac
  need_spin
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  printf '%-24s %10s %5s  %-10s %s\n' configuration states sec expected seen
  while IFS='|' read -r set name expected flags; do
    case "$wanted:$set" in
    all:[qfh] | quick:q) ;;
    *) [ "$wanted" = "$name" ] || continue ;;
    esac
    i=$((i + 1))
    if [ "$running" -ge "${JOBS:-$(nproc)}" ]; then wait -n && running=$((running - 1)); fi
    (check "$work/$(printf %03d $i)" "$name" "$expected" "$flags" "$set") &
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
