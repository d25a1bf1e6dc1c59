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
keeps_order)
  same "b
a
 b
B" "$(printf 'b\na\nb\n b\nB\na\n' | sh unique.sh)" ;;
counts)
  same "2 b
3 a

1 x y" "$(printf 'b\na\na\nb\nx y\na\n' | sh unique.sh -c | sed 's/^1 x/\n1 x/')" ;;
drawn)
  lines=$(echo '{{lines}}' | tr -d '[]," ' | sed 's/\(..\)/\1\n/g')
  same "$(echo "$lines" | cat -n | sort -k2 -k1n | sort -u -k2,2 | sort -n | sed 's/^ *[0-9]*	//')" "$(echo "$lines" | sh unique.sh)" ;;
odd_input)
  same "" "$(printf '' | sh unique.sh)"
  same "1 -n
2 \\t
1 *" "$(printf '%s\n' -n '\t' '*' '\t' | sh unique.sh -c)"
  out=$(echo a | sh unique.sh -x 2>"$dir/err")
  same "2|" "$?|$out"
  [ -s "$dir/err" ] || fail "says nothing" ;;
*) fail "no test $1" ;;
esac
