import { chmodSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine, SubmitTask } from '../../src/index.js';
import { BUSYBOX } from '../harness/docker.js';
import { ADMIN } from '../harness/engine.js';
import { ownVersion } from './own-version.js';

/** A submitted task for the agent that asks, and the directory that its containers share with the test. */
export interface AskedTask {
  readonly id: string;
  readonly runId: string;
  readonly dir: string;
  /** What its commands have written to /seen/log. */
  readonly log: () => readonly string[];
}

/** Writes of itself to /seen/log whenever it runs. */
export const BEGIN = '$ echo began >>/seen/log; echo one >>file';

export async function submitAsked(
  engine: Engine,
  linesIn: (dir: string) => readonly string[],
  snapshots: object | null,
): Promise<AskedTask> {
  const dir = mkdtempSync('/tmp/holdfast-test-');
  chmodSync(dir, 0o777);
  const task = {
    ...{ name: 'two-lines', version: '1.0.0', category: 'shell', difficulty: 'easy' as const },
    instruction: linesIn(dir).join('\n'),
    initialFiles: { given: 'given\n' },
    environment: {
      ...{ image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64 }, snapshots },
      mounts: [{ source: dir, target: '/seen', readOnly: false }],
    },
    verification: { tests: [{ name: 'both', command: '[ "$(cat given file | tr "\\n" " ")" = "given one two " ]' }] },
  };
  const { id, runId } = await engine.submitTask({ task: ownVersion(task), agent: 'asking' } as SubmitTask, ADMIN);
  return { id, runId, dir, log: () => readFileSync(join(dir, 'log'), 'utf8').trim().split('\n') };
}
