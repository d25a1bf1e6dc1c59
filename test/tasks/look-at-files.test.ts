import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { Allowance } from '../../src/core/allowance.js';
import { resolveTask } from '../../src/core/resolve-task.js';
import { parseTask } from '../../src/core/task-definition.js';
import type { EndedCommand, ToolEnvironment } from '../../src/core/tool-environment.js';
import { lookAtFiles } from '../../steps/look-at-files.js';

/** The search for what was written down, in a shell of this machine: what it says where the image lacks a program for it. */

const dir = mkdtempSync(join(tmpdir(), 'holdfast-look-'));
afterAll(() => rmSync(dir, { recursive: true }));

const task = resolveTask(
  parseTask({
    ...{ name: 'answer', version: '1.0.0', category: 'words', difficulty: 'easy', instruction: 'Compute it.' },
    ...{ environment: { image: 'any' }, verification: { tests: [{ name: 'no', command: 'false' }] } },
    expectedOutputs: ['1234567891'],
  }),
  { parameters: {}, seed: 1 },
  new Allowance(),
);

/** Commands as an image would execute them that has these programs and a shell. */
function imageWith(programs: readonly string[]): ToolEnvironment {
  const bin = mkdtempSync(join(dir, 'bin-'));
  const workdir = mkdtempSync(join(dir, 'work-'));
  const found = (program: string): string =>
    spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program]).stdout.toString('utf8').trim();
  for (const program of programs) symlinkSync(found(program), join(bin, program));
  writeFileSync(join(workdir, 'answer.txt'), '1234567891\n');
  const said = (bytes: Buffer) => ({ text: bytes.toString('utf8'), omittedBytes: 0 });
  return {
    workdir,
    run: async ([, ...rest]): Promise<EndedCommand> => {
      const { status, stdout, stderr } = spawnSync('/bin/sh', rest, { cwd: workdir, env: { PATH: bin + delimiter } });
      return {
        exitCode: status ?? -1,
        timedOut: false,
        outOfMemory: false,
        stdout: said(stdout),
        stderr: said(stderr),
      };
    },
    read: () => Promise.reject(new Error('nothing is read')),
    write: () => Promise.reject(new Error('nothing is written')),
  };
}

it('finds what is written down, and says what the image lacks for that', async () => {
  expect(await lookAtFiles(imageWith(['find', 'head', 'base64', 'tr']), task, null)).toMatchObject([
    { kind: 'expected_output', place: 'answer.txt' },
  ]);
  await expect(lookAtFiles(imageWith(['find', 'head', 'tr']), task, null)).rejects.toThrow('the image has no base64');
});
