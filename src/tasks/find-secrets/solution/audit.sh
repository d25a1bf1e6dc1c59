cd "$1" || exit 1
find . -type f | LC_ALL=C sort | while IFS= read -r file; do
  count=$(grep -cE '(API_KEY|SECRET|TOKEN)=[^[:space:]]{8}' "$file")
  [ "$count" -gt 0 ] || continue
  chmod go-rw "$file"
  printf '%s: %s\n' "${file#./}" "$count"
done
