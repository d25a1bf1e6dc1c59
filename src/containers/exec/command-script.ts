/**
 * What runs inside a container around a command, in the language of a POSIX shell; busybox is enough. Each command has a directory
 * of records, named by its id:
 *
 *   pid      process id and start time of who runs it: by both it is known to live, whatever id is used again; then the start of the container
 *   out err  the beginning of its streams; out.all and err.all say how many bytes there were
 *   rc       "<exit code> <timed out> <out of memory> <when it ended>", written last: with it the command has ended. 2 in place of 1 for
 *            the time: it has, and something that it started has not
 *
 * That the directory can be made decides who runs it. The streams go through pipes, so that what a command leaves running in the
 * background can write on and nothing fills the disk: `tee` passes on what it reads at once, up to its bound of a file, and `wc`
 * counts all of it. Where no process can be started any more, this shell ends, and writes rc without one: 126 where that was before
 * the command. rc has its place on the disk before the command begins, which may fill that.
 */

const STARTED = `started() { read -r line 2>/dev/null <"/proc/$1/stat" && set -- $line && echo "\${22}"; }`;

/** What a command ends with that was not begun, because nothing can be recorded of it. */
export const NO_ROOM = 73;

/**
 * Ends what a command whose time is over has left, whatever that did to its variables, session and parents. The command itself has ended,
 * so what it has left are orphans that are not older than it. Spared is what has an ancestor that the engine executes or that is older, and an orphan that names
 * another command which worked at the same time. It starts no process: there may be room for none.
 */
const SWEEP = `
facts() {
  line=
  while read -r part || [ -n "$part" ]; do line="$line $part"; done 2>/dev/null <"/proc/$1/stat"
  set -- \${line##*) }
  state=$1 parent=$2 since=\${20}
  [ -n "$since" ]
}
beside() {
  all=
  while read -r part || [ -n "$part" ]; do all="$all $part"; done 2>/dev/null <"/proc/$1/environ"
  other=\${all##*HOLDFAST_COMMAND=}
  [ "$other" != "$all" ] || return 1
  other=\${other%"\${other#$mask}"}
  case $other in '' | "$id" | *[!0-9a-f]*) return 1 ;; esac
  [ -s "../$other/pid" ] || return 1
  [ -s "../$other/rc" ] || return 0
  read -r part part part until 2>/dev/null <"../$other/rc"
  [ "\${until:-0}" -ge "$mine" ]
}
left() {
  at=$1
  while [ "$at" != "$$" ]; do
    facts "$at" || return 2
    [ "$state" != Z ] && [ "$since" -ge "$mine" ] && [ "$parent" != 0 ] || return 1
    if [ "$parent" = 1 ]; then
      if beside "$at"; then return 1; else return 0; fi
    fi
    at=$parent
  done
  return 1
}
sweep() {
  facts $$
  mine=$since mask= rest=$id
  while [ -n "$rest" ]; do mask="$mask?" rest=\${rest#?}; done
  round=0 killed=
  while [ $round -lt 100 ]; do
    round=$((round + 1)) found=
    [ $round -ne 50 ] || killed=
    for process in /proc/[0-9]*; do
      process=\${process#/proc/}
      left "$process"
      case $? in
      0) kill -9 "$process" 2>/dev/null && found=1 killed=1 ;;
      # What has ended meanwhile may have left another one.
      2) found=1 ;;
      esac
    done
    [ -n "$found" ] || return
  done
  [ -z "$killed" ] || late=2
}
`;

/** Begins a command, unless it was begun before. Arguments: records, id, workdir, seconds, bytes, command… */
export const BEGIN = `
records=$1 id=$2 cwd=$3 limit=$4 most=$5
shift 5
umask 077
cd "$records" || exit 70
mkdir "$id" 2>/dev/null
case $? in
0) ;;
1) [ -d "$id" ] && exit 0; exit ${NO_ROOM} ;;
*) exit 71 ;;
esac
cd "$id" || exit 70
echo "000 0 0" 2>/dev/null >rc.new && echo "$$" 2>/dev/null >pid || { cd .. && rm -rf "$id"; exit ${NO_ROOM}; }
${STARTED}
killed() {
  for file in /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events; do
    while read -r name count; do [ "$name" = oom_kill ] && echo "$count" && return; done 2>/dev/null <"$file"
  done
}
${SWEEP}
code=126 late=0 full=0
trap '[ -s rc ] || echo "$code $late $full" >rc' EXIT
echo "$$ $(started $$) $(started 1)" 1<>pid
mkfifo out.pipe err.pipe
[ -p err.pipe ] || exit 0
keep() {
  ( trap '' XFSZ; ulimit -f $(((most + 511) / 512)); exec tee "$1" 2>/dev/null <"$1.pipe" ) | wc -c >"$1.all"
}
keep out &
keep err &
kills=$(killed)
read -r before rest </proc/uptime
( echo 500 2>/dev/null >/proc/self/oom_score_adj; umask 022 && cd "$cwd" && exec timeout -k 5 "$limit" "$@" ) >out.pipe 2>err.pipe </dev/null
code=$?
read -r after rest </proc/uptime
case $code in
124 | 137 | 143) if [ $((\${after%.*} - \${before%.*})) -ge "$limit" ]; then late=1; sweep; fi ;;
esac
[ "$(killed)" = "$kills" ] || full=1
tries=0
while [ $tries -lt 20 ]; do
  [ -s out.all ] && [ -s err.all ] && break
  if [ $tries -lt 5 ]; then sleep 0.004; else sleep 0.02; fi || break
  tries=$((tries + 1))
done
echo "$code $late $full \${after%.*}\${after#*.}" 1<>rc.new
mv rc.new rc
`;

/**
 * Waits for the end of a command and gives its records. Arguments: records, id. Its first line is `absent` (never begun), `lost`
 * (begun, and no one runs it any more; who has begun and not yet said who it is has half a minute) or `ended <rc> <bytes of out> <of err>`; then the streams follow in their own.
 */
export const COLLECT = `
killed=$((128 + 9))
if ! cd "$1/$2" 2>/dev/null; then
  # What was begun and has no record any more had it removed by what it ran.
  if [ "\${refused:-1}" = 0 ]; then echo "ended $killed 0 0 0 0"; else echo "absent \${refused:-0}"; fi
  exit 0
fi
${STARTED}
tries=0
unborn=0
main=
lost() {
  # The main process is another user's: a container that goes on had its recorder ended by what it ran.
  if [ -n "$main" ] && [ "$(started 1)" = "$main" ]; then echo "$killed 0 0" 2>/dev/null >rc; code=$killed; else echo lost; exit 0; fi
}
code= late=0 full=0
until [ -s rc ]; do
  pid= since= start=
  read -r pid since start 2>/dev/null <pid
  main=\${start:-$main}
  if [ -z "$since" ]; then
    unborn=$((unborn + 1))
    if [ $unborn -gt 200 ] || [ -n "$main" ]; then lost; break; fi
  elif [ "$(started "$pid")" != "$since" ] && ! [ -s rc ]; then
    lost
    break
  fi
  tries=$((tries + 1))
  if [ $tries -lt 50 ]; then sleep 0.02; elif [ $tries -lt 150 ]; then sleep 0.1; else sleep 0.5; fi
done
[ -n "$code" ] || read -r code late full rest <rc
read -r out 2>/dev/null <out.all
read -r err 2>/dev/null <err.all
echo "ended $code $late $full \${out:-0} \${err:-0}"
cat out 2>/dev/null
cat err >&2 2>/dev/null
exit 0
`;

/**
 * Begins a command in a shell of its own, which no stream of the request leads into, and collects it: the one that asks may go away. Arguments: that
 * shell's program, then those of BEGIN. `absent` is followed by what the shell ended with.
 */
export const RUN = `
begin=$1
shift
HOLDFAST_COMMAND=$2 sh -c "$begin" sh "$@" </dev/null >/dev/null 2>&1
refused=$?
${COLLECT}`;

/** After it comes what a command is begun by, and nothing before someone has said "go". */
export const SHOWN = '== that is all\n';

/** What SHOW shows, and RUN when that was seen and found good. Arguments: the program of SHOW, workdir, records, then those of RUN. */
export const SHOW_AND_RUN = (paths: readonly string[]): string => `
sh -c "$1" sh "$2" "$3" ${paths.join(' ')}
printf '${SHOWN.trimEnd()}\\n'
read -r go
[ "$go" = go ] || exit 0
shift 3
${RUN}`;

/** Says that a command which no one runs any more, or which has left something, ended because its time was over. Arguments: records, id. */
export const CLOSE = `
cd "$1/$2" 2>/dev/null || exit 0
code= late= full= rest=
read -r code late full rest 2>/dev/null <rc
if [ "$late" = 2 ]; then echo "$code 1 $full $rest" 1<>rc; else [ -n "$code" ] || echo "137 1 0" >rc; fi
`;

/**
 * Prints files, each after a line "== <path>"; what cannot be read has none. Then whether the two directories and /tmp can be used, and the
 * records of others not be listed. Arguments:
 * workdir, records, paths.
 */
export const SHOW = `
workdir=$1 records=$2
shift 2
for path in "$@"; do
  text=$(cat "$path" 2>/dev/null) || continue
  printf '%s\\n' "== $path" "$text"
done
[ -O "$workdir" ] && echo "== $workdir"
[ -w "$records" ] && ! [ -r "$records" ] && echo "== $records"
case $(stat -c %a /tmp 2>/dev/null) in *7) echo "== /tmp" ;; esac
exit 0
`;

/**
 * Reads a file that it has opened, so that what is said of it is true of it. Arguments: path, bytes, `own` where it must be the
 * reader's own and no link.
 */
export const READ = `
[ -f "$1" ] || { echo "there is no such file, or it is no regular one" >&2; exit 1; }
[ -z "$3" ] || ! [ -L "$1" ] || { echo "it is a link" >&2; exit 1; }
exec 3<"$1" || exit 1
[ -z "$3" ] || [ -O /proc/self/fd/3 ] || { echo "it is another user's" >&2; exit 1; }
readlink -n /proc/self/fd/3
printf '\\0'
head -c "$2" <&3
`;

/** Writes standard input beside a file and puts it in its place. Arguments: path, name of the draft. */
export const WRITE = `
dir=$(dirname "$1")
[ -d "$dir" ] || { echo "its directory does not exist" >&2; exit 1; }
[ ! -e "$1" ] || [ -f "$1" ] || { echo "it is no regular file" >&2; exit 1; }
draft="$dir/.$2.draft"
cat >"$draft" || { rm -f "$draft"; exit 1; }
[ ! -e "$1" ] || chmod "$(stat -c %a "$1")" "$draft" 2>/dev/null
mv -f "$draft" "$1"
`;
