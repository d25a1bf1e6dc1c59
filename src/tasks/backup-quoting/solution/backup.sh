target=$1
shift
mkdir -p -- "$target"
saved=0 code=0
for file in "$@"; do
  case $file in /*) path=$file ;; *) path=./$file ;; esac
  if [ -f "$path" ] && cp -- "$path" "$target/${path##*/}.bak"; then
    saved=$((saved + 1))
  else
    printf 'missing: %s\n' "$file" >&2
    code=1
  fi
done
echo "saved $saved"
exit $code
