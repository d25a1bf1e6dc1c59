import { afterAll, beforeAll, expect, it } from 'vitest';
import { BAND_WIDTH, KEY_SEPARATOR, queueKey, queuePriority } from '../../src/core/queue/dispatch.js';
import type { Database } from '../../src/storage/database/database.js';
import type { Dequeue, Limits } from '../../src/storage/dbos/dequeue.js';
import { type Dequeued, dequeue } from '../../src/storage/dbos/dequeue.js';
import { type LimitRow, saveLimits } from '../../src/storage/queue/dispatch-limits.js';
import { describeEachDatabase } from '../harness/database.js';
import { SLOW } from '../harness/slow.js';
import { openLeftDatabase } from './database/left-database.js';

/** What is taken of queues that were made by chance, against the order that is promised, said plainly. */

const QUEUE = 'holdfast.segments';
const BANDS = ['resumed', 'child', 'new'] as const;
const HOUR_MS = 3_600_000;

interface Queued {
  readonly id: string;
  readonly tenant: string;
  readonly agent: string;
  readonly image: string;
  readonly model: string;
  readonly priority: number;
  readonly createdAt: number;
  readonly status: 'ENQUEUED' | 'PENDING';
  readonly version: string | null;
}

type Column = 'tenant' | 'agent' | 'image' | 'model';

/** Numbers that are the same in each run of the test. */
function chances(seed: number) {
  let state = seed;
  const below = (most: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
  const oneOf = <T>(all: readonly [T, ...T[]]): T => all[below(all.length)] ?? all[0];
  return { below, oneOf };
}

const queueOf = (seed: number, length: number, { named }: { readonly named: boolean }): readonly Queued[] => {
  const { below, oneOf } = chances(seed);
  return Array.from({ length }, (_, n) => ({
    ...{ id: `run_${String(n).padStart(3, '0')}`, tenant: `t${below(6)}`, agent: `a${below(named ? 4 : 2)}` },
    ...{ image: named ? oneOf(['', '', 'one:1', 'two:1']) : '', model: named ? oneOf(['', '', 'fake/m']) : '' },
    priority: queuePriority(oneOf([...BANDS, 'new', 'new', 'new']), below(5)),
    createdAt: below(20),
    status: below(6) === 0 ? 'PENDING' : 'ENQUEUED',
    // Of another version, it stays, also where it would be the first of its key.
    version: oneOf([null, null, null, '1', '0']),
  }));
};

const keyOf = ({ tenant, agent, image, model }: Queued): string =>
  image + model === '' ? queueKey(tenant, agent) : [tenant, agent, image, model].join(KEY_SEPARATOR);

/** The order that is promised: first what was resumed; then by how much its tenant has at work, by turns, by priority and by age. */
function promised(rows: readonly Queued[], served: readonly string[], room: number): readonly string[] {
  const comes = (one: Queued, other: Queued): number =>
    one.priority - other.priority || one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1);
  const open = rows.filter(({ status, version }) => status === 'ENQUEUED' && version !== '0').toSorted(comes);
  const ranked = open.map((row) => {
    const before = open.filter(({ tenant }) => tenant === row.tenant).indexOf(row) + 1;
    const busy = rows.filter(({ tenant, status }) => tenant === row.tenant && status === 'PENDING').length;
    const band = Math.floor(row.priority / BAND_WIDTH);
    return { row, by: [band, busy + before, served.indexOf(row.tenant) + 1] };
  });
  const sorted = ranked.toSorted((one, other) => {
    const place = one.by.findIndex((value, n) => value !== other.by[n]);
    return place < 0 ? comes(one.row, other.row) : (one.by[place] ?? 0) - (other.by[place] ?? 0);
  });
  return sorted.slice(0, room).map(({ row }) => row.id);
}

describeEachDatabase('what is taken of a queue', (kind) => {
  let database: Database;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ database, close } = await openLeftDatabase(kind));
  });
  afterAll(() => close());

  const take = (room: number, changes: Partial<Dequeue> = {}, limits: Limits = 'none') =>
    dequeue(
      database,
      {
        ...{ queue: QUEUE, executor: 'test', version: '1', application: 'holdfast', owner: 'owner', capacity: room },
        ...{ served: [], after: '', deferContainersMs: 0, engine: '', engineAwayMs: 0, offer: '{}', ...changes },
      },
      limits,
    );
  const fill = async (rows: readonly Queued[]) => {
    await database.knex('dbos.workflow_status').delete();
    await database.knex('holdfast.dispatch_starts').delete();
    await database.knex('dbos.workflow_status').insert(
      rows.map((row) => ({
        ...{ workflow_uuid: row.id, status: row.status, name: 'holdfast.segment', queue_name: QUEUE },
        ...{ created_at: row.createdAt, priority: row.priority, queue_partition_key: keyOf(row) },
        application_version: row.version,
      })),
    );
  };
  const limit = (rows: readonly (Pick<LimitRow, 'kind' | 'name'> & Partial<LimitRow>)[]) =>
    saveLimits(
      database.knex,
      rows.map((row) => ({ concurrency: null, rate_runs: null, rate_per_ms: null, ...row })),
    );

  it('is what is promised, of tenants, agents, priorities and ages as they come, whatever else is at work', async () => {
    await limit([]);
    for (let seed = 1; seed <= 30; seed++) {
      const { below } = chances(seed * 7919);
      const rows = queueOf(seed, 5 + below(50), { named: false });
      const served = ['t4', 't2', 't0', 'gone', 't5'].slice(below(5));
      const room = 1 + below(7);
      await fill(rows);
      expect((await take(room, { served })).ids, `queue ${seed}`).toEqual(promised(rows, served, room));
    }
  });

  it.runIf(SLOW)('keeps every limit, also where two take at once, and leaves nothing that had room', async () => {
    for (let seed = 1; seed <= 15; seed++) {
      const { below } = chances(seed * 104_729);
      const most: { readonly [column in Column]: ReadonlyMap<string, number> } = {
        tenant: new Map(Array.from({ length: 6 }, (_, n) => [`t${n}`, n === 0 ? 3 : 6])),
        agent: new Map(below(2) === 0 ? [] : [['a1', 1 + below(3)]]),
        image: new Map(below(2) === 0 ? [] : [['one:1', 1 + below(4)]]),
        model: new Map(below(2) === 0 ? [] : [['fake/m', 1 + below(4)]]),
      };
      const begins = 1 + below(4);
      const named = (['agent', 'image', 'model'] as const).flatMap((column) =>
        [...most[column]].map(([name, concurrency]) => ({ kind: column, name, concurrency })),
      );
      const rate = { rate_runs: begins, rate_per_ms: HOUR_MS };
      await limit([
        ...named,
        { kind: 'tenants', name: '', concurrency: 6 },
        { kind: 'tenant', name: 't0', concurrency: 3 },
        { kind: 'agent', name: 'a2', ...rate },
      ]);
      const rows = queueOf(seed + 100, 60, { named: true }).map((row) => ({ ...row, status: 'ENQUEUED' as const }));
      await fill(rows);
      const takeAll = async (executor: string): Promise<readonly string[]> => {
        const ids: string[] = [];
        for (let found: Dequeued | undefined; found === undefined || found.chosen > 0; ) {
          found = await take(3, { executor }, 'kept');
          ids.push(...found.ids);
        }
        return ids;
      };
      const ids = (await Promise.all(['one', 'two'].map(takeAll))).flat();
      expect(new Set(ids).size, `queue ${seed}`).toBe(ids.length);
      const taken = new Set(ids);
      const busy = (column: Column, name: string) =>
        rows.filter((row) => taken.has(row.id) && row[column] === name).length;
      const full = ({ priority, ...row }: Queued) =>
        (['tenant', 'agent', 'image', 'model'] as const).some(
          (column) => busy(column, row[column]) >= (most[column].get(row[column]) ?? Number.POSITIVE_INFINITY),
        ) ||
        (row.agent === 'a2' && priority >= BAND_WIDTH && begun() >= begins);
      const begun = () =>
        rows.filter((row) => taken.has(row.id) && row.agent === 'a2' && row.priority >= BAND_WIDTH).length;
      for (const column of ['tenant', 'agent', 'image', 'model'] as const)
        for (const [name, concurrency] of most[column]) expect(busy(column, name)).toBeLessThanOrEqual(concurrency);
      expect(begun(), `queue ${seed}`).toBeLessThanOrEqual(begins);
      const left = rows.filter((row) => !taken.has(row.id) && row.version !== '0' && !full(row));
      expect(left, `queue ${seed}`).toEqual([]);
    }
  });

  it('comes from behind a limit that many tenants wait for, however urgent they are', async () => {
    await limit([{ kind: 'agent', name: 'a1', concurrency: 1 }]);
    const of = { image: '', model: '', createdAt: 0, status: 'ENQUEUED', version: null } as const;
    const many = Array.from({ length: 100 }, (_, n) => ({
      ...{ ...of, id: `many_${n}`, tenant: `m${n}`, agent: 'a1', priority: queuePriority('resumed', 1) },
    }));
    const behind = { ...of, id: 'behind', tenant: 'last', agent: 'a2', priority: queuePriority('new', 1000) };
    await fill([...many, behind]);
    const first = await take(2, {}, 'kept');
    const second = await take(2 - first.ids.length, {}, 'kept');
    expect([...first.ids, ...second.ids]).toEqual([expect.stringContaining('many_'), 'behind']);
  });

  it('gives each tenant the same, where one has a long queue of urgent runs of many agents', async () => {
    await limit([]);
    const of = { image: '', model: '', status: 'ENQUEUED', version: null } as const;
    await fill(
      Array.from({ length: 90 }, (_, n) => {
        const tenant = n < 60 ? 'large' : n < 75 ? 'small' : 'tiny';
        const priority = queuePriority('new', tenant === 'large' ? 1 : 1000);
        return { ...of, id: `run_${n}`, tenant, agent: `a${n % 8}`, priority, createdAt: n };
      }),
    );
    const taken = new Map<string, number>();
    let served: readonly string[] = [];
    for (let look = 0; look < 12; look++) {
      const { ids, tenants } = await take(1, { served });
      await database
        .knex('dbos.workflow_status')
        .whereIn('workflow_uuid', [...ids])
        .update({ status: 'SUCCESS' });
      for (const tenant of tenants) taken.set(tenant, (taken.get(tenant) ?? 0) + 1);
      served = [...served.filter((tenant) => !tenants.includes(tenant)), ...tenants];
    }
    expect([...taken].toSorted()).toEqual([
      ['large', 4],
      ['small', 4],
      ['tiny', 4],
    ]);
  });
});
