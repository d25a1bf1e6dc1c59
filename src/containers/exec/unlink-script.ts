/** Removes those of its arguments, which are links, that lead to a place that differs for the one that reads. Without single quotes. */
const REMOVE = `
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
for entry; do
  target=$(readlink -- "$entry" && echo .)
  target=\${target%??}
  case /$target/ in
  */proc/* | */dev/* | */tmp/* | */sys/* | */run/* | */.holdfast/*) if leads "$entry" "$target"; then rm -f -- "$entry" || exit 1; fi ;;
  esac
done
`;

/**
 * `unlink` removes the links below a directory that lead to the files of the tests, or to what the one that reads has, such as
 * /proc/self/cmdline. Directories of its own user are made readable for it.
 */
export const UNLINK = `
unlink() {
  command -v find >/dev/null || return 0
  find "$1" -type d ! -perm -500 -exec chmod u+rwx {} \\; 2>/dev/null
  find "$1" -type l -exec sh -c '${REMOVE}' sh {} +
}
`;
