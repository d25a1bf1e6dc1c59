import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { SLOW } from '../harness/slow.js';

const MODEL = join(import.meta.dirname, 'runs.pml');
const scratch = mkdtempSync(join(tmpdir(), 'holdfast-model-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const answers = (name: string, option: string): boolean => spawnSync(name, [option]).status === 0;
const HAS_SPIN = answers('spin', '-V') && answers('gcc', '--version');
const REQUIRED = (process.env['HOLDFAST_TEST_REQUIRE'] ?? '').split(',').includes('spin');
if (!HAS_SPIN && REQUIRED) throw new Error('spin or gcc is not installed, and HOLDFAST_TEST_REQUIRE names spin');

/** What the model does wrong, by the number of the mistake. */
const MISTAKES = [
  'a step is recorded for an execution that is not the owner',
  'a statement that is sent again records its step twice',
  'a segment is claimed by two statements, without a lock',
  'a row that may not be recorded takes its whole statement with it',
  'all rows of a statement get one answer',
  'a run is paused before its steps are durable',
  'an interruption is there before its run is paused',
  'a worker that was taken over writes intents',
  'an unsafe body starts without an intent',
  'a call of unknown effect runs again without a question',
  'a takeover leaves the owner of a segment in place',
  'a decision is accepted twice',
  'a decision and the segment after it are two transactions',
  'a worker that was taken over takes the segment after a decision',
  'no one looks for segments that a worker holds and does not execute',
  'a segment starts before the commit of its decision',
  'a step is recorded without the one before it',
];

/** Explores every order of things. Returns what spin says. */
function explore(name: string, defined: { readonly [name: string]: number }): string {
  const folder = mkdtempSync(join(scratch, name));
  const options = Object.entries(defined).map(([key, value]) => `-D${key}=${value}`);
  execFileSync('spin', [...options, '-a', MODEL], { cwd: folder });
  execFileSync('gcc', ['-O2', '-w', '-DSAFETY', '-DCOLLAPSE', '-DMEMLIM=3000', '-o', 'pan', 'pan.c'], { cwd: folder });
  const { stdout } = spawnSync(join(folder, 'pan'), ['-m200000', '-w20'], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 2 ** 24,
  });
  return stdout;
}

describe.runIf(HAS_SPIN && SLOW)('the protocol of runs and workers, as a model', () => {
  it('has no order in which it fails, with one fault at any moment', { timeout: 300_000 }, () => {
    const said = explore('whole', {});
    expect(said).toContain('errors: 0');
    expect(said).not.toContain('Search not completed');
  });

  it('has none with two faults either', { timeout: 900_000 }, () => {
    const said = explore('twice', { FAULTS: 2 });
    expect(said).toContain('errors: 0');
    expect(said).not.toContain('Search not completed');
  });

  it.each(MISTAKES.map((mistake, n) => [mistake, n + 1] as const))(
    'shows the mistake: %s',
    { timeout: 300_000 },
    (_mistake, n) => {
      expect(explore(`mistake-${n}-`, { MISTAKE: n })).toContain('errors: 1');
    },
  );
});
