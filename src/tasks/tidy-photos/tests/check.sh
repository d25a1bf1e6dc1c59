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
renames)
  mkdir "$dir/d" && echo 1 >"$dir/d/a.JPG" && echo 2 >"$dir/d/b.JPEG" && echo 3 >"$dir/d/c.jpeg" && echo 4 >"$dir/d/x.y.JPG"
  out=$($try sh tidy.sh "$dir/d") || fail "exit code $?"
  same "" "$out"
  same "a.jpg b.jpg c.jpg x.y.jpg" "$(ls "$dir/d" | tr '\n' ' ' | sed 's/ $//')"
  same "1234" "$(cat "$dir/d/a.jpg" "$dir/d/b.jpg" "$dir/d/c.jpg" "$dir/d/x.y.jpg" | tr -d '\n')" ;;
keeps_others)
  mkdir -p "$dir/d/sub/in.JPG" && touch "$dir/d/a.png" "$dir/d/JPG" "$dir/d/b.jpg" "$dir/d/c.Jpg" "$dir/d/d.JPGx" "$dir/d/sub/e.JPG"
  mkdir "$dir/d/dir.JPG"
  $try sh tidy.sh "$dir/d" || fail "exit code $?"
  same "JPG a.png b.jpg c.Jpg d.JPGx dir.JPG sub " "$(LC_ALL=C ls "$dir/d" | tr '\n' ' ')"
  same "e.JPG in.JPG " "$(LC_ALL=C ls "$dir/d/sub" | tr '\n' ' ')" ;;
no_clobber)
  mkdir "$dir/d" && echo old >"$dir/d/a.jpg" && echo new >"$dir/d/a.JPG" && echo b >"$dir/d/b.JPG"
  out=$($try sh tidy.sh "$dir/d") || fail "exit code $?"
  same "skipped a.JPG" "$out"
  same "old new b" "$(cat "$dir/d/a.jpg" "$dir/d/a.JPG" "$dir/d/b.jpg" | tr '\n' ' ' | sed 's/ $//')" ;;
strange_names)
  mkdir "$dir/a d" && touch "$dir/a d/two words.JPG" "$dir/a d/-r.JPEG" "$dir/a d/st*r.jpeg" "$dir/a d/  .JPG"
  $try sh tidy.sh "$dir/a d" || fail "exit code $?"
  [ -f "$dir/a d/two words.jpg" ] && [ -f "$dir/a d/-r.jpg" ] && [ -f "$dir/a d/st*r.jpg" ] && [ -f "$dir/a d/  .jpg" ] || fail "$(ls "$dir/a d")"
  same 4 "$(ls "$dir/a d" | wc -l | tr -d ' ')" ;;
*) fail "no test $1" ;;
esac
