for file in "$1"/*.JPG "$1"/*.JPEG "$1"/*.jpeg; do
  [ -f "$file" ] || continue
  new=${file%.*}.jpg
  if [ -e "$new" ]; then
    printf 'skipped %s\n' "${file##*/}"
  else
    mv "$file" "$new"
  fi
done
