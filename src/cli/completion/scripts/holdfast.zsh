#compdef holdfast
# zsh completion of holdfast
_holdfast() {
  local line value
  local -a lines values
  lines=("${(@f)$(holdfast complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "${lines[1]}" == ':files' ]]; then
    _files
    return
  fi
  for line in "${lines[@]}"; do
    value="${line%%$'\t'*}"
    [[ -n "$value" ]] && values+=("${value//:/\\:}:${line#*$'\t'}")
  done
  _describe 'holdfast' values
}
if [[ "$funcstack[1]" == '_holdfast' ]]; then
  _holdfast "$@"
else
  compdef _holdfast holdfast
fi
