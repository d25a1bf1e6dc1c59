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
overrides)
  printf 'a = 1\n[s]\nb=2\n  c  =  3  \n' >"$dir/base" && printf 'a=9\n[ s ]\n c = x y = z \n' >"$dir/over"
  same 'a = 9
[s]
b=2
c = x y = z' "$($try sh merge.sh "$dir/base" "$dir/over")" ;;
adds)
  printf '# top\n[s]\n\n[t]\nx = 1\n\n# end\n' >"$dir/base" && printf 'first = 1\n[t]\ny = 2\nz = 3\n[s]\nn = 4\n' >"$dir/over"
  same 'first = 1
# top
[s]
n = 4

[t]
x = 1
y = 2
z = 3

# end' "$($try sh merge.sh "$dir/base" "$dir/over")" ;;
keeps_form)
  printf '#a = 1\n\n  [ s ]  \n\tb = 1\n   # b = 2\n\n\nc=\n' >"$dir/base" && printf '[s]\n# b = 7\n\nd=\n' >"$dir/over"
  same "$(cat "$dir/base")
d = " "$($try sh merge.sh "$dir/base" "$dir/over")"
  : >"$dir/none" && same "$(cat "$dir/base")" "$($try sh merge.sh "$dir/base" "$dir/none")"
  same '[s]
d = ' "$($try sh merge.sh "$dir/none" "$dir/over")" ;;
sections)
  printf '[s]\na = 1\n[t]\nb = 2\n[s]\nc = 3\na = 4\n\n' >"$dir/base" && printf '[u]\nz = 1\n[s]\na = 5\nd = 6\n[v]\n[u]\ny = 2\nz = 3\n[S]\na = 1\n' >"$dir/over"
  same '[s]
a = 5
[t]
b = 2
[s]
c = 3
a = 5
d = 6

[u]
z = 3
y = 2
[v]
[S]
a = 1' "$($try sh merge.sh "$dir/base" "$dir/over")" ;;
drawn)
  values=$(echo "{{values}}" | tr -d '[],') && n=0
  for value in $values; do
    n=$((n + 1)) && echo "k$n = 0" >>"$dir/base" && echo "k$n = $value" >>"$dir/over"
  done
  same "$(cat "$dir/over")" "$($try sh merge.sh "$dir/base" "$dir/over")"
  same "$(cat "$dir/base")" "$($try sh merge.sh "$dir/over" "$dir/base")" ;;
*) fail "no test $1" ;;
esac
