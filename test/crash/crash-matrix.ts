import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeEachDatabase, describeEachDatabaseSlowly } from '../harness/database.js';
import { SLOW } from '../harness/slow.js';
import { ledgerOf, nameOf, timeIsOver } from './ledger.js';
import type { KillAt } from './place.js';
import type { RunReport } from './report.js';
import { startChild } from './run-child.js';
import { type Scenario, type ScenarioName, scenarioOf } from './scenario.js';
import { type Template, templateOf } from './template.js';
import { effectsIn } from './world.js';

const stride = Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24);
const WHEN = ['before', 'sent', 'after'] as const;

const everyNth = <T>(items: readonly T[], n: number): readonly T[] => items.filter((_, index) => index % n === 0);

const killsOf = ({ places, statements, around = [] }: Scenario): readonly KillAt[] => [
  // The chain goes through them in one run; alone, they are taken as often as statements allow.
  ...everyNth(places, Math.ceil(stride / 4)).map((place) => ({ when: 'place' as const, place })),
  ...around,
  ...Array.from({ length: Math.ceil((statements - Math.floor(stride / 4)) / stride) }, (_, index) => ({
    when: WHEN[index % WHEN.length] ?? 'after',
    statement: Math.floor(stride / 4) + index * stride,
  })),
];

/** A question to a person is an event of its own, and the answer is in the person's words: then log and tokens may be others. */
const wasAsked = (runs: readonly RunReport[]): boolean =>
  runs.some(({ events }) => events.some((event) => event.kind === 'call.unknown'));
const endsOf = (runs: readonly RunReport[]) => runs.map(({ events: _events, usage: _usage, ...end }) => end);

/** The ids of calls that come after a segment was rebuilt have its number at their end, and those of runs follow from them. */
const withoutIds = <T>(value: T): T =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/_s\d+/g, '')
      .replaceAll(/run_[0-9a-f]{32}/g, 'run'),
  );

/** Digests of rows of memory have the times of the rows and random salts in them, so that two runs never have the same. */
const withoutTimes = <T>(runs: T): T =>
  JSON.parse(
    JSON.stringify(runs, (name, value) => (['digest', 'dataHash', 'stateHashAfter'].includes(name) ? '' : value)),
  );

/**
 * The crash matrix of a scenario: the process is killed with SIGKILL at one instant after the other, started again, and every
 * run must end with the same output, the same log and each unsafe effect once. One chain goes through the instants inside
 * models and tools in a single run. HOLDFAST_TEST_SLOW=1 adds each of them alone, and every durable statement whose number
 * HOLDFAST_CRASH_STRIDE divides (default 24). With `newer`, each process but the first is of that program, which cannot replay
 * what the one before has recorded: segments are rebuilt then, and logs are others.
 */
export function crashMatrix(scenarioName: ScenarioName, newer?: () => string): void {
  const deploys = newer !== undefined;
  const scenario = scenarioOf(scenarioName);
  const describeEach =
    scenarioName === 'tools' && !deploys && !SLOW ? describeEachDatabase : describeEachDatabaseSlowly;
  /** Of the stride: the tools are killed more often than the rest. */
  const share = scenarioName === 'tools' ? 48 : 8;
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-effects-'));
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  describeEach(`crash matrix of ${scenarioName}${deploys ? ' under deploys' : ''}`, (kind) => {
    const suite = `${scenarioName}${deploys ? ' under deploys' : ''} on ${kind}`;
    /** Where the one run of the chain dies: everywhere, or as often as the stride says. */
    const chain = everyNth(scenario.places, SLOW ? Math.ceil(stride / (deploys ? 4 : share)) : 12);
    // Where few are taken, one database has them, and both have the chain and the tools.
    const isSample = stride >= 96 && scenarioName !== 'tools' && kind === 'pglite';
    // Under deploys the chain goes through the instants of the other scenarios.
    const kills = deploys && scenarioName !== 'tools' ? [] : killsOf(scenario).slice(0, isSample ? 1 : undefined);
    const ledger = kills.length > 0 && SLOW ? ledgerOf(suite, kills.map(nameOf)) : null;
    const isDone = (): boolean => (ledger === null ? timeIsOver() : ledger.isDone());
    let template: Template | null = null;
    let whole: readonly RunReport[];
    let made = 0;
    let copies = 0;

    /** Runs processes that die one after the other, then one that does not, and says how it ended. */
    const finish = async (name: string, kills: readonly KillAt[], more: Readonly<Record<string, string>> = {}) => {
      if (template === null) throw new Error('there is no template');
      const copy = await template.copy(`c${copies++}`);
      const file = join(scratch, `${kind}-${name.replaceAll(/\W+/g, '-')}`);
      const env = { ...copy.env, ...more, EFFECTS_FILE: file, SCENARIO: scenarioName };
      const version = (deaths: number) => ({ RECORDING_VERSION: String(deaths + 1) });
      let deaths = 0;
      try {
        for (const kill of [...kills, undefined]) {
          const ended = await startChild({ ...env, ...version(deaths) }, kill, deaths > 0 ? newer?.() : undefined)
            .ended;
          if (ended.signal !== 'SIGKILL') return { deaths, ended, effects: effectsIn(file) };
          deaths++;
        }
        throw new Error('the last process died too');
      } finally {
        await copy.drop();
      }
    };

    /** The same end as without any crash. */
    const expectWhole = ({ ended: { runs, stderr }, effects }: Awaited<ReturnType<typeof finish>>): void => {
      const ends = deploys ? withoutIds : <T>(value: T): T => value;
      expect(ends(endsOf(runs)), stderr).toEqual(ends(endsOf(whole)));
      const logs = scenario.writesMemory === true ? withoutTimes : ends;
      if (!wasAsked(runs) && !deploys && scenario.isRacing !== true) expect(logs(runs)).toEqual(logs(whole));
      const seen = (name: string) => effects.filter((line) => line.startsWith(`${name}:`)).length;
      for (const [name, times] of Object.entries(scenario.exactly)) expect(seen(name), name).toBe(times);
      for (const name of scenario.atMostOnce ?? []) expect(seen(name), name).toBeLessThan(2);
      for (const name of scenario.repeated ?? []) expect(seen(name), name).toBeGreaterThan(0);
    };

    beforeAll(async () => {
      if (isDone()) return;
      template = await templateOf(kind);
      const env = { ...template.env, EFFECTS_FILE: join(scratch, 'none'), SCENARIO: scenarioName, ONLY_START: '1' };
      const started = await startChild(env).ended;
      expect(started.signal, started.stderr).toBe('SIGKILL');
      const statements = join(scratch, `${kind}-statements`);
      const { ended } = await finish('whole', [], { STATEMENT_LOG: statements });
      whole = ended.runs;
      expect(whole.length, ended.stderr).toBeGreaterThan(0);
      for (const run of whole) expect(run).toMatchObject({ status: 'completed', ok: true, complete: true });
      // Else the last ones are never tried. A slow machine does some chores once more.
      made = readFileSync(statements, 'utf8').trim().split('\n').length;
      expect(made, 'durable statements').toBeLessThan(1.5 * scenario.statements);
    });
    afterAll(() => template?.drop());

    it('killed at one instant after the other in one run', { timeout: 600_000 }, async ({ skip }) => {
      if (template === null) skip('each of its instants has passed, or the time is over');
      const deaths = join(scratch, `${kind}-deaths`);
      const ended = await finish(
        'chain',
        Array.from(chain, () => ({ when: 'each', deaths })),
      );
      expectWhole(ended);
      // A call of a response that ended before its sibling died is not executed again, so that not all are always reached.
      expect(ended.deaths).toBeGreaterThan(chain.length / 2);
    });

    if (ledger === null) return;
    describe.concurrent('killed', () => {
      for (const kill of kills) {
        const name = nameOf(kill);
        it(name, { timeout: 1_800_000 }, async ({ skip }) => {
          const tried = await ledger.attempt(name, async () => {
            const { statement = 0 } = kill;
            // The two databases need different numbers of statements: this one is not there.
            if (statement > 1.2 * made) return;
            const ended = await finish(name, [kill]);
            // Chores share the last statements as it happens.
            if (statement < 0.6 * made) expect(ended.deaths).toBe(1);
            expectWhole(ended);
          });
          if (!tried) skip('it passed before, is of another shard, or the time is over');
        });
      }
    });
  });
}
