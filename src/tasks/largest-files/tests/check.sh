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
sorted)
  mkdir "$dir/d" && printf 12345 >"$dir/d/five" && printf 123 >"$dir/d/three" && : >"$dir/d/none" && printf 1234567890 >"$dir/d/ten"
  same "10 ten
5 five" "$($try sh largest.sh "$dir/d" 2)" ;;
below)
  mkdir -p "$dir/d/a b/c" && printf 1234 >"$dir/d/a b/c/x y" && printf 1234 >"$dir/d/a b/B" && printf 1234 >"$dir/d/z" && printf 12 >"$dir/d/a b/small"
  ln -s z "$dir/d/link"
  same "4 a b/B
4 a b/c/x y
4 z
2 a b/small" "$($try sh largest.sh "$dir/d" 9)" ;;
fewer)
  mkdir "$dir/d" && same "" "$($try sh largest.sh "$dir/d" 3)"
  printf 1 >"$dir/d/one" && same "1 one" "$($try sh largest.sh "$dir/d" 3)" ;;
drawn)
  mkdir "$dir/d" && n=0
  for size in $(echo "{{sizes}}" | tr -d '[],'); do
    n=$((n + 1)) && head -c "$size" /dev/zero >"$dir/d/f$n" && echo "$size f$n" >>"$dir/all"
  done
  same "$(LC_ALL=C sort -k1,1nr -k2 "$dir/all" | head -n 7)" "$($try sh largest.sh "$dir/d" 7)" ;;
*) fail "no test $1" ;;
esac
