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
by_name)
  printf 'name\tunits\tcents\nlamp\t3\t1999\ndesk\t-1\t24900\nchair\t+7\t0\n' >"$dir/f"
  same 9 "$($try sh sum.sh units "$dir/f")"
  same 26899 "$($try sh sum.sh cents "$dir/f")"
  same 9 "$($try sh sum.sh units sales.tsv)" ;;
any_order)
  printf 'a.b\tunits sold\ta*b\tx\n1\t2\t3\t4\n10\t20\t30\t40\n' >"$dir/f"
  same "22 33 44 11" "$($try sh sum.sh 'units sold' "$dir/f") $($try sh sum.sh 'a*b' "$dir/f") $($try sh sum.sh x "$dir/f") $($try sh sum.sh a.b "$dir/f")"
  $try sh sum.sh 'a.*' "$dir/f" 2>/dev/null && fail "a name is no pattern"
  printf 'a\\tb\tc\n5\t6\n' >"$dir/g" && same 5 "$($try sh sum.sh 'a\tb' "$dir/g")" ;;
drawn)
  { printf 'n\tvalue\n' && echo "{{values}}" | tr -d '[] ' | tr ',' '\n' | sed 's/^/x\t/'; } | sed "s/\\\\t/	/" >"$dir/f"
  right=0 && for value in $(echo "{{values}}" | tr -d '[],'); do right=$((right + value)); done
  same "$right" "$($try sh sum.sh value "$dir/f")" ;;
refuses)
  printf 'a\tb\n1\t2\n' >"$dir/f"
  out=$($try sh sum.sh c "$dir/f" 2>"$dir/err")
  same 1 $?
  same "|no column c" "$out|$(cat "$dir/err")" ;;
odd_lines)
  printf 'a\tb\n1\t2\n\n3\n4\t\n5\t1.5\n6\tx\n7\t08\n8\t1 \n' >"$dir/f"
  same 10 "$($try sh sum.sh b "$dir/f" 2>"$dir/err")"
  same "left out: 5" "$(cat "$dir/err")"
  printf 'a\n' >"$dir/g" && same "0|" "$($try sh sum.sh a "$dir/g" 2>&1)|" ;;
*) fail "no test $1" ;;
esac
