import { expect, it } from 'vitest';
import { type DatabaseKind, describeEachDatabaseSlowly } from '../harness/database.js';
import { describeDockerSlowly } from '../harness/docker.js';
import { type EngineLives, engineLives } from './engine-lives.js';
import { ledgerOf } from './ledger.js';

/** A worker dies with a container at work, again and again: the run ends as without, and nothing of the container is left. */

const PROGRAM = 'containers-child.js';
/** Between two instants. What lies between two pieces is tried for one command in test/containers/crash.test.ts. */
const STRIDE = Math.min(100, Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24));

const suite = (kind: DatabaseKind): void => {
  const lives = (pieces: readonly number[]) => engineLives(kind, PROGRAM, pieces);

  const expectWhole = ({ ended }: EngineLives): void => {
    const [run] = ended.runs;
    expect(run, ended.stderr).toMatchObject({ status: 'completed', ok: true, complete: true });
    const outcomes = (run?.events ?? [])
      .filter(({ kind }) => kind === 'call.finished')
      .map(({ data }) => data as { callId: string; outcome: { output: unknown } })
      .map(({ callId, outcome }) => [callId, outcome.output]);
    expect(outcomes).toEqual([
      ['one', { exitCode: 0, stdout: 'one\nprepared\nwritten\n', stderr: '' }],
      ['edit', { sizeBytes: 6 }],
      ['ask', 'yes'],
      ['two', { exitCode: 5, stdout: '', stderr: '' }],
      ['three', { exitCode: 0, stdout: '', stderr: '' }],
      ['read', { content: '1\tfirst\n2\ttwo', totalLines: 2 }],
    ]);
  };

  it('ends its run as if it had not died', { timeout: 1_800_000 }, async () => {
    const whole = await lives([]);
    expectWhole(whole);
    const pieces: number[] = [];
    for (let piece = 3; piece < whole.count; piece += STRIDE) pieces.push(piece);
    const ledger = ledgerOf(`containers on ${kind}`, pieces.map(String));
    for (const piece of pieces)
      await ledger.attempt(String(piece), async () => {
        const died = await lives([piece]);
        expectWhole(died);
        // How many pieces there are is not always the same.
        if (piece < whole.count / 2) expect(died.deaths).toBe(1);
      });
    expectWhole(await lives([20, 20, 20, 20]));
  });
};

describeDockerSlowly('containers', () => describeEachDatabaseSlowly('a worker that dies around a container', suite));
