set -u
fail() {
  echo "$1" >&2
  exit 1
}
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
plain)
  echo a >"$dir/a" && echo b >"$dir/b"
  same "saved 2" "$($try sh backup.sh "$dir/t" "$dir/a" "$dir/b")"
  same "a b " "$(cat "$dir/t/a.bak" "$dir/t/b.bak" | tr '\n' ' ')"
  same "saved 1" "$($try sh backup.sh "$dir/t" "$dir/a" "$dir/none" 2>/dev/null)" ;;
spaces)
  mkdir "$dir/my files" && echo 1 >"$dir/my files/one  two" && echo 2 >"$dir/my files/one" && echo 3 >"$dir/two"
  same "saved 1" "$($try sh backup.sh "$dir/the target" "$dir/my files/one  two")"
  same "one  two.bak" "$(ls "$dir/the target")" ;;
strange)
  here=$PWD && mkdir "$dir/w" && cd "$dir/w" && echo s >'*' && echo r >./-rf && echo q >other
  same "saved 2" "$($try sh "$here/backup.sh" out '*' -rf)"
  same "*.bak -rf.bak " "$(LC_ALL=C ls out | tr '\n' ' ')"
  same "* -rf other out " "$(LC_ALL=C ls | tr '\n' ' ')" ;;
missing)
  echo a >"$dir/a" && mkdir "$dir/folder"
  out=$($try sh backup.sh "$dir/t" "$dir/none here" "$dir/a" "$dir/folder" 2>"$dir/err")
  same 1 $?
  same "saved 1" "$out"
  same "missing: $dir/none here
missing: $dir/folder" "$(cat "$dir/err")"
  same a.bak "$(ls "$dir/t")" ;;
twice)
  echo 1 >"$dir/a" && $try sh backup.sh "$dir/t" "$dir/a" >/dev/null && echo 2 >"$dir/a"
  same "saved 1" "$($try sh backup.sh "$dir/t" "$dir/a" "$dir/none" 2>/dev/null)"
  same 22 "$(cat "$dir/t/a.bak" "$dir/a" | tr -d '\n')"
  same "saved 0" "$($try sh backup.sh "$dir/t")" ;;
*) fail "no test $1" ;;
esac
