# bash completion of holdfast
_holdfast() {
  local line value
  COMPREPLY=()
  while IFS= read -r line; do
    value="${line%%$'\t'*}"
    if [[ $value == ':files' ]]; then
      compopt -o default 2>/dev/null
      return
    fi
    # A value is inserted as one word, whatever is in it.
    COMPREPLY+=("$(printf '%q' "$value")")
  done < <(holdfast complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _holdfast holdfast
