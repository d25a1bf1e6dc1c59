import type { AgentInputItem } from '@openai/agents';
import type { Knex } from 'knex';
import { beforeEach, expect, it } from 'vitest';
import { sha256 } from '../../../src/core/json.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, engineFor, eventsOf, restOf } from '../../harness/engine.js';
import { config, decideAll, did, NAMES } from '../integrity/every-kind.js';

/**
 * The saved state of a run is a cache. Every kind of run is run once as it is, and once for every way to lose the state, which
 * is lost at every pause: each must be what the first one is, to the last event, and nothing may run twice.
 */

/** What becomes of a state that a run goes on from. */
const LOSSES: Readonly<Record<string, (row: Knex.QueryBuilder, state: string) => Promise<unknown>>> = {
  kept: async () => undefined,
  deleted: (row) => row.delete(),
  'with other text': (row, state) => row.update({ state: `${state} ` }),
  'with another hash': (row) => row.update({ digest: sha256('') }),
  'of another SDK': (row, state) => {
    const foreign = state.replace(/"\$schemaVersion":"[^"]*"/, '"$schemaVersion":"9.99"');
    return row.update({ state: foreign, digest: sha256(foreign) });
  },
};

/** A run does not rely on a state that was changed, and its verification names the row. */
const verifiedAfter = (loss: string) =>
  loss === 'deleted'
    ? { ok: true, complete: true }
    : { ok: false, rows: expect.arrayContaining([expect.objectContaining({ table: 'snapshots' })]) };

const HISTORY: AgentInputItem[] = [
  { type: 'message', role: 'user', content: 'Hello.' },
  { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Good day.' }] },
];

const IDS = /(run|int|std)_[0-9a-f]{32}|sha256:[0-9a-f]{64}|talk-[A-Za-z-]+/g;

/**
 * A value with its own ids and hashes numbered in the order in which they come, and lists of ids in that order, so that two
 * runs can be compared.
 */
function withoutIds(value: unknown): unknown {
  const seen = new Map<string, string>();
  const number = (id: string): string => {
    const known = seen.get(id) ?? `#${seen.size}`;
    seen.set(id, known);
    return known;
  };
  const text = JSON.stringify(value).replaceAll(IDS, number);
  const isNumber = (one: unknown): boolean => typeof one === 'string' && one.startsWith('#');
  return JSON.parse(text, (_key, one: unknown) => (Array.isArray(one) && one.every(isNumber) ? one.sort() : one));
}

const sessionOf = (loss: string): string => `talk-${loss.replaceAll(' ', '-')}`;

interface Run {
  readonly id: string;
  readonly name: string;
  readonly loss: string;
  /** What it, and what it started, went on from, pause by pause. */
  readonly states: unknown[];
  /** The last of its own, as it was. */
  last: { readonly segment: number; readonly state: string } | null;
}

describeEachDatabaseSlowly('a saved state', (kind) => {
  const t = engineFor(kind, config);
  beforeEach(() => {
    did.length = 0;
  });

  const everyRun = async () => (await t.engine.listRuns({ limit: 200 }, ADMIN)).items;
  /** Waits until every run is paused or over. */
  const restOfAll = async () => {
    for (const { id } of (await everyRun()).filter(({ status }) => status === 'queued' || status === 'running'))
      await restOf(t.engine, id);
    if ((await everyRun()).some(({ status }) => status === 'queued' || status === 'running')) await restOfAll();
  };

  const start = async (name: string, loss: string): Promise<Run> => {
    const sessionId = sessionOf(loss);
    if (name === 'talking') await t.engine.openSession(sessionId, ADMIN).addItems(HISTORY);
    const session = name === 'talking' ? { sessionId } : {};
    const { id } = await t.engine.startRun({ agent: name, input: 'go', ...session }, ADMIN);
    return { id, name, loss, states: [], last: null };
  };

  /** Loses the states that runs, and the runs that they started, go on from. */
  const lose = async (knex: Knex, runs: readonly Run[]) => {
    for (const run of runs) {
      const { id, loss, states } = run;
      const family: { id: string; segment: number }[] = await knex('holdfast.runs')
        .where({ status: 'paused' })
        .where((of) => of.where({ id }).orWhere({ parent_run_id: id }))
        .orderBy('created_at');
      for (const { id: runId, segment } of family) {
        const row = () => knex('holdfast.snapshots').where({ run_id: runId, segment });
        const kept: { state: string } | undefined = await row().first('state');
        states.push(kept === undefined ? 'lost' : withoutIds(JSON.parse(kept.state)));
        if (kept !== undefined) await LOSSES[loss]?.(row(), kept.state);
        if (kept !== undefined && runId === id) run.last = { segment, state: kept.state };
      }
    }
  };

  const loggedBy = async (id: string) => (await eventsOf(t.engine, id)).map(({ kind: of, data }) => ({ of, data }));

  it('that is lost, at any pause, is made again as it was; nothing runs twice', { timeout: 300_000 }, async () => {
    const runs: Run[] = [];
    for (const name of NAMES) for (const loss of Object.keys(LOSSES)) runs.push(await start(name, loss));
    for (let pauses = 0; pauses < 12; pauses++) {
      await restOfAll();
      if ((await everyRun()).every(({ status }) => status !== 'paused')) break;
      await t.between((knex) => lose(knex, runs));
      await decideAll(t.engine);
    }
    for (const name of NAMES) {
      const [kept, ...lost] = runs.filter((run) => run.name === name);
      if (kept === undefined) throw new Error(name);
      const { output: said } = await t.engine.getRun(kept.id, ADMIN);
      const log = withoutIds(await loggedBy(kept.id));
      expect(kept.states.length, name).toBeGreaterThan(1);
      for (const { id, loss, states } of lost) {
        const what = `${name}, ${loss}`;
        const run = await t.engine.getRun(id, ADMIN);
        expect(run, what).toMatchObject({ status: 'completed', output: said, error: null });
        expect(await t.engine.verifyRun(id, ADMIN), what).toMatchObject(verifiedAfter(loss));
        expect(withoutIds(await loggedBy(id)), what).toEqual(log);
        expect(states, what).toEqual(kept.states);
        if (name === 'talking')
          expect((await t.engine.getSession(sessionOf(loss), ADMIN)).items, what).toBe(
            (await t.engine.getSession(sessionOf('kept'), ADMIN)).items,
          );
      }
    }
    // A state that is made again is not written where the log has the digest of another text.
    await t.between(async (knex) => {
      for (const { id, name, loss, last } of runs.filter((run) => run.loss === 'kept')) {
        const row = await knex('holdfast.snapshots').where({ run_id: id }).orderBy('segment', 'desc').first();
        const { segment, state, digest } = row;
        expect({ segment, digest }, `${name}, ${loss}`).toEqual({ segment: last?.segment, digest: sha256(state) });
        expect(JSON.parse(state), `${name}, ${loss}`).toEqual(JSON.parse(last?.state ?? ''));
      }
    });
    const different = [...new Set(did)];
    expect(different.length).toBeGreaterThan(40);
    for (const what of different)
      expect(did.filter((one) => one === what).length, what).toBe(Object.keys(LOSSES).length);
  });
});
