case ${1-} in
'') awk '!seen[$0]++' ;;
-c) awk '!count[$0]++ { line[++n] = $0 } END { for (i = 1; i <= n; i++) print count[line[i]] " " line[i] }' ;;
*) echo "unique.sh takes -c or nothing, not $1" >&2 && exit 2 ;;
esac
