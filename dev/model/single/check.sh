#!/usr/bin/env bash
# Checks claims on one store with spin: every configuration that must hold, and every check
# taken away once, which must break the promise it protects. Prints a table; exits 1 if
# anything comes out otherwise. It needs spin and gcc, and takes two minutes.
#
#   ./check.sh        everything
#   ./check.sh NAME   one configuration
set -euo pipefail
cd "$(dirname "$0")"
model=$PWD/store.pml
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# name | expected promise broken, or holds | flags without their -D
configurations() {
  cat <<'LIST'
at most once            | holds         | C=2 TICKS=2
three tries             | holds         | C=3 TICKS=1
rerun                   | holds         | RERUN C=3
extend                  | holds         | EXTENDS=12 C=2 TICKS=2
extend, rerun           | holds         | EXTENDS=12 RERUN C=2
forget                  | holds         | FORGETS C=3 TICKS=1
forget, two ticks       | holds         | FORGETS C=2 TICKS=2
forget, extend          | holds         | FORGETS EXTENDS=12 RERUN C=2
finish                  | holds         | FINISHES C=2 TICKS=2
finish, rerun           | holds         | FINISHES RERUN C=3
stale copy              | holds         | INCARNATIONS=2 C=3
stale copy, two ticks   | holds         | INCARNATIONS=2 C=2 TICKS=2
stale copy, extend      | holds         | INCARNATIONS=2 EXTENDS=12 C=2
stale copy, finish      | holds         | INCARNATIONS=2 FINISHES RERUN C=2
stale copy, forget      | holds         | INCARNATIONS=2 FORGETS C=3
evict                   | holds         | EVICTS EXTENDS=12 C=2
evict, finish           | holds         | EVICTS FINISHES RERUN C=2
join                    | holds         | INCARNATIONS=2 JOINS C=2
join, three tries       | holds         | INCARNATIONS=2 JOINS C=3
observe                 | holds         | OBSERVES C=2 TICKS=2
observe, three tries    | holds         | OBSERVES C=3 TICKS=1 RERUN
observe, extend         | holds         | OBSERVES EXTENDS=12 C=2 TICKS=2
observe, stale copy     | holds         | OBSERVES EXTENDS=8 INCARNATIONS=2 C=2
observe, join           | holds         | OBSERVES INCARNATIONS=2 JOINS C=2
observe, evict, forget  | holds         | OBSERVES EVICTS FORGETS EXTENDS=12 C=2
observe, beside         | holds         | OBSERVES BESIDES=2 RERUN C=3 TICKS=2
observe, beside, extend | holds         | OBSERVES BESIDES=2 EXTENDS=6 C=2 TICKS=2
FIRSTSIGHT              | one at a time | OBSERVES FIRSTSIGHT C=2 TICKS=2
NOSEENVERSION           | one at a time | OBSERVES NOSEENVERSION EXTENDS=12 C=2 TICKS=2
NOSEENVERSION, beside   | one at a time | OBSERVES NOSEENVERSION BESIDES=2 EXTENDS=6 C=2 TICKS=2
NOSEENINCARNATION       | one at a time | OBSERVES NOSEENINCARNATION RERUN INCARNATIONS=2 C=3
beside                  | holds         | BESIDES=2 C=3 TICKS=2
beside, prune           | holds         | BESIDES=2 PRUNES RERUN C=3 TICKS=2
beside, prune, extend   | holds         | BESIDES=1 PRUNES EXTENDS=5 C=3 TICKS=2
beside, extend          | holds         | BESIDES=2 EXTENDS=8 C=2 TICKS=2
beside, extend, rerun   | holds         | BESIDES=2 EXTENDS=8 RERUN C=2 TICKS=2
beside, evict           | holds         | BESIDES=2 EVICTS RERUN C=3 TICKS=2
beside, evict, extend   | holds         | BESIDES=2 EVICTS EXTENDS=6 C=2 TICKS=2
beside, forget          | holds         | BESIDES=2 FORGETS C=3 TICKS=2
beside, forget, extend  | holds         | BESIDES=2 FORGETS EXTENDS=6 RERUN C=2 TICKS=2
beside, finish          | holds         | BESIDES=2 FINISHES RERUN C=3 TICKS=2
beside, stale copy      | holds         | BESIDES=2 INCARNATIONS=2 EXTENDS=6 C=2 TICKS=2 LATERTICKS=1
beside, join            | holds         | BESIDES=2 INCARNATIONS=2 JOINS C=3 TICKS=2 LATERTICKS=1
NOCLAIMVERSION          | effects once  | NOCLAIMVERSION FINISHES RERUN C=2
NOFORGOTTENVERSION      | once per tick | NOFORGOTTENVERSION FORGETS C=2
NOGFENCE                | tokens grow   | NOGFENCE FORGETS C=2 TICKS=2
NOEXTENDVERSION         | one at a time | NOEXTENDVERSION EXTENDS=12 C=3 TICKS=3
NOEXTENDVERSION, evict  | evicted ends  | NOEXTENDVERSION EVICTS EXTENDS=12 C=2
NOJOINVERSION           | once per tick | NOJOINVERSION INCARNATIONS=2 JOINS C=3
JOINSLATE               | holds         | JOINSLATE INCARNATIONS=2 JOINS C=3
NOLEASEVERSION          | holds         | NOLEASEVERSION EXTENDS=12 C=2 TICKS=2
LATEROUND               | holds         | LATEROUND EXTENDS=12 C=2 TICKS=2
LATEROUND, NOLEASEVER.  | one at a time | LATEROUND NOLEASEVERSION EXTENDS=12 C=2 TICKS=2
FINISHBLIND             | effects once  | FINISHBLIND FINISHES RERUN C=2
NOMARKER                | one at a time | NOMARKER BESIDES=2 C=2 TICKS=2
NOMARKER, forget        | survives      | NOMARKER BESIDES=1 FORGETS EXTENDS=6 C=2
NOJOBLOCK               | one at a time | NOJOBLOCK BESIDES=2 C=2 TICKS=2
NOTICKLOCK              | one at a time | NOTICKLOCK BESIDES=1 RERUN C=2
RERUNEARLIER            | once per tick | RERUNEARLIER BESIDES=1 C=3 TICKS=2
RERUNEARLIER, rerun     | no successor  | RERUNEARLIER BESIDES=1 RERUN C=3 TICKS=2
NOEARLIER               | one at a time | NOEARLIER BESIDES=2 C=3 TICKS=3
JOINDROPS               | one at a time | JOINDROPS BESIDES=2 INCARNATIONS=2 JOINS C=3 TICKS=2 LATERTICKS=1
PRUNEUNREAD             | one at a time | PRUNEUNREAD BESIDES=2 RERUN C=3 TICKS=2
PRUNELASTING            | one at a time | PRUNELASTING BESIDES=2 PRUNES RERUN C=3 TICKS=2
EVICTALL                | survives      | EVICTALL BESIDES=2 EVICTS EXTENDS=6 C=2 TICKS=2
NOLEASEVERSION, beside  | holds         | NOLEASEVERSION BESIDES=2 EXTENDS=6 C=2 TICKS=2
NODROP                  | holds         | NODROP BESIDES=2 EXTENDS=6 C=2 TICKS=2
LATEROUND, beside       | holds         | LATEROUND BESIDES=2 EXTENDS=6 C=2 TICKS=2
LATEROUND, NOLEAS., be. | one at a time | LATEROUND NOLEASEVERSION BESIDES=2 EXTENDS=6 C=2 TICKS=2
LATEROUND, NODROP       | one at a time | LATEROUND NODROP BESIDES=2 EXTENDS=6 C=2 TICKS=2
NOINCARNATION           | once per tick | NOINCARNATION INCARNATIONS=2 C=3
NOFLOOR                 | tokens grow   | NOFLOOR INCARNATIONS=2 C=2
NOGRACE                 | one at a time | NOGRACE INCARNATIONS=2 C=2
OLDALIVE                | once per tick | OLDALIVE INCARNATIONS=2 C=3
LIST
}

# promise names the assertion that failed, by its line's comment.
promise() {
  local line
  line=$(grep -oE 'assertion violated .*' <<<"$1" | head -1)
  [ -n "$line" ] || { echo holds; return; }
  line=$(sed -E 's/assertion violated //; s/ \(at depth.*//' <<<"$line")
  case $line in
    *superseded*) echo "no successor" ;;
    *xincarnation*) echo "survives" ;;
    *evicted*valid*|*valid*evicted*) echo "one at a time" ;;
    *evicted*) echo "evicted ends" ;;
    *before*donebefore*|*donebefore*) echo "nothing after its end" ;;
    *before*) echo "tokens grow" ;;
    *valid*) echo "one at a time" ;;
    *effects*) echo "effects once" ;;
    *ran*) echo "once per tick" ;;
    *token*) echo "tokens differ" ;;
    *) echo "$line" ;;
  esac
}

failed=0
while IFS='|' read -r name expected flags; do
  name=$(xargs <<<"$name"); expected=$(xargs <<<"$expected")
  [ $# -eq 0 ] || [ "$1" = "$name" ] || continue
  dir="$work/${name//[^a-zA-Z]/_}"
  mkdir -p "$dir"
  # shellcheck disable=SC2086,SC2001 # the flags are words
  defs=$(sed 's/\([A-Z0-9=]\+\)/-D\1/g' <<<"$flags")
  (cd "$dir" && spin $defs -a "$model" >&2 && gcc -O1 -DSAFETY -DVECTORSZ=2048 -DCOLLAPSE -DMEMLIM=6500 -w -o pan pan.c)
  out=$("$dir/pan" -m200000 2>&1 || true)
  found=$(promise "$out")
  if grep -q 'max search depth too small\|out of memory\|aborted' <<<"$out" && [ "$found" = holds ]; then found="not searched to the end"; fi
  states=$(grep -oE '[0-9.e+]+ states, stored' <<<"$out" | head -1)
  verdict=ok
  [ "$found" = "$expected" ] || { verdict="WRONG, expected $expected"; failed=1; }
  printf '%-24s %-24s %-28s %s\n' "$name" "$found" "$states" "$verdict"
done < <(configurations)
exit "$failed"
