column=$1 awk -F '\t' '
  NR == 1 {
    for (n = 1; n <= NF; n++) if (at == 0 && $n == ENVIRON["column"]) at = n
    if (at == 0) { print "no column " ENVIRON["column"] >"/dev/stderr"; exit }
    next
  }
  $0 == "" { next }
  $at ~ /^[-+]?[0-9]+$/ { sum += $at; next }
  { out++ }
  END {
    if (at == 0) exit 1
    printf "%d\n", sum
    if (out > 0) print "left out: " out >"/dev/stderr"
  }
' "$2"
