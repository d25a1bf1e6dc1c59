/**
 * Removes links of an agent that lead to what differs for the one that reads: the files of the tests, or of its own process, such as
 * /proc/self/cmdline. `$limit`: how many entries are looked at; unset: all.
 */
export const UNLINK = `
leads() {
  case $2 in
  /dev/null | /dev/zero | /dev/full | /dev/random | /dev/urandom) return 1 ;;
  /*) rest=$2 at= ;;
  *) rest=$2 at=\${1%/*} ;;
  esac
  while [ -n "$rest" ]; do
    part=\${rest%%/*}
    case $rest in */*) rest=\${rest#*/} ;; *) rest= ;; esac
    case $part in proc | dev | tmp | sys | run | .holdfast) [ "$(cd -P -- "$at/" 2>/dev/null && pwd)" != / ] || return 0 ;; esac
    at=$at/$part
  done
  return 1
}
seen=0
walk() {
  for entry in "$1"/* "$1"/.[!.]* "$1"/..?*; do
    seen=$((seen + 1))
    [ -z "\${limit-}" ] || [ $seen -lt "$limit" ] || return 0
    if [ -L "$entry" ]; then
      target=$(readlink -- "$entry" && echo .)
      target=\${target%??}
      case /$target/ in
      */proc/* | */dev/* | */tmp/* | */sys/* | */run/* | */.holdfast/*) if leads "$entry" "$target"; then rm -f -- "$entry" || return 1; fi ;;
      esac
    elif [ -d "$entry" ]; then
      [ -x "$entry" ] && [ -r "$entry" ] || chmod u+rwx "$entry" 2>/dev/null
      walk "$entry" || return 1
    fi
  done
}
`;
