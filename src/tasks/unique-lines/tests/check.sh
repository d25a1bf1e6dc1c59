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
keeps_order)
  same "b
a
 b
B" "$(printf 'b\na\nb\n b\nB\na\n' | $try sh unique.sh)" ;;
counts)
  same "2 b
3 a

1 x y" "$(printf 'b\na\na\nb\nx y\na\n' | $try sh unique.sh -c | sed 's/^1 x/\n1 x/')" ;;
drawn)
  lines=$(echo '{{lines}}' | tr -d '[]," ' | sed 's/\(..\)/\1\n/g')
  same "$(echo "$lines" | cat -n | sort -k2 -k1n | sort -u -k2,2 | sort -n | sed 's/^ *[0-9]*	//')" "$(echo "$lines" | $try sh unique.sh)" ;;
odd_input)
  same "" "$(printf '' | $try sh unique.sh)"
  same "1 -n
2 \\t
1 *" "$(printf '%s\n' -n '\t' '*' '\t' | $try sh unique.sh -c)"
  out=$(echo a | $try sh unique.sh -x 2>"$dir/err")
  same "2|" "$?|$out"
  [ -s "$dir/err" ] || fail "says nothing" ;;
*) fail "no test $1" ;;
esac
