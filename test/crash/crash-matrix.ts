import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeEachDatabase, describeEachDatabaseSlowly } from '../harness/database.js';
import { SLOW } from '../harness/slow.js';
import type { KillAt } from './place.js';
import type { RunReport } from './report.js';
import { startChild } from './run-child.js';
import { type Scenario, type ScenarioName, scenarioOf } from './scenario.js';
import { type Template, templateOf } from './template.js';
import { effectsIn } from './world.js';

const stride = Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24);
const WHEN = ['before', 'sent', 'after'] as const;

interface Cell {
  readonly name: string;
  readonly kill: KillAt;
}

const everyNth = <T>(items: readonly T[], n: number): readonly T[] => items.filter((_, index) => index % n === 0);

const cellsOf = ({ places, statements, around = [] }: Scenario): readonly Cell[] => [
  // The chain goes through them in one run; alone, they are taken as often as statements allow.
  ...everyNth(places, Math.ceil(stride / 4)).map((place) => ({
    name: place,
    kill: { when: 'place' as const, place },
  })),
  ...around.map((kill) => ({ name: `${kill.when} ${kill.commit ? 'commit of ' : ''}${kill.text}`, kill })),
  ...Array.from({ length: Math.ceil((statements - Math.floor(stride / 4)) / stride) }, (_, index) => {
    const statement = Math.floor(stride / 4) + index * stride;
    const when = WHEN[index % WHEN.length] ?? 'after';
    return { name: `${when} durable statement ${statement}`, kill: { when, statement } };
  }),
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
    /** Where the one run of the chain dies: everywhere, or as often as the stride says. */
    const chain = everyNth(scenario.places, SLOW ? Math.ceil(stride / (deploys ? 4 : share)) : 12);
    let template: Template;
    let whole: readonly RunReport[];
    let copies = 0;

    /** Runs processes that die one after the other, then one that does not, and says how it ended. */
    const finish = async (name: string, kills: readonly KillAt[]) => {
      const copy = await template.copy(`c${copies++}`);
      const file = join(scratch, `${kind}-${name.replaceAll(/\W+/g, '-')}`);
      const env = { ...copy.env, EFFECTS_FILE: file, SCENARIO: scenarioName };
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
      if (!wasAsked(runs) && !deploys) expect(runs).toEqual(whole);
      const seen = (name: string) => effects.filter((line) => line.startsWith(`${name}:`)).length;
      for (const [name, times] of Object.entries(scenario.exactly)) expect(seen(name), name).toBe(times);
      for (const name of scenario.atMostOnce ?? []) expect(seen(name), name).toBeLessThan(2);
      for (const name of scenario.repeated ?? []) expect(seen(name), name).toBeGreaterThan(0);
    };

    beforeAll(async () => {
      template = await templateOf(kind);
      const env = { ...template.env, EFFECTS_FILE: join(scratch, 'none'), SCENARIO: scenarioName, ONLY_START: '1' };
      const started = await startChild(env).ended;
      expect(started.signal, started.stderr).toBe('SIGKILL');
      const { ended } = await finish('whole', []);
      whole = ended.runs;
      expect(whole.length, ended.stderr).toBeGreaterThan(0);
      for (const run of whole) expect(run).toMatchObject({ status: 'completed', ok: true, complete: true });
    });
    afterAll(() => template.drop());

    it('killed at one instant after the other in one run', { timeout: 600_000 }, async () => {
      const deaths = join(scratch, `${kind}-deaths`);
      const ended = await finish(
        'chain',
        Array.from(chain, () => ({ when: 'each', deaths })),
      );
      expectWhole(ended);
      // A call of a response that ended before its sibling died is not executed again, so that not all are always reached.
      expect(ended.deaths).toBeGreaterThan(chain.length / 2);
    });

    // Under deploys the chain goes through the instants of the other scenarios.
    if (deploys && scenarioName !== 'tools') return;
    describe.runIf(SLOW).concurrent('killed', () => {
      // Where few are taken, one database has them, and both have the chain and the tools.
      const isSample = stride >= 96 && scenarioName !== 'tools' && kind === 'pglite';
      for (const { name, kill } of isSample ? cellsOf(scenario).slice(0, 1) : cellsOf(scenario)) {
        it(name, { timeout: 1_800_000 }, async () => {
          const ended = await finish(name, [kill]);
          // Only the last statements may not exist.
          if ((kill.statement ?? 0) < 0.8 * scenario.statements) expect(ended.deaths).toBe(1);
          expectWhole(ended);
        });
      }
    });
  });
}
