import { afterEach, beforeEach, expect, it } from 'vitest';
import { describePostgresSlowly } from '../harness/database.js';
import { ADMIN } from '../harness/engine.js';
import { type Fleet, openFleet } from './fleet.js';

interface Charge {
  readonly state: string;
  readonly nano_usd: string;
  readonly budgets: string;
}

describePostgresSlowly('workers and money', () => {
  let fleet: Fleet;
  beforeEach(async () => {
    fleet = await openFleet();
  });
  afterEach(() => fleet.close());

  it('one that is killed while models work leaves what they may have cost, and another one pays for the calls again', async () => {
    const first = await fleet.start({ WORKER_ID: 'north' });
    const request = { agent: 'spender', input: 'go', budget: { usd: '1' } };
    const ids = await Promise.all([1, 2, 3, 4].map(async () => (await fleet.engine.startRun(request, ADMIN)).id));
    const charges = (): Promise<Charge[]> => fleet.knex('holdfast.charges').select('state', 'nano_usd', 'budgets');
    const reserved = async () => (await charges()).filter(({ state }) => state === 'reserved').length;
    await expect.poll(reserved, { timeout: 20_000, interval: 20 }).toBeGreaterThan(0);
    first.kill('SIGKILL');
    await first.ended;
    await fleet.start({ WORKER_ID: 'south' });
    expect((await fleet.finish(ids)).map(({ status }) => status)).toEqual(ids.map(() => 'completed'));
    const made = await charges();
    expect(made.filter(({ state }) => state === 'assumed').length).toBeGreaterThan(0);
    // Each of the two turns of each run was answered once.
    expect(made.filter(({ state }) => state === 'settled')).toHaveLength(2 * ids.length);
    expect(await reserved()).toBe(0);
    for (const id of ids) {
      const [budget]: { nano_usd: string }[] = await fleet.knex('holdfast.budgets').where({ id: `run:${id}` });
      const ofIt = made.filter((charge) => charge.budgets.includes(id));
      expect(Number(budget?.nano_usd)).toBe(ofIt.reduce((sum, charge) => sum + Number(charge.nano_usd), 0));
      expect(await fleet.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    }
  });
});
