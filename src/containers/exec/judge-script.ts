import { PRINTED_REPORT } from '../../core/containers/environment-spec.js';
import {
  GIVEN,
  GIVEN_VALUE,
  GUARDED,
  GUARDED_LISTS,
  GUARDED_PROGRAMS,
  LEFT_VALUE,
  SYSTEM_PATH,
} from '../../core/containers/guarded-variables.js';
import { UNLINK } from './unlink-script.js';

/**
 * What runs in a container that judges, in the language of a POSIX shell. Three users share the work. The keeper makes the pipes that a
 * command prints into, and records how it ended. The tester runs the command, as a process of the engine's own: the engine tells
 * its exit code. The agent's user runs what was written by the agent, when a test asks for it through TRY.
 */

/** Where tests find the program that tries others as the agent's user. */
export const TRY_NAME = 'try';
const CALLS = 'calls';

/** After it the keeper waits for one line on its input. */
export const KEPT = '== kept\n';

/** How a tester ends that was not told all of its files. */
export const UNFED = 75;
/** How a tester ends where something stands in the place of its files. */
export const BLOCKED = 76;
/** How the keeper ends where TRY, or what answers it, is another user's. */
export const TAKEN = 77;

/**
 * Prepares the record of a command, says which execution of the engine runs it, and waits to hear how that ended. A record that is there
 * keeps the execution that it began with. Arguments: records, id, execution, bytes, the program TRY.
 */
export const KEEP = `
records=$1 id=$2 execution=$3 most=$4 try=$5
umask 077
cd "$records" || exit 70
broker=
if ! [ -s ${TRY_NAME} ]; then
  broker=dead
  mkdir -m 755 ${CALLS} 2>/dev/null && mkfifo -m 666 ${CALLS}/ask
  printf '%s\\n' "$try" >"$$.new" && chmod 755 "$$.new" && mv "$$.new" ${TRY_NAME} || exit 73
fi
# A main process of the task's own works before this, as the agent's user.
for own in ${TRY_NAME} ${CALLS} ${CALLS}/ask; do [ -O "$own" ] && ! [ -L "$own" ] || exit ${TAKEN}; done
killed() {
  for file in /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events; do
    while read -r name count; do [ "$name" = oom_kill ] && echo "$count" && return; done 2>/dev/null <"$file"
  done
}
keep() {
  ( trap '' XFSZ; ulimit -f $(((most + 511) / 512)); exec tee "$1" 2>/dev/null <"$1.pipe" ) | wc -c >"$1.all"
}
if mkdir -m 711 "$id" 2>/dev/null; then
  cd "$id" || exit 70
  mkfifo -m 622 out.pipe err.pipe || exit 73
  keep out >/dev/null 2>&1 &
  keep err >/dev/null 2>&1 &
  read -r before rest </proc/uptime
  echo "\${before%.*} $(killed)" >before
  echo "$execution" >execution.new && mv execution.new execution || exit 73
fi
cd "$records/$id" || exit 70
tries=0
until [ -s execution ] || [ $tries -gt 50 ]; do sleep 0.02; tries=$((tries + 1)); done
known=none
read -r known 2>/dev/null <execution
if [ -s rc ]; then known=over; fi
if [ "$known" = "$execution" ] && [ -z "$broker" ]; then
  broker=alive
  timeout 1 sh -c ': >"$1"' sh ../${CALLS}/ask 2>/dev/null || broker=dead
fi
printf '%s %s\\n${KEPT.trimEnd()}\\n' "$known" "\${broker:-alive}"
if ! [ -s rc ]; then
  read -r word code late || exit 0
  [ "$word" = end ] || exit 0
  [ -s out.all ] || : 1<>out.pipe
  [ -s err.all ] || : 1<>err.pipe
  tries=0
  while [ $tries -lt 100 ]; do
    [ -s out.all ] && [ -s err.all ] && break
    if [ $tries -lt 5 ]; then sleep 0.004; else sleep 0.02; fi || exit 74
    tries=$((tries + 1))
  done
  read -r since kills <before
  read -r now rest </proc/uptime
  full=0
  [ "$(killed)" = "$kills" ] || full=1
  echo "$code $late $full $((\${now%.*} - since))" >rc.new && mv rc.new rc || exit 73
fi
read -r code late full took <rc
read -r out 2>/dev/null <out.all
read -r err 2>/dev/null <err.all
echo "ended $code $late $full \${out:-0} \${err:-0} $took"
cat out 2>/dev/null
cat err >&2 2>/dev/null
exit 0
`;

/**
 * Gives a test what it may have of the guarded variables: of a list the places that lead, whatever links there are, to no place of the
 * agent. `$places` are those, line by line. Where the root can be written to, `$writer` is the agent's user and group, and no directory that is theirs stays. What a test does not have of a variable is what a program that it tries gets back.
 */
const UNGUARD = `
outside() {
  IFS='
'
  for place in $roots; do case $1/ in "$place"/*) return 1 ;; esac; done
  [ -n "$writer" ] || return 0
  group=\${writer#*:} up=$1 sticky=
  IFS=' '
  # Who may rename what is above it can put another one there.
  while [ -n "$up" ]; do
    found=$(find "$up" -maxdepth 0 \\( -user "\${writer%:*}" -o $sticky \\( -perm -002 -o \${group:+-group $group} -perm -020 \\) \\)) &&
      [ -z "$found" ] || return 1
    up=\${up%/*} sticky='! -perm -1000'
  done
}
keep() {
  left=
  IFS=:
  for entry in $1; do
    case $entry in /*) ;; *) continue ;; esac
    at=$entry
    if ! [ -d "$entry" ]; then
      if [ -L "$entry" ]; then real=$(readlink -f "$entry") && cd -P -- "\${real%/*}/" 2>/dev/null && outside "$PWD" || continue; fi
      at=\${entry%/*}
    fi
    cd -P -- "$at/" 2>/dev/null && outside "$PWD" || continue
    # Where it is now: a link that leads to it may lead elsewhere later.
    case ':${SYSTEM_PATH}:' in
    *:"$entry":*) ;;
    *) if [ "$at" = "$entry" ]; then entry=$PWD; else entry=\${PWD%/}/\${entry##*/}; fi ;;
    esac
    left=$left\${left:+:}$entry
  done
}
unguard() {
  set -f
  roots=$places
  IFS='
'
  for place in $places; do
    if cd -P -- "$place/" 2>/dev/null; then roots="$roots
$PWD"; fi
  done
  ${GIVEN}=
  IFS=' '
  for name in $${GUARDED}; do
    eval "value=\\\${${GIVEN_VALUE}$name-}"
    left=
    case ' ${GUARDED_PROGRAMS.join(' ')} ' in
    *" $name "*) case $value in */*) keep "$value" ;; *) left=$value ;; esac ;;
    esac
    case ' ${GUARDED_LISTS.join(' ')} ' in *" $name "*) keep "$value" ;; esac
    if [ "$name" = PATH ]; then left=\${left:-${SYSTEM_PATH}}; fi
    if [ -n "$left" ]; then export "$name=$left"; else unset "$name"; fi
    [ "$left" = "$value" ] || { ${GIVEN}="$${GIVEN} $name" && export "${LEFT_VALUE}$name=$left"; }
  done
  export ${GIVEN}
  unset IFS
  set +f
}
`;

/**
 * Runs a command as the tester, after its files are there. What to remove, which directories to make and which files follow come line by
 * line on its input, and then the bytes of the files: arguments can be read by every user. What tests before it left at work
 * ends first, and what it leaves ends last. Memory that runs out ends this, and not the keeper. Arguments: record, home,
 * workdir, seconds, places of the agent, who writes to the root, command.
 */
export const TEST = `
record=$1 home=$2 cwd=$3 limit=$4 places=$5 writer=$6
shift 6
${UNGUARD}
alone() { case $(type kill 2>/dev/null) in *builtin*) kill -9 -1 2>/dev/null ;; esac; }
alone
echo 500 2>/dev/null >/proc/self/oom_score_adj
umask 077
rm -rf "$home" 2>/dev/null
mkdir "$home" 2>/dev/null
[ -O "$home" ] && ! [ -L "$home" ] || exit ${BLOCKED}
list=$home/list all=$home/all
: >"$list"
blocked= most=none
while read -r word rest; do
  case $word in
  remove)
    chmod u+rwx "\${rest%/*}" 2>/dev/null
    [ -L "$rest" ] || chmod -R u+rwX "$rest" 2>/dev/null
    rm -rf -- "$rest" 2>/dev/null
    if [ -e "$rest" ] || [ -L "$rest" ]; then blocked=1; fi ;;
  make) mkdir -p -- "$rest" 2>/dev/null || blocked=1 ;;
  file) printf '%s\n' "$rest" >>"$list" ;;
  go) most=$rest; break ;;
  esac
done
[ "$most" != none ] && cat >"$all" && [ "$(($(wc -c <"$all")))" = "$most" ] || exit ${UNFED}
[ -z "$blocked" ] || exit ${BLOCKED}
from=1
while read -r size mode path; do
  tail -c "+$from" "$all" | head -c "$size" >"$path" && chmod "$mode" "$path" || exit ${BLOCKED}
  from=$((from + size))
done <"$list"
rm -f "$list" "$all"
( umask 022 && unguard && cd "$cwd" && HOME=$home exec timeout -k 5 "$limit" "$@" ) >"$record/out.pipe" 2>"$record/err.pipe" </dev/null
code=$?
alone
exit $code
`;

/** What the broker says when nothing of the agent's user works any more, and it waits. */
export const UP = 'up\n';

/**
 * Ends everything that the agent's user has at work, removes the links that it has left since, then executes what TRY asks for, beside the main process of the task. Arguments:
 * records, workdir, the main process; without one there is none.
 */
export const BROKER = `
${UNLINK}
kill -9 -1 2>/dev/null
echo 600 2>/dev/null >/proc/self/oom_score_adj
for left in /tmp/* /tmp/.[!.]* /tmp/..?* /dev/shm/* /dev/shm/.[!.]* /dev/shm/..?*; do
  if [ -L "$left" ]; then rm -f "$left" 2>/dev/null; continue; fi
  [ -O "$left" ] || continue
  rm -rf "$left" 2>/dev/null || { chmod -R u+rwx "$left"; rm -rf "$left"; } 2>/dev/null
done
unlink "$2" 2>/dev/null
exec 3<>"$1/${CALLS}/ask" || exit 70
printf '${UP.trimEnd()}\\n'
exec </dev/null >/dev/null 2>&1
umask 022
if [ $# -gt 2 ]; then
  (
    exec 3<&-
    for name in $${GUARDED}; do eval "export \\"$name=\\\${${GIVEN_VALUE}$name-}\\""; done
    cd "$2" && shift 2 && exec "$@"
  ) &
fi
serve() {
  exec 3<&-
  cd "$1" && exec 6>code || exit 1
  sh ./call <in >out 2>err 6>&- &
  program=$!
  { read -r gone <life; kill -9 "$program"; } 6>&- &
  watch=$!
  wait "$program"
  echo "$?" >&6
  kill "$watch"
}
while read -r at <&3; do serve "$at" & done
`;

/** Where brokers of a container are asked. */
export const askedAt = (records: string): string => `${records}/${CALLS}/ask`;

/**
 * Tries a program as the agent's user: passes on its streams, and ends with its exit code. A program that a signal ended gives 128 and the
 * number of that. Who ends this ends the program. Nothing it prints gets into the report that a test prints.
 */
export const tryScript = (records: string): string => `#!/bin/sh
umask 022
[ ! /proc/self/fd/2 -ef ${PRINTED_REPORT} ] || exec 2>/dev/null
[ ! /proc/self/fd/1 -ef ${PRINTED_REPORT} ] || exec >&2
n=0
until mkdir -m 711 "/tmp/try.$$.$n" 2>/dev/null; do n=$((n + 1)); [ $n -lt 1000 ] || exit 125; done
at=/tmp/try.$$.$n
mkfifo -m 666 "$at/in" "$at/out" "$at/err" "$at/life" "$at/code" || exit 125
words=
quote() {
  rest=$1 done=
  while case $rest in *\\'*) ;; *) false ;; esac; do
    done=$done\${rest%%\\'*}"'\\\\''"
    rest=\${rest#*\\'}
  done
  words="$words '$done$rest'"
}
quote "$PWD"
cwd=$words
words=
for word in "$@"; do quote "$word"; done
unset HOME
given() {
  for name in $${GIVEN}; do
    eval "now=\\\${$name-} left=\\\${${LEFT_VALUE}$name-} value=\\\${${GIVEN_VALUE}$name-}"
    [ "$now" != "$left" ] || export "$name=$value"
  done
  export -p
}
# In a shell of its own, which starts no program with them.
{ echo 'unset '"$${GUARDED}"; ( given ); echo 'HOME=/tmp; export HOME'; printf 'cd%s && exec%s\\n' "$cwd" "$words"; } >"$at/call"
exec 4<&0
cat <&4 >"$at/in" 2>/dev/null &
feed=$!
cat <"$at/out" &
out=$!
cat <"$at/err" >&2 &
err=$!
code=
exec 5<>"$at/life"
if timeout 10 sh -c 'echo "$1" >"$2"' sh "$at" ${askedAt(records)} && read -r code <"$at/code"; then
  wait "$out" "$err"
else
  echo 'what was tried ended everything that runs as its user' >&2
  kill "$out" "$err" 2>/dev/null
fi
kill "$feed" 2>/dev/null
rm -rf "$at"
case $code in '' | *[!0-9]*) code=137 ;; esac
exit "$code"
`;
