import { expect, it } from 'vitest';
import { describeDockerSlowly } from '../harness/docker.js';
import { type EngineLives, engineLives } from './engine-lives.js';
import { ledgerOf } from './ledger.js';

/** A worker dies by SIGKILL while a scaffold edits, commits, tests and keeps a session: all of it happens once, and the replay says the same. */

const PROGRAM = 'scaffolds-child.js';
/** Deaths in one run, spread over its traffic with the engine. */
const DEATHS = Math.max(2, Math.round(96 / Math.min(48, Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24))));

/** What the calls of the run gave, by the ids of calls or by their tools. */
const outcomesOf = ({ ended }: EngineLives): readonly unknown[] => {
  const [run] = ended.runs;
  expect(run, ended.stderr).toMatchObject({ status: 'completed', output: 'Done.', ok: true, complete: true });
  return (run?.events ?? [])
    .filter(({ kind }) => kind === 'call.finished')
    .map(({ data }) => (data as { outcome: { output: unknown } }).outcome.output);
};

const EXPECTED: { readonly [scaffold: string]: (outcomes: readonly unknown[]) => void } = {
  aider: (outcomes) => {
    expect(outcomes.slice(0, 3)).toMatchObject([{ ok: true }, { ok: false }, { ok: true }]);
    // Two runs of the tests, behind the first and the third commit.
    expect(outcomes.slice(3)).toEqual([
      { path: '/work/.git/tests', text: '1\n3\n' },
      { path: '/work/a.py', text: 'x = 2\n' },
      { path: '/work/b.py', text: 'print("c")\n' },
    ]);
  },
  openhands: (outcomes) => {
    expect(outcomes[5]).toBe('2\n');
    expect(outcomes[7]).toBe(
      'one\n1 /work/d\na\ncell\n[Current working directory: /work/d]\n[Command finished with exit code 0]',
    );
  },
};

describeDockerSlowly('a worker that dies while a scaffold works', () => {
  it.each(Object.keys(EXPECTED))('%s ends as if it had not', { timeout: 1_800_000 }, async (scaffold) => {
    const lives = (pieces: readonly number[]) => engineLives('pglite', PROGRAM, pieces, { SCAFFOLD: scaffold });
    const whole = await lives([]);
    EXPECTED[scaffold]?.(outcomesOf(whole));
    const pieces = Array.from({ length: DEATHS }, (_, at) => Math.floor((whole.count * (at + 0.5)) / DEATHS));
    const ledger = ledgerOf(`the scaffold ${scaffold}`, pieces.map(String));
    for (const piece of pieces)
      await ledger.attempt(String(piece), async () => {
        const died = await lives([piece]);
        EXPECTED[scaffold]?.(outcomesOf(died));
        if (piece < whole.count / 2) expect(died.deaths).toBe(1);
      });
    const often = Array.from({ length: 3 }, () => Math.floor(whole.count / 4));
    const died = await lives(often);
    EXPECTED[scaffold]?.(outcomesOf(died));
    expect(died.deaths).toBe(3);
  });
});
