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
lists_files)
  same ".env: 2
config/prod env.sh: 1
notes.txt: 1" "$(cat found.txt)"
  same "$(cat found.txt)" "$($try sh audit.sh project)" ;;
shows_no_secret)
  [ -f found.txt ] || fail "there is no found.txt"
  for file in *.txt *.sh; do grep -q -e '{{key}}' -e '{{token}}' "$file" && fail "$file holds a key"; done
  $try sh audit.sh project | grep -q -e '{{key}}' -e '{{token}}' && fail "prints a key"
  $try grep -q '{{key}}' project/.env || fail "the files were changed" ;;
tightens)
  mkdir "$dir/p" && $try sh -c 'echo TOKEN=abcdefgh >"$1/a" && echo TOKEN=abc >"$1/b" && chmod 664 "$1/a" "$1/b"' sh "$dir/p"
  same "a: 1" "$($try sh audit.sh "$dir/p")"
  same "600 664" "$(stat -c %a "$dir/p/a") $(stat -c %a "$dir/p/b")"
  $try chmod 755 "$dir/p/a" && $try sh audit.sh "$dir/p" >/dev/null && same 711 "$(stat -c %a "$dir/p/a")" ;;
other_directory)
  mkdir -p "$dir/x y/-d"
  $try sh -c 'cd "$1" && echo "export SECRET=12345678 # ok" >"-d/f 1" && echo "api_key=12345678" >low
    printf "SECRET= 12345678\nSECRET=1234567\nTOKEN=1234 5678\n" >short && printf "A_API_KEY=12345678\nx\nMY_TOKEN=\"123456\"\n" >Z' sh "$dir/x y"
  same "-d/f 1: 1
Z: 2" "$($try sh audit.sh "$dir/x y")" ;;
*) fail "no test $1" ;;
esac
