import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DatabaseKind, describeEachDatabase } from '../harness/database.js';
import { SLOW } from '../harness/slow.js';
import type { KillAt } from './kill-switch.js';
import { type ChildReport, runChild } from './run-child.js';
import { SCENARIOS, type Scenario } from './scenario.js';
import { pgliteTemplate, postgresTemplate, type Template } from './template.js';

/**
 * The crash matrix: the process is killed with SIGKILL at one instant after the other, started again, and must end with
 * the same output, the same log and each unsafe effect once. One chain goes through the instants inside models and tools
 * in a single run. HOLDFAST_TEST_SLOW=1 adds each of them alone, and every durable statement whose number HOLDFAST_CRASH_STRIDE
 * divides (default 24).
 */
const stride = Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24);
const WHEN = ['before', 'sent', 'after'] as const;

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-effects-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const cellsOf = ({ places, statements, agent }: Scenario): { name: string; kill: KillAt }[] => [
  // The chain goes through all of them; alone, those of the other scenarios are taken as often as statements allow.
  ...places
    .filter((_, index) => agent === 'tools' || index % Math.ceil(stride / 12) === 0)
    .map((place) => ({ name: place, kill: { when: 'place' as const, place } })),
  ...Array.from({ length: Math.ceil(statements / stride) }, (_, index) => {
    const statement = index * stride;
    const when = WHEN[index % WHEN.length] ?? 'after';
    return { name: `${when} durable statement ${statement}`, kill: { when, statement } };
  }),
];

const effectsIn = (file: string): readonly string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];

const templateOf = (kind: DatabaseKind): Promise<Template> =>
  kind === 'pglite' ? pgliteTemplate() : postgresTemplate(process.env['HOLDFAST_TEST_POSTGRES_URL'] ?? '');

const crashMatrix = (scenarioName: string, scenario: Scenario) => (kind: DatabaseKind) => {
  /** Where the one run of the chain dies: everywhere, or at every sixth place. */
  const chain = scenario.places.filter((_, index) => SLOW || index % 6 === 0);
  let template: Template;
  let whole: ChildReport;
  let copies = 0;

  /** Runs processes that die one after the other, then one that does not, and says how it ended. */
  const finish = async (name: string, kills: readonly KillAt[]) => {
    const copy = await template.copy(`c${copies++}`);
    const file = join(scratch, `${scenarioName}-${kind}-${name.replaceAll(/\W+/g, '-')}`);
    const env = { ...copy.env, EFFECTS_FILE: file, SCENARIO: scenarioName };
    let deaths = 0;
    try {
      for (const kill of [...kills, undefined]) {
        const ended = await runChild(env, kill);
        if (ended.signal !== 'SIGKILL') return { deaths, ended, effects: effectsIn(file) };
        deaths++;
      }
      throw new Error('the last process died too');
    } finally {
      await copy.drop();
    }
  };

  /** The same end as without any crash. */
  const expectWhole = ({ ended, effects }: Awaited<ReturnType<typeof finish>>): void => {
    const report = ended.report;
    expect(report, ended.stderr).not.toBeNull();
    const { events, ...outcome } = report as ChildReport;
    const { events: wholeEvents, ...wholeOutcome } = whole;
    expect(outcome).toEqual(wholeOutcome);
    const seen = (tool: string) => effects.filter((line) => line.startsWith(`${tool}:`)).length;
    for (const tool of scenario.once) expect(seen(tool), tool).toBe(1);
    for (const tool of scenario.repeated) expect(seen(tool), tool).toBeGreaterThan(0);
    // A question to a person is an event of its own: only then may the log be another one.
    if (!events.some((event) => event.kind === 'call.unknown')) expect(events).toEqual(wholeEvents);
  };

  beforeAll(async () => {
    template = await templateOf(kind);
    const started = await runChild({
      ...template.env,
      EFFECTS_FILE: join(scratch, 'none'),
      SCENARIO: scenarioName,
      ONLY_START: '1',
    });
    expect(started.signal, started.stderr).toBe('SIGKILL');
    const { ended } = await finish('whole', []);
    expect(ended.report, ended.stderr).not.toBeNull();
    whole = ended.report as ChildReport;
    expect(whole).toMatchObject({ status: 'completed', ok: true, complete: true });
  });
  afterAll(() => template.drop());

  it('killed at one instant after the other in one run', { timeout: 600_000 }, async () => {
    const deaths = join(scratch, `${scenarioName}-${kind}-deaths`);
    const ended = await finish(
      'chain',
      Array.from(chain, () => ({ when: 'each', deaths })),
    );
    expectWhole(ended);
    // A call of a response that ended before its sibling died is not executed again, so that not all are always reached.
    expect(ended.deaths).toBeGreaterThan(SLOW ? 10 : 1);
  });

  describe.runIf(SLOW).concurrent('killed', () => {
    for (const { name, kill } of cellsOf(scenario)) {
      it(name, { timeout: 1_800_000 }, async () => {
        const ended = await finish(name, [kill]);
        if (kill.when === 'place') expect(ended.deaths).toBe(1);
        expectWhole(ended);
      });
    }
  });
};

for (const [name, scenario] of Object.entries(SCENARIOS)) {
  if (name === 'tools' || SLOW) describeEachDatabase(`crash matrix of ${name}`, crashMatrix(name, scenario));
}
