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
lists_files)
  same ".env: 2
config/prod env.sh: 1
notes.txt: 1" "$(cat found.txt)"
  same "$(cat found.txt)" "$(sh audit.sh project)" ;;
shows_no_secret)
  [ -f found.txt ] || fail "there is no found.txt"
  for file in *.txt *.sh; do grep -q -e '{{key}}' -e '{{token}}' "$file" && fail "$file holds a key"; done
  sh audit.sh project | grep -q -e '{{key}}' -e '{{token}}' && fail "prints a key"
  grep -q '{{key}}' project/.env || fail "the files were changed" ;;
tightens)
  mkdir "$dir/p" && echo 'TOKEN=abcdefgh' >"$dir/p/a" && echo 'TOKEN=abc' >"$dir/p/b" && chmod 664 "$dir/p/a" "$dir/p/b"
  same "a: 1" "$(sh audit.sh "$dir/p")"
  same "600 664" "$(stat -c %a "$dir/p/a") $(stat -c %a "$dir/p/b")"
  chmod 755 "$dir/p/a" && sh audit.sh "$dir/p" >/dev/null && same 711 "$(stat -c %a "$dir/p/a")" ;;
other_directory)
  mkdir -p "$dir/x y/-d" && echo 'export SECRET=12345678 # ok' >"$dir/x y/-d/f 1" && echo 'api_key=12345678' >"$dir/x y/low"
  printf 'SECRET= 12345678\nSECRET=1234567\nTOKEN=1234 5678\n' >"$dir/x y/short" && printf 'A_API_KEY=12345678\nx\nMY_TOKEN="123456"\n' >"$dir/x y/Z"
  same "-d/f 1: 1
Z: 2" "$(sh audit.sh "$dir/x y")" ;;
*) fail "no test $1" ;;
esac
