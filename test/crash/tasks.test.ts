import { expect, it } from 'vitest';
import { type DatabaseKind, describeEachDatabaseSlowly } from '../harness/database.js';
import { describeDockerSlowly } from '../harness/docker.js';
import { type EngineLives, engineLives } from './engine-lives.js';
import { ledgerOf } from './ledger.js';

/** A worker dies while a task is prepared, worked on, verified and ended: its result is the same, and no test runs twice. */

/** Between two instants. Between the pieces of one command test/containers/crash.test.ts tries them. */
const STRIDE = Math.max(100, Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 100));

const suite = (kind: DatabaseKind): void => {
  const lives = (pieces: readonly number[]) => engineLives(kind, 'tasks-child.js', pieces);

  const expectWhole = ({ ended }: EngineLives): void => {
    const [run] = ended.runs;
    expect(run, ended.stderr).toMatchObject({ status: 'completed', ok: true, complete: true });
    expect(run?.output).toEqual({
      ...{ status: 'completed', reward: 0.78125, rewards: 1 },
      result: { type: 'partial_success', reward: 0.78125, missing: ['progress', 'test:never', 'test_pass'] },
    });
    const verified = (run?.events ?? []).filter(({ kind: what }) => what === 'task.verified');
    const kept = verified.map(
      ({ data }) => (data as { artifacts: { items: { name: string; sha256: string }[] } }).artifacts,
    );
    expect(kept.map(({ items }) => items.map(({ name }) => name))).toEqual([['file-1', 'patch.diff']]);
    expect(verified.map(({ data }) => (data as { evidence: { tests: { share: number }[] } }).evidence.tests)).toEqual([
      [
        expect.objectContaining({ name: 'first', share: 1 }),
        expect.objectContaining({ name: 'agent', share: 1 }),
        expect.objectContaining({ name: 'second', share: 1 }),
        expect.objectContaining({ name: 'never', share: 0 }),
      ],
    ]);
  };

  it('ends its task as if it had not died', { timeout: 1_800_000 }, async () => {
    const whole = await lives([]);
    expectWhole(whole);
    const pieces: number[] = [];
    for (let piece = 20; piece < whole.count; piece += STRIDE) pieces.push(piece);
    const ledger = ledgerOf(`tasks on ${kind}`, pieces.map(String));
    for (const piece of pieces)
      await ledger.attempt(String(piece), async () => {
        const died = await lives([piece]);
        expectWhole(died);
        // How many pieces there are is not always the same.
        if (piece < whole.count / 2) expect(died.deaths).toBe(1);
      });
    expectWhole(await lives([30, 30, 30, 30]));
  });
};

describeDockerSlowly('tasks', () => describeEachDatabaseSlowly('a worker that dies around a task', suite));
