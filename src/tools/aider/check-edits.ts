import { extname } from 'node:path/posix';
import { addTo } from '../../core/grouped.js';
import type { ToolEnvironment } from '../../core/tools/tool-environment.js';
import { JOINED, shownOutput } from '../container/bash.js';
import { checkerOf, PARSES } from '../container/parse-check.js';

/** What follows edits: a commit, linters by the ending of a file, and tests. */

export interface CheckOptions {
  /** A command for each ending of a file, which gets the files behind it. `*`: for all others. Empty: what is built in. */
  readonly lint: { readonly [extension: string]: string };
  readonly autoLint: boolean;
  /** Null: no tests. */
  readonly test: string | null;
  readonly timeoutSeconds: number;
}

export interface Commits {
  readonly author: { readonly name: string; readonly email: string };
}

const SAID_BYTES = 16_384;
const GIT_SECONDS = 120;

/**
 * Commits files as they are, without those beside them; prints the commit. Nothing happens without git, without a repository, and where nothing
 * has changed. Hooks of the repository are not run. Arguments: message, files.
 */
const COMMIT = `
command -v git >/dev/null || exit 0
message=$1
shift
git() { command git -c safe.directory='*' -c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgSign=false -c gc.auto=0 "$@"; }
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit 0
if [ "$BEFORE" = 1 ]; then
  # Only files that git knows: a file that is not yet there is no change.
  for file; do
    shift
    if git ls-files --error-unmatch -- "$file" >/dev/null 2>&1; then set -- "$@" "$file"; fi
  done
  [ $# -gt 0 ] || exit 0
else
  git add --intent-to-add -- "$@" >/dev/null 2>&1
fi
[ -n "$(git status --porcelain --untracked-files=no -- "$@" 2>/dev/null)" ] || exit 0
git commit --quiet --only --no-verify -m "$message" -- "$@" || exit 1
git rev-parse --short HEAD
`;

/** Gives the commit; null: there is none. `before`: only of files that git knows. */
export async function commitFiles(
  environment: ToolEnvironment,
  files: readonly string[],
  { author }: Commits,
  message: string,
  before = false,
): Promise<string | null> {
  const names = ['AUTHOR', 'COMMITTER'].flatMap((who) => [
    `GIT_${who}_NAME=${author.name}`,
    `GIT_${who}_EMAIL=${author.email}`,
  ]);
  const argv = ['env', ...names, `BEFORE=${before ? 1 : 0}`, 'sh', '-c', COMMIT, 'sh', message, ...files];
  const { exitCode, stdout } = await environment.run(argv, { timeoutSeconds: GIT_SECONDS, maxOutputBytes: SAID_BYTES });
  const commit = stdout.text.trim().split('\n').at(-1) ?? '';
  return exitCode === 0 && /^[0-9a-f]{4,64}$/.test(commit) ? commit : null;
}

/** Looks whether files parse, where something there can tell. Arguments: checker and file, again and again. */
const PARSE_ALL = `
${PARSES}
failed=0
while [ $# -gt 1 ]; do
  parses "$1" "$2" 2>&1 || failed=1
  shift 2
done
exit $failed
`;

export async function checkEdits(
  environment: ToolEnvironment,
  files: readonly string[],
  { lint, autoLint, test, timeoutSeconds }: CheckOptions,
): Promise<{ readonly lint: string | null; readonly test: string | null }> {
  const linted = autoLint ? await lintFiles(environment, files, lint, timeoutSeconds) : [];
  if (linted.length > 0) return { lint: linted.join('\n\n'), test: null };
  if (test === null) return { lint: null, test: null };
  return { lint: null, test: await said(environment, ['sh', '-c', JOINED, test], test, timeoutSeconds) };
}

async function lintFiles(
  environment: ToolEnvironment,
  files: readonly string[],
  lint: CheckOptions['lint'],
  timeoutSeconds: number,
): Promise<readonly string[]> {
  const groups = new Map<string, string[]>();
  const plain: string[] = [];
  for (const file of files) {
    const command = Object.hasOwn(lint, extname(file)) ? lint[extname(file)] : lint['*'];
    if (command !== undefined) addTo(groups, command, file);
    else if (checkerOf(file) !== '') plain.push(checkerOf(file), file);
  }
  const results = [
    ...(plain.length === 0
      ? []
      : [await said(environment, ['sh', '-c', PARSE_ALL, 'sh', ...plain], 'the check of syntax', timeoutSeconds)]),
  ];
  for (const [command, of] of groups)
    results.push(
      await said(
        environment,
        ['sh', '-c', JOINED, `${command} "$@"`, ...of],
        `${command} ${of.join(' ')}`,
        timeoutSeconds,
      ),
    );
  return results.flatMap((one) => one ?? []);
}

/** What a command that failed printed; null: it succeeded. */
async function said(
  environment: ToolEnvironment,
  argv: readonly string[],
  name: string,
  timeoutSeconds: number,
): Promise<string | null> {
  const { exitCode, timedOut, stdout } = await environment.run(argv, { timeoutSeconds, maxOutputBytes: SAID_BYTES });
  if (exitCode === 0 && !timedOut) return null;
  const how = timedOut ? `was ended after ${timeoutSeconds} seconds` : `ended with exit code ${exitCode}`;
  const more = stdout.omittedBytes > 0 ? `\n(${stdout.omittedBytes} more bytes)` : '';
  return `${name} ${how}:\n${shownOutput(stdout).trimEnd().toWellFormed()}${more}`;
}
