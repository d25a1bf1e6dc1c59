import { afterEach, beforeEach, expect, it } from 'vitest';
import { describePostgresSlowly } from '../harness/database.js';
import { ADMIN, dataOf } from '../harness/engine.js';
import { type Fleet, openFleet } from './fleet.js';

const RUNS = 12;

/** What is due is settled in batches: each of them whole or not at all, the one that dies. */
describePostgresSlowly('a batch of what is due', () => {
  let fleet: Fleet;
  beforeEach(async () => {
    fleet = await openFleet();
  });
  afterEach(() => fleet.close());

  const until = (check: () => unknown) => expect.poll(check, { timeout: 60_000, interval: 20 }).toBeTruthy();
  const countOf = async (table: string, where = {}) => (await fleet.knex(table).where(where)).length;

  it('of a worker that is killed in the middle of it is settled by the next one, each timer once', async () => {
    const first = await fleet.start({ WORKER_ID: 'north' });
    const ids = await fleet.runs('sleeper', RUNS);
    await until(async () => (await countOf('holdfast.interruptions')) === RUNS);
    const held = ids[RUNS - 1] ?? '';
    await fleet.knex.transaction(async (trx) => {
      // The batch stops at the head of this log, with the rows of its runs held.
      await trx.raw('select run_id from holdfast.run_heads where run_id = ? for update', [held]);
      await fleet.knex('holdfast.timers').update({ due_at: new Date() });
      await until(async () => {
        if (first.isGone) throw new Error(first.said);
        const { rows } = await fleet.knex.raw(
          `select count(*)::int as n from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock' and query like '%run_heads%'`,
        );
        return rows[0].n > 0;
      });
      first.kill('SIGKILL');
      await first.ended;
      // A batch that was not finished has left nothing behind.
      const settled = await countOf('holdfast.interruptions', { status: 'answered' });
      expect(await countOf('holdfast.decisions')).toBe(settled);
      expect(await countOf('holdfast.timers')).toBe(RUNS - settled);
    });
    await fleet.start({ WORKER_ID: 'south' });
    await fleet.start({ WORKER_ID: 'west' });
    expect((await fleet.finish(ids)).map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    expect(fleet.paid().toSorted()).toEqual(ids.map((id) => `${id}:pay_0`).toSorted());
    for (const id of ids) {
      expect(await dataOf(fleet.engine, id, 'interruption.decided')).toHaveLength(1);
      expect(await fleet.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    }
  });
});
