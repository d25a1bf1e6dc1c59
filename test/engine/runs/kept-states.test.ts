import { beforeAll, expect, it } from 'vitest';
import type { EventDraft } from '../../../src/core/log/event.js';
import { appendEvents, createLog, extendLog } from '../../../src/storage/log/events.js';
import { insertRun } from '../../../src/storage/runs/runs.js';
import { LOG } from '../../core/log/sealed-log.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, engineFor } from '../../harness/engine.js';

const TURNS = 1100;
const EVENTS = 2 * TURNS + 3;
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

function turnOf(turn: number): EventDraft[] {
  const model = { turn, agent: 'a', model: 'm' };
  const output = [{ type: 'message', turn }];
  return [
    {
      ...{ key: `0:${2 * turn}`, parentKey: 'created', kind: 'model.requested' },
      data: { ...model, inputItems: turn, inputDigest: 'd', tools: [] },
    },
    {
      ...{ key: `0:${2 * turn + 1}`, parentKey: 'created', kind: 'model.responded' },
      data: { ...model, responseId: null, output, usage },
    },
  ];
}

const DRAFTS: readonly EventDraft[] = [
  LOG[0] as EventDraft,
  { key: '0:0', parentKey: 'created', kind: 'segment.started', data: { segment: 0, decisions: [] } },
  ...Array.from({ length: TURNS }, (_, n) => turnOf(n + 1)).flat(),
  { key: 'end', parentKey: 'created', kind: 'run.completed', data: { output: 'done' } },
];

/** The log fits; the rows beside it were made by hand, and do not say what it says. */
const ROWS_BY_HAND = { invariant: 'copied_rows' };

describeEachDatabaseSlowly('States that are kept of a log', (kind) => {
  const t = engineFor(kind, { agents: [] });
  const id = 'run_long';
  const kept = () => t.between((knex) => knex('holdfast.fold_snapshots').where({ run_id: id }).orderBy('seq'));
  const sql = (statement: string) => t.between((knex) => knex.raw(statement));

  beforeAll(async () => {
    await t.between(async (knex) => {
      const context = { at: '2026-01-01T00:00:00.000Z', worker: null };
      await knex.transaction(async (trx) => {
        const pinned = { grants: [], limits: { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null }, metadata: {} };
        const of = { tenant: 'default', agent: 'a', agentVersion: '1', agentHash: 'h', priority: 1, input: 'go' };
        await insertRun(trx, { id, ...of, ...pinned });
        await trx('holdfast.runs').where({ id }).update({ status: 'completed', output: '"done"' });
        let tail = await createLog(trx, id, 'default', 'ab'.repeat(32));
        for (let from = 0; from < 1500; from += 300) {
          const next = await extendLog(trx, tail, DRAFTS.slice(from, from + 300), context);
          expect(next).not.toBeNull();
          tail = next ?? tail;
        }
        for (let from = 1500; from < DRAFTS.length; from += 300)
          await appendEvents(trx, id, DRAFTS.slice(from, from + 300), context);
      });
    });
  });

  it('lie about a thousand events apart, the one that writes', async () => {
    expect((await kept()).map(({ seq }) => seq)).toEqual([1200, 2100]);
  });

  it('are compared by who verifies from the first event', async () => {
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({
      ...{ broken: ROWS_BY_HAND, from: 1, events: EVENTS, states: { fit: 2, wrong: [] } },
    });
  });

  it('are where a range and the state at an event begin, and change nothing of them', async () => {
    expect(await t.engine.verifyRun(id, ADMIN, { from: 1500, to: 1600 })).toMatchObject({ ok: true, from: 1201 });
    expect(await t.engine.verifyRun(id, ADMIN, { from: 2101 })).toMatchObject({ from: 2101, complete: true });
    const places = [1, 2, 999, 1199, 1200, 1201, 2099, 2100, 2150, EVENTS];
    const states = async () => {
      const found = [];
      for (const at of places) found.push(await t.engine.stateAt(id, at, ADMIN));
      return found;
    };
    const from = await states();
    expect(from.map(({ folded }) => folded)).toEqual([1, 2, 999, 1199, 0, 1, 899, 0, 50, EVENTS - 2100]);
    const { items } = await t.engine.listEvents(id, { after: 1199, limit: 1 }, ADMIN);
    expect(from[4]).toMatchObject({ seq: 1200, hash: items[0]?.hash, stateHash: items[0]?.stateHashAfter });
    await sql(`update holdfast.fold_snapshots set run_id = run_id, state = state || ' ' where seq = 1200`);
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({
      broken: ROWS_BY_HAND,
      states: { fit: 1, wrong: [1200] },
    });
    expect(await t.engine.verifyRun(id, ADMIN, { from: 1500, to: 1600 })).toMatchObject({ ok: true, from: 1 });
    await sql('delete from holdfast.fold_snapshots');
    const without = await states();
    expect(without.map(({ folded }) => folded)).toEqual(places);
    expect(without.map(({ folded: _, ...state }) => state)).toEqual(from.map(({ folded: _, ...state }) => state));
    expect((await t.engine.stateAt(id, undefined, ADMIN)).state).toMatchObject({ status: 'completed', turns: TURNS });
  });

  it('are no state of an event that is not there, of a broken log, or of erased payloads', async () => {
    const refused = { code: 'invalid_request', fields: [{ pointer: '/query/at' }] };
    await expect(t.engine.stateAt(id, EVENTS + 1, ADMIN)).rejects.toMatchObject(refused);
    await expect(t.engine.stateAt('run_none', 1, ADMIN)).rejects.toMatchObject({ code: 'run_unknown' });
    await sql(`update holdfast.events set data = '{}' where run_id = '${id}' and seq = 5`);
    await expect(t.engine.stateAt(id, 5, ADMIN)).rejects.toMatchObject({ code: 'log_broken' });
    expect(await t.engine.stateAt(id, 4, ADMIN)).toMatchObject({ seq: 4 });
    await sql(`delete from holdfast.run_keys where run_id = '${id}'`);
    await expect(t.engine.stateAt(id, 4, ADMIN)).rejects.toMatchObject({ code: 'run_erased' });
  });
});
