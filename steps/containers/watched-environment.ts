import { RECORDS_DIR } from '../../src/core/containers/environment-spec.js';
import type { WorkspaceChanges } from '../../src/core/containers/workspace-changes.js';
import type { ToolEnvironment } from '../../src/core/tools/tool-environment.js';
import { type EnvironmentContext, type EnvironmentOwner, type Opened, openEnvironment } from './open-environment.js';
import { commandsIn, environmentOfCall, toolEnvironment } from './run-environment.js';

/** The environment of a run as one call of it has it, and what that call changed of its files. */
export interface WatchedEnvironment {
  readonly environment: ToolEnvironment;
  /** Null: no one asked for changes, the call used no environment, or its files could not be looked at. */
  readonly changes: () => Promise<WorkspaceChanges | null>;
}

/** An environment whose files no one looks at. */
export const unwatched = (environment: ToolEnvironment): WatchedEnvironment => ({
  environment,
  changes: () => Promise.resolve(null),
});

/**
 * Gives a call its environment. Where the environment asks for file changes, its first use leaves a list of the files, and
 * `changes` compares with the list of the call before. Executed again, after a crash, each look gives what it gave the first time.
 */
export function watchedEnvironment(
  ctx: EnvironmentContext,
  owner: EnvironmentOwner,
  callKey: string,
  signal: AbortSignal,
): WatchedEnvironment {
  const { workdir, fileChanges } = owner.spec;
  if (fileChanges === undefined) return unwatched(environmentOfCall(ctx, owner, callKey, signal));
  const onUnknown = owner.onUnknown ?? 'ask';
  let opening: Promise<Opened> | null = null;
  let begun: Promise<Opened> | null = null;
  let cwd = workdir;
  const open = (): Promise<Opened> => {
    opening ??= openEnvironment(ctx, owner, 'run', async () => ({ spec: owner.spec, source: null }), signal);
    return opening;
  };
  const look = async (how: 'begin' | 'compare') => {
    const { argv, options } = scanCommand(workdir, fileChanges.most, how);
    const { ask } = commandsIn(open, { callKey: `${callKey}:files:${how}`, onUnknown });
    return ask(argv, options, ({ environment }, command) => environment.run(command, signal));
  };
  const begin = async (): Promise<Opened> => {
    const opened = await open();
    if (!opened.kept.begun) await look('begin');
    return opened;
  };
  const use = (): Promise<Opened> => {
    begun ??= begin();
    return begun;
  };
  const environment = toolEnvironment(use, { callKey, workdir, signal, onUnknown });
  return {
    environment: {
      ...environment,
      run: (argv, options = {}) => {
        cwd = options.cwd ?? workdir;
        return environment.run(argv, options);
      },
    },
    changes: async () => {
      if (begun === null) return null;
      try {
        await begun;
        const { exitCode, stdout } = await look('compare');
        const seen = exitCode === 0 ? readScan(stdout.text) : null;
        return seen === null ? null : { cwd, ...seen };
      } catch {
        // A container that is gone ends the run at its next use, by name.
        return null;
      }
    },
  };
}

/** More files are not looked at. */
export const LOOKED_AT_MOST = 20_000;
/** Larger files have no digest, nor those beyond so many bytes of one call. */
const FILE_BYTES = 8 * 1024 * 1024;
const ALL_BYTES = 64 * 1024 * 1024;
const SECONDS = 60;
const OUTPUT_BYTES = 4 * 1024 * 1024;

/**
 * Compares the workspace with the list of its files that the last look left beside the records: by size and by the time of the last
 * change of the inode, which a program cannot set. Only what differs is read. Without a list, or where it is told to begin, it only
 * leaves one. Prints how many files there are, then a line for each that differs: `<digest or -> <bytes or -> <path>`.
 * Arguments: workspace, records, files named, files looked at, bytes of a file, bytes of all, `begin` or `compare`.
 */
const SCAN = `
umask 077
cd "$1" || exit 70
dir=$2/files most=$3 looked=$4 largest=$5 room=$6
mkdir -p "$dir" || exit 73
line='
'
export LC_ALL=C
find . -xdev -type f ! -path "*$line*" -exec stat -c '%s|%z|%n' {} + 2>/dev/null | head -n $((looked + 1)) >"$dir/all.$$"
count=$(wc -l <"$dir/all.$$")
head -n "$looked" "$dir/all.$$" | sort >"$dir/new.$$" || exit 73
rm -f "$dir/all.$$"
echo "$((count))"
if [ "$7" = compare ] && [ -f "$dir/old" ]; then
  sort "$dir/old" "$dir/new.$$" | uniq -u | while IFS= read -r entry; do
    name=\${entry#*|}
    printf '%s\\n' "\${name#*|}"
  done | sort -u >"$dir/names.$$"
  total=$(wc -l <"$dir/names.$$")
  echo "$((total))"
  head -n "$most" "$dir/names.$$" | while IFS= read -r name; do
    if ! [ -f "$name" ] || [ -L "$name" ]; then printf '%s\\n' "- - $name"; continue; fi
    size=$(stat -c %s "$name" 2>/dev/null) || { printf '%s\\n' "- - $name"; continue; }
    digest=-
    if [ "$size" -le "$largest" ] && [ "$size" -le "$room" ]; then
      room=$((room - size))
      digest=$(sha256sum <"$name" 2>/dev/null) && digest=\${digest%% *} || digest=-
    fi
    printf '%s\\n' "$digest $size $name"
  done
  rm -f "$dir/names.$$"
else
  echo 0
fi
mv "$dir/new.$$" "$dir/old"
`;

/** The command that looks: `begin` forgets what was known, so that nothing differs. */
export const scanCommand = (workdir: string, most: number, how: 'begin' | 'compare') => ({
  argv: [
    ...['sh', '-c', SCAN, 'sh', workdir, RECORDS_DIR, String(most), String(LOOKED_AT_MOST)],
    ...[String(FILE_BYTES), String(ALL_BYTES), how],
  ],
  options: { timeoutSeconds: SECONDS, maxOutputBytes: OUTPUT_BYTES },
});

/** What the command printed; null: it is not what it prints. */
export function readScan(said: string): Omit<WorkspaceChanges, 'cwd'> | null {
  const [count = '', total = '', ...lines] = said.split('\n');
  if (!/^\d+$/.test(count) || !/^\d+$/.test(total)) return null;
  const files = lines.flatMap((line) => {
    const [, digest, size, name] = /^([0-9a-f]{64}|-) (\d+|-) \.\/(.+)$/.exec(line) ?? [];
    if (digest === undefined || size === undefined || name === undefined) return [];
    return [
      {
        ...{ path: name.toWellFormed(), change: size === '-' ? ('removed' as const) : ('written' as const) },
        ...{ digest: digest === '-' ? null : `sha256:${digest}`, sizeBytes: size === '-' ? null : Number(size) },
      },
    ];
  });
  return { files, more: Math.max(0, Number(total) - files.length), complete: Number(count) <= LOOKED_AT_MOST };
}
