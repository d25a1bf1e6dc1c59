import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { placeOf, readTask } from '../../src/cli/commands/tasks/read-task.js';
import type { Environment } from '../../src/core/containers/environment.js';
import { Allowance } from '../../src/core/limits/allowance.js';
import { type ResolvedTask, resolveTask } from '../../src/core/tasks/resolve-task.js';
import type { TaskDefinition } from '../../src/core/tasks/task-definition.js';
import { bytesOf, type TaskFiles } from '../../src/core/tasks/task-file.js';
import { TRY_PATH, testFilesOf } from '../../src/core/tasks/task-verification.js';
import { endedOf, never, shell } from '../containers/environments.js';

/** Attempts at tasks that ship, in one container and without an agent: many in seconds. */

export const SHIPPED: readonly TaskDefinition[] = readdirSync(join(placeOf('count-words'), '..'))
  .sort()
  .map((name) => readTask(name));

export interface Attempt {
  readonly task: ResolvedTask;
  /** Whether the reference solution was there, or nothing was done. */
  readonly solved: boolean;
}

export interface Outcome extends Attempt {
  /** What each test ended with, and `compile` and `lint` where the task has them; then what it said. */
  readonly ended: Readonly<Record<string, { readonly code: number; readonly said: string }>>;
}

export const attempt = (definition: TaskDefinition, seed: number, solved: boolean): Attempt => ({
  task: resolveTask(definition, { parameters: {}, seed }, new Allowance()),
  solved,
});

const quoted = (argv: readonly string[]): string => argv.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');

function write(root: string, files: TaskFiles): void {
  for (const [path, file] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), bytesOf(file), { mode: Number.parseInt(file.mode, 8) });
  }
}

const commandsOf = ({
  verification: { tests, compile, lint },
}: ResolvedTask): readonly [string, readonly string[]][] => [
  ...tests.map(({ name, command = [] }): [string, readonly string[]] => [name, command]),
  ...(compile === null ? [] : [['compile', compile] as [string, readonly string[]]]),
  ...(lint === null ? [] : [['lint', lint] as [string, readonly string[]]]),
];

/** Makes each attempt in a directory of its own, and runs its tests as verification does: in order, in the workspace. */
export async function makeAttempts(
  environment: Environment,
  attempts: readonly Attempt[],
): Promise<readonly Outcome[]> {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-attempts-'));
  for (const [index, { task, solved }] of attempts.entries()) {
    const place = join(root, String(index));
    mkdirSync(join(place, 'work'), { recursive: true });
    write(join(place, 'work'), task.initialFiles);
    if (solved) write(join(place, 'work'), task.solution?.files ?? {});
    mkdirSync(join(place, 'tests'));
    write(join(place, 'tests'), testFilesOf(task.verification));
    const script =
      solved && task.solution?.script != null ? [`( ${quoted(['sh', '-c', task.solution.script])} ) || exit 9`] : [];
    // Of an attempt that did nothing the first failure says enough.
    const then = solved ? '' : '[ "$code" = 0 ] || exit 0';
    const lines = commandsOf(task).map(
      ([, argv], command) =>
        `timeout 60 ${quoted(argv)} >../said 2>&1 </dev/null; code=$?; echo "@ ${index} ${command} $code"; tail -c 600 ../said; echo; ${then}`,
    );
    writeFileSync(join(place, 'run.sh'), [...script, ...lines].join('\n'));
  }
  const tar = execFileSync('tar', ['-C', root, '-c', '.'], { maxBuffer: 64 * 1024 * 1024 });
  rmSync(root, { recursive: true });
  await environment.write('/work/attempts.tar', tar, never);
  // All of it is one user's here: what is tried is executed as it is.
  const all = `printf '#!/bin/sh\\nexec "$@"\\n' >${TRY_PATH}; chmod 755 ${TRY_PATH}; mkdir all && tar -C all -xf attempts.tar && for at in all/*; do
    rm -rf /tmp/tests && cp -r "$at/tests" /tmp/tests && ( cd "$at/work" && sh ../run.sh ); done`;
  const { exitCode, stdout, stderr } = endedOf(
    await environment.run(shell(all, { timeoutSeconds: 600, maxOutputBytes: 4 * 1024 * 1024 }), never),
  );
  if (exitCode !== 0) throw new Error(`the attempts ended with ${exitCode}: ${stderr.text}`);
  return attempts.map((one, index) => ({ ...one, ended: endedIn(stdout.text, index, commandsOf(one.task)) }));
}

function endedIn(text: string, index: number, commands: readonly [string, readonly string[]][]): Outcome['ended'] {
  const found = [...text.matchAll(/^@ (\d+) (\d+) (\d+)\n([\s\S]*?)(?=^@ |(?![\s\S]))/gm)];
  return Object.fromEntries(
    commands.map(([name], command) => {
      const [, , , code = '-1', said = ''] =
        found.find(([, a, b]) => Number(a) === index && Number(b) === command) ?? [];
      return [name, { code: Number(code), said: said.trim() }];
    }),
  );
}
