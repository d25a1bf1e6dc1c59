set -u
fail() {
  echo "$1" >&2
  exit 1
}
same() {
  [ "$1" = "$2" ] || fail "expected: $1
got: $2"
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

case $1 in
first_time)
  echo one >"$dir/app.log" && chmod 640 "$dir/app.log"
  out=$(sh rotate.sh "$dir/app.log" 3) || fail "exit code $?"
  same "|one|0|640" "$out|$(cat "$dir/app.log.1")|$(wc -c <"$dir/app.log" | tr -d ' ')|$(stat -c %a "$dir/app.log")"
  sh rotate.sh "$dir/app.log" 3 && same "app.log app.log.1 " "$(ls "$dir" | tr '\n' ' ')" ;;
several)
  for n in 1 2 3 4; do echo "$n" >"$dir/a" && sh rotate.sh "$dir/a" 3 || fail "exit code $?"; done
  same "a a.1 a.2 a.3 " "$(ls "$dir" | tr '\n' ' ')"
  same "4 3 2 " "$(cat "$dir/a.1" "$dir/a.2" "$dir/a.3" | tr '\n' ' ')" ;;
keeps_so_many)
  echo now >"$dir/a" && for n in 1 3 9 10 25; do echo "$n" >"$dir/a.$n"; done && touch "$dir/a.x" "$dir/a.1.gz" "$dir/b.30"
  sh rotate.sh "$dir/a" 10 || fail "exit code $?"
  same "a a.1 a.1.gz a.10 a.2 a.4 a.x b.30 " "$(LC_ALL=C ls "$dir" | tr '\n' ' ')"
  same "now 1 3 9 " "$(cat "$dir/a.1" "$dir/a.2" "$dir/a.4" "$dir/a.10" | tr '\n' ' ')" ;;
strange_names)
  mkdir "$dir/w x" && echo 1 >"$dir/w x/my log*.txt" && echo 0 >"$dir/w x/my log*.txt.1"
  sh rotate.sh "$dir/w x/my log*.txt" 2 || fail "exit code $?"
  same "my log*.txt my log*.txt.1 my log*.txt.2 " "$(LC_ALL=C ls "$dir/w x" | tr '\n' ' ')" ;;
refuses)
  echo 1 >"$dir/a"
  for keep in 0 -1 x '' 1.5; do
    sh rotate.sh "$dir/a" "$keep" 2>"$dir/err" && fail "takes $keep"
    [ -s "$dir/err" ] || fail "says nothing of $keep" && rm "$dir/err"
  done
  sh rotate.sh "$dir/none" 2 2>"$dir/err" && fail "takes what is not there"
  rm "$dir/err" && same "a " "$(ls "$dir" | tr '\n' ' ')"
  sh rotate.sh "$dir/a" 1 && same "a a.1 " "$(ls "$dir" | tr '\n' ' ')" ;;
*) fail "no test $1" ;;
esac
