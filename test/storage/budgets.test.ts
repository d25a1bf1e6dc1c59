import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AppliedBudget, budgets, budgetsFor } from '../../src/core/budgets/budget.js';
import type { Charge } from '../../src/core/budgets/charge.js';
import { nanosOf } from '../../src/core/money.js';
import { type AttemptKey, raiseLimit, reserve, settle } from '../../src/storage/budgets/budgets.js';
import { writeCharge } from '../../src/storage/budgets/charges.js';
import type { Database } from '../../src/storage/database/database.js';
import { migrate } from '../../src/storage/database/migrate.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { updateRun } from '../../src/storage/runs/runs.js';
import { atWork } from '../harness/at-work.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../harness/database.js';

const applied = (name: string, limit: bigint, daily = false): AppliedBudget => ({
  ...{ id: `tenant:${daily ? 'day' : 'total'}:${name}`, scope: 'tenant', name, daily, limit, onExhausted: 'fail' },
});

const chargeOf = (nanos: bigint, turn: number, execution = 'x', attempt = 1): Charge => ({
  ...{ turn, execution, attempt, agent: 'a', model: 'm/m', usage: null, nanos: String(nanos), price: null },
  state: 'reserved',
});

describeEachDatabase('budgets', (kind) => {
  let place: TestDatabase;
  let database: Database;
  let worker: { readonly id: string; readonly epoch: number };
  beforeAll(async () => {
    place = await createEngineDatabase(kind);
    database = await openDatabase(place.options);
    await migrate(database.knex);
    const names = ['many', 'busy', 'none', 'again', 'once', 'back', 'daily', 'raised', 'lost', 'x'];
    worker = await atWork(
      database.knex,
      names.map((name) => `run_${name}`),
    );
  });
  afterAll(async () => {
    await database.close();
    await place.drop();
  });

  const take = (of: readonly AppliedBudget[], nanos: bigint, turn: number, runId = 'run_x') =>
    reserve(database.knex, { runId, tenant: 't', charge: chargeOf(nanos, turn), budgets: of, worker });
  const key = (turn: number, runId = 'run_x'): AttemptKey => ({ runId, turn, execution: 'x', attempt: 1 });
  const spent = async (name: string): Promise<bigint> => {
    const rows: { nano_usd: string }[] = await database.knex('holdfast.budgets').where({ name }).select('nano_usd');
    return rows.reduce((sum, row) => sum + BigInt(row.nano_usd), 0n);
  };

  test('200 calls at once cannot overspend by a nano-dollar, and no one is refused while there is room', async () => {
    const of = [applied('many', 1_000n), applied('other', 1_000_000n)];
    const all = await Promise.all(
      Array.from({ length: 200 }, (_, turn) => take(turn % 2 === 0 ? of : of.toReversed(), 7n, turn, 'run_many')),
    );
    // 142 times 7 is 994, and the next would be 1001.
    expect(all.filter(({ type }) => type === 'reserved')).toHaveLength(142);
    expect([await spent('many'), await spent('other')]).toEqual([994n, 994n]);
  });

  test('reserved and settled at once by many, what is taken is what was used', async () => {
    const of = [applied('busy', 100_000n)];
    await Promise.all(
      Array.from({ length: 100 }, async (_, turn) => {
        await take(of, 500n, turn, 'run_busy');
        const usage = {
          inputTokens: 1,
          cachedInputTokens: 0,
          cacheWriteTokens: 0,
          outputTokens: 1,
          reasoningTokens: 0,
        };
        await settle(database.knex, key(turn, 'run_busy'), { state: 'settled', nanos: BigInt(turn), usage });
      }),
    );
    expect(await spent('busy')).toBe((99n * 100n) / 2n);
  });

  test('nothing is taken for a run that is over, or by a process that was taken over', async () => {
    const of = [applied('lost', 1_000n)];
    expect(await take(of, 10n, 1, 'run_lost')).toEqual({ type: 'reserved' });
    const charge = chargeOf(10n, 2);
    const wanted = { runId: 'run_lost', tenant: 't', charge, budgets: of };
    const before = { ...worker, epoch: worker.epoch - 1 };
    expect(await reserve(database.knex, { ...wanted, worker: before })).toEqual({ type: 'lost' });
    const ended = await database.knex.transaction((trx) => updateRun(trx, 'run_lost', { status: 'cancelled' }));
    expect(ended.cost_nano_usd).toBe('10');
    expect(await reserve(database.knex, { ...wanted, worker })).toEqual({ type: 'lost' });
    await writeCharge(database.knex, 'run_lost', 't', charge);
    expect(await spent('lost')).toBe(10n);
    expect(await database.knex('holdfast.charges').where({ run_id: 'run_lost' })).toMatchObject([{ state: 'assumed' }]);
  });

  test('all of them or none: one without room takes nothing from the others', async () => {
    const wide = applied('wide', 1_000n);
    expect(await take([wide, applied('narrow', 10n)], 11n, 1, 'run_none')).toMatchObject({
      ...{ type: 'full', budget: { base: 'tenant:total:narrow', limit: 10n, spent: 0n, day: null } },
    });
    expect([await spent('wide'), await spent('narrow')]).toEqual([0n, 0n]);
    expect(await database.knex('holdfast.charges').where({ run_id: 'run_none' })).toEqual([]);
  });

  test('the same attempt again takes nothing again, also where there is no room any more', async () => {
    const of = [applied('again', 10n)];
    for (let times = 0; times < 3; times++) expect(await take(of, 10n, 1, 'run_again')).toEqual({ type: 'reserved' });
    expect(await spent('again')).toBe(10n);
  });

  test('a settlement counts once, gives back what was too much, and one that is late changes nothing', async () => {
    const of = [applied('once', 100n)];
    await take(of, 60n, 1, 'run_once');
    const settled = { state: 'settled', nanos: 25n, usage: null } as const;
    await settle(database.knex, key(1, 'run_once'), settled);
    await settle(database.knex, key(1, 'run_once'), { ...settled, nanos: 99n });
    expect(await spent('once')).toBe(25n);
    // More than was reserved is spent as well: the next call is the one that is refused.
    await take(of, 60n, 2, 'run_once');
    await settle(database.knex, key(2, 'run_once'), { ...settled, nanos: 90n });
    expect(await spent('once')).toBe(115n);
    expect((await take(of, 1n, 3, 'run_once')).type).toBe('full');
  });

  test('what was not sent is given back as a whole; of what no one knows the estimate stands', async () => {
    const of = [applied('back', 100n)];
    await take(of, 40n, 1, 'run_back');
    await take(of, 30n, 2, 'run_back');
    await settle(database.knex, key(1, 'run_back'), { state: 'released', nanos: 0n, usage: null });
    await settle(database.knex, key(2, 'run_back'), { state: 'assumed', nanos: null, usage: null });
    expect(await spent('back')).toBe(30n);
  });

  test('a daily budget is that of the day of the database, and another one the day after', async () => {
    const [daily] = [applied('daily', 10n, true)];
    if (daily === undefined) throw new Error('there is one');
    await take([daily], 10n, 1, 'run_daily');
    const full = await take([daily], 1n, 2, 'run_daily');
    const { rows } = await database.knex.raw(`select to_char(now() at time zone 'UTC', 'YYYY-MM-DD') as day`);
    expect(full).toMatchObject({ type: 'full', budget: { day: rows[0].day, id: `tenant:day:daily:${rows[0].day}` } });
    // It was yesterday.
    await database.knex('holdfast.budgets').where({ name: 'daily' }).update({ id: 'tenant:day:daily:2000-01-01' });
    expect(await take([daily], 10n, 2, 'run_daily')).toEqual({ type: 'reserved' });
  });

  test('a limit that was raised holds, and is never lowered', async () => {
    const of = [applied('raised', 10n)];
    await take(of, 10n, 1, 'run_raised');
    await database.knex.transaction((trx) => raiseLimit(trx, 'tenant:total:raised', 20n));
    await database.knex.transaction((trx) => raiseLimit(trx, 'tenant:total:raised', 5n));
    expect(await take(of, 10n, 2, 'run_raised')).toEqual({ type: 'reserved' });
    expect(await take(of, 1n, 3, 'run_raised')).toMatchObject({ type: 'full', budget: { limit: 20n, spent: 20n } });
  });
});

test('which budgets apply to a run', () => {
  const configured = budgets.parse({
    ...{ perRun: '2', perDay: '500', onExhausted: 'fail' },
    perAgent: { refunds: { perDay: '50', total: '1000' } },
    perTenant: { each: { perDay: '200' }, named: { big: { total: '9' }, constructor: {} } },
  });
  const run = { id: 'run_1', agent: 'refunds', budget: undefined };
  const idsOf = (more: object) => budgetsFor(configured, { ...run, tenant: 'small', ...more }).map(({ id }) => id);
  expect(idsOf({})).toEqual(['agent:day:refunds', 'agent:total:refunds', 'tenant:day:small', 'all:day:']);
  expect(idsOf({ tenant: 'big', agent: 'other' })).toEqual(['tenant:total:big', 'all:day:']);
  expect(idsOf({ tenant: 'constructor', agent: 'toString' })).toEqual(['all:day:']);
  const budget = { usd: '2', onExhausted: 'ask' as const };
  expect(idsOf({ budget })[0]).toBe('run:run_1');
  expect(idsOf({ budget: { ...budget, of: 'run_0' } })[0]).toBe('run:run_0');
  const [own] = budgetsFor(configured, { ...run, tenant: 't', budget });
  expect(own).toMatchObject({ limit: nanosOf('2'), onExhausted: 'ask' });
});
