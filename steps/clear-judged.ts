import type { JudgedEnvironment } from './verification-environment.js';

/**
 * Removes paths, makes directories, and says what is left of commands before: "process" where something of them works on, "path" where
 * something cannot be removed. A process whose parent is gone is a child of the first one, as the main process is, and no other. Names
 * of processes are their own to choose: a line that is cut by one counts. Arguments: how many paths, paths, directories.
 */
const CLEAR = `
paths=$1
shift
while [ "$paths" -gt 0 ]; do
  chmod u+rwx "\${1%/*}" 2>/dev/null
  [ -L "$1" ] || chmod -R u+rwX "$1" 2>/dev/null
  rm -rf -- "$1" 2>/dev/null
  if [ -e "$1" ] || [ -L "$1" ]; then echo path; fi
  shift
  paths=$((paths - 1))
done
[ $# = 0 ] || mkdir -p -- "$@"
children=0
for file in /proc/[0-9]*/stat; do
  read -r line 2>/dev/null <"$file" || continue
  set -f -- \${line##*) }
  if [ $# -lt 20 ] || [ "$2" = 1 ]; then children=$((children + 1)); fi
done
[ $children -le 1 ] || echo process
exit 0
`;

/**
 * Makes room for a test, and ends what the ones before have left at work, which would change its files: the code that they tried is the
 * agent's. `false`: something cannot be removed.
 */
export async function clearJudged(
  environment: JudgedEnvironment,
  { remove, make }: { readonly remove: readonly string[]; readonly make: readonly string[] },
): Promise<boolean> {
  const clear = async (): Promise<string> =>
    (await environment.run(['sh', '-c', CLEAR, 'sh', String(remove.length), ...remove, ...make])).stdout.text;
  const left = await clear();
  if (left === '') return true;
  await environment.end();
  // What is a child of the first process now was started by the main one.
  return !(await clear()).includes('path');
}
