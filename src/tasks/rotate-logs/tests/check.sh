set -u
fail() {
  echo "$1" >&2
  exit 1
}
# Writes a file that is the agent's user's own.
put() { echo "$2" | $try sh -c 'cat >"$1"' sh "$1"; }
same() {
  [ "$1" = "$2" ] || fail "expected: $1
got: $2"
}
# Executes a program as the user of the agent, which can read no test, and may write where this works.
try=/.holdfast/try
umask 0
dir=$(mktemp -d)
chmod 777 "$dir"
trap 'rm -rf "$dir" 2>/dev/null' EXIT

case $1 in
first_time)
  put "$dir/app.log" one && $try chmod 640 "$dir/app.log"
  out=$($try sh rotate.sh "$dir/app.log" 3) || fail "exit code $?"
  same "|one|0|640" "$out|$($try cat "$dir/app.log.1")|$($try wc -c "$dir/app.log" | cut -d " " -f 1 | tr -d ' ')|$(stat -c %a "$dir/app.log")"
  $try sh rotate.sh "$dir/app.log" 3 && same "app.log app.log.1 " "$(ls "$dir" | tr '\n' ' ')" ;;
several)
  for n in 1 2 3 4; do put "$dir/a" "$n" && $try sh rotate.sh "$dir/a" 3 || fail "exit code $?"; done
  same "a a.1 a.2 a.3 " "$(ls "$dir" | tr '\n' ' ')"
  same "4 3 2 " "$(cat "$dir/a.1" "$dir/a.2" "$dir/a.3" | tr '\n' ' ')" ;;
keeps_so_many)
  put "$dir/a" now && for n in 1 3 9 10 25; do put "$dir/a.$n" "$n"; done && $try touch "$dir/a.x" "$dir/a.1.gz" "$dir/b.30"
  $try sh rotate.sh "$dir/a" 10 || fail "exit code $?"
  same "a a.1 a.1.gz a.10 a.2 a.4 a.x b.30 " "$(LC_ALL=C ls "$dir" | tr '\n' ' ')"
  same "now 1 3 9 " "$(cat "$dir/a.1" "$dir/a.2" "$dir/a.4" "$dir/a.10" | tr '\n' ' ')" ;;
strange_names)
  mkdir "$dir/w x" && put "$dir/w x/my log*.txt" 1 && put "$dir/w x/my log*.txt.1" 0
  $try sh rotate.sh "$dir/w x/my log*.txt" 2 || fail "exit code $?"
  same "my log*.txt my log*.txt.1 my log*.txt.2 " "$(LC_ALL=C ls "$dir/w x" | tr '\n' ' ')" ;;
refuses)
  put "$dir/a" 1
  for keep in 0 -1 x '' 1.5; do
    $try sh rotate.sh "$dir/a" "$keep" 2>"$dir/err" && fail "takes $keep"
    [ -s "$dir/err" ] || fail "says nothing of $keep" && rm "$dir/err"
  done
  $try sh rotate.sh "$dir/none" 2 2>"$dir/err" && fail "takes what is not there"
  rm "$dir/err" && same "a " "$(ls "$dir" | tr '\n' ' ')"
  $try sh rotate.sh "$dir/a" 1 && same "a a.1 " "$(ls "$dir" | tr '\n' ' ')" ;;
*) fail "no test $1" ;;
esac
