file=$1 keep=$2
case $keep in
'' | *[!0-9]* | 0*) echo "keep is no whole number from 1: $keep" >&2 && exit 1 ;;
esac
[ -f "$file" ] || { echo "there is no file $file" >&2; exit 1; }
[ -s "$file" ] || exit 0
mode=$(stat -c %a "$file")
largest=0
for old in "$file".*; do
  number=${old##*.}
  [ "$old" = "$file.$number" ] || continue
  case $number in '' | *[!0-9]* | 0*) continue ;; esac
  if [ "$number" -ge "$keep" ]; then rm -- "$old"; elif [ "$number" -gt "$largest" ]; then largest=$number; fi
done
while [ "$largest" -gt 0 ]; do
  [ ! -e "$file.$largest" ] || mv -- "$file.$largest" "$file.$((largest + 1))"
  largest=$((largest - 1))
done
mv -- "$file" "$file.1"
: >"$file"
chmod "$mode" "$file"
