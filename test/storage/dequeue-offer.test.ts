import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { type RunRequirements, requirementsText } from '../../src/core/containers/worker-offer.js';
import { queueKey, queuePriority } from '../../src/core/queue/dispatch.js';
import type { Database } from '../../src/storage/database/database.js';
import { dequeue, type Limits } from '../../src/storage/dbos/dequeue.js';
import { saveLimits } from '../../src/storage/queue/dispatch-limits.js';
import { queueFacts, unmetRequirements } from '../../src/storage/queue/queue-facts.js';
import { describeEachDatabase } from '../harness/database.js';
import { openLeftDatabase } from './database/left-database.js';

const QUEUE = 'holdfast.segments';
const PLAIN = { labels: {}, containers: 4, cpuCores: 4, memoryMb: 4096, architecture: 'amd64' };
const LARGE = { ...PLAIN, labels: { gpu: 'a100', zone: 'b' }, cpuCores: 8 };
type Offer = typeof PLAIN | typeof LARGE;

describeEachDatabase('taking what fits a worker', (kind) => {
  let database: Database;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ database, close } = await openLeftDatabase(kind));
  });
  afterAll(() => close());
  afterEach(async () => {
    await database.knex('dbos.workflow_status').delete();
    await database.knex('holdfast.workers').delete();
    await saveLimits(database.knex, []);
  });

  const queue = (ids: readonly string[], requires: RunRequirements = {}, waitedMs = 0, engine?: string) =>
    database.knex('dbos.workflow_status').insert(
      ids.map((id) => ({
        ...{ workflow_uuid: id, status: 'ENQUEUED', name: 'holdfast.segment', queue_name: QUEUE },
        ...{ created_at: Date.now() - waitedMs, priority: queuePriority('new', 1000) },
        queue_partition_key: queueKey('default', 'any', true, engine, requirementsText(requires)),
      })),
    );
  const worker = (id: string, offer: Offer, changes: object = {}) =>
    database.knex('holdfast.workers').insert({
      ...{ id, epoch: 1, build: 'test', pid: 1, containers: true, engine: id, recording_version: 1 },
      ...{ role: 'worker', capacity: 8, offer: JSON.stringify(offer), ...changes },
    });
  const take = async (executor: string, offer: Offer, limits: Limits) => {
    const { ids } = await dequeue(
      database,
      {
        ...{ queue: QUEUE, executor, version: '1', application: 'holdfast', owner: 'owner', capacity: 8, served: [] },
        ...{ after: '', deferContainersMs: 0, engine: executor, engineAwayMs: 60_000, offer: JSON.stringify(offer) },
      },
      limits,
    );
    return ids.toSorted();
  };
  const limited = (limits: Limits) =>
    saveLimits(
      database.knex,
      limits === 'none'
        ? []
        : [{ kind: 'tenants', name: '', concurrency: 500, rate_runs: null, rate_per_ms: null } as const],
    );

  it.each(['none', 'kept'] as const)(
    'gives runs to workers that have what they require (limits %s)',
    async (limits) => {
      await limited(limits);
      await queue(['any'], {}, 10_000);
      await queue(['on_gpu'], { labels: { gpu: 'a100' } }, 10_000);
      await queue(['on_other_gpu'], { labels: { gpu: 'h100' } }, 10_000);
      await queue(['arm'], { architecture: 'arm64' }, 10_000);
      await queue(['six'], { cpuCores: 6 }, 10_000);
      expect(await take('one', PLAIN, limits)).toEqual(['any']);
      expect(await take('two', LARGE, limits)).toEqual(['on_gpu', 'six']);
      expect(await take('two', LARGE, limits)).toEqual([]);
    },
  );

  it.each(['none', 'kept'] as const)(
    'takes no more than its processors, memory and places hold, and smaller runs pass larger ones (limits %s)',
    async (limits) => {
      await limited(limits);
      await queue(['three_1', 'three_2'], { cpuCores: 3 }, 10_000);
      await queue(['one'], { cpuCores: 1 }, 9000);
      await queue(['memory'], { memoryMb: 4097 }, 9000);
      expect(await take('one', PLAIN, limits)).toEqual(['three_1']);
      expect(await take('one', PLAIN, limits)).toEqual(['one']);
      await queue(['a', 'b', 'c'], {}, 8000);
      expect(await take('one', PLAIN, limits)).toEqual(['a', 'b']);
      expect(await take('one', PLAIN, limits)).toEqual([]);
      await database.knex('dbos.workflow_status').where({ workflow_uuid: 'three_1' }).delete();
      expect(await take('one', PLAIN, limits)).toEqual(['three_2']);
    },
  );

  it.each(['none', 'kept'] as const)('shares a burst by the capacity of workers (limits %s)', async (limits) => {
    await limited(limits);
    await worker('one', PLAIN);
    await worker('two', { ...LARGE, containers: 8 });
    await queue(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(await take('one', PLAIN, limits)).toHaveLength(2);
    expect(await take('one', PLAIN, limits)).toEqual([]);
    expect(await take('two', { ...LARGE, containers: 8 }, limits)).toHaveLength(4);
    // The next one goes to the one that has more capacity, and after some seconds to any.
    await queue(['g']);
    await queue(['h'], {}, 5001);
    expect(await take('one', PLAIN, limits)).toEqual(['h']);
    expect(await take('two', { ...LARGE, containers: 8 }, limits)).toEqual(['g']);
  });

  it('shares with those alone that can take the runs', async () => {
    const others: readonly (readonly [Offer, object])[] = [
      [PLAIN, {}],
      [LARGE, { containers: false }],
      [LARGE, { stop_asked: 'drain' }],
      [LARGE, { recording_version: 2 }],
      [LARGE, { running: 8 }],
      [LARGE, { heartbeat_at: database.knex.raw(`now() - interval '4 seconds'`) }],
    ];
    await worker('one', LARGE);
    for (const [n, [offer, changes]] of others.entries()) await worker(`other_${n}`, offer, changes);
    await queue(['a', 'b', 'c'], { labels: { gpu: 'a100' } });
    expect(await take('one', LARGE, 'none')).toEqual(['a', 'b', 'c']);
  });

  it('does not share runs whose container is here, and asks no labels of them', async () => {
    await worker('one', PLAIN);
    await worker('two', LARGE);
    await queue(['a', 'b', 'c'], { labels: { gpu: 'a100' } }, 0, 'one');
    expect(await take('two', LARGE, 'none')).toEqual([]);
    expect(await take('one', PLAIN, 'none')).toEqual(['a', 'b', 'c']);
  });

  it('says what a run waits for', async () => {
    const facts = (workflowId: string) => queueFacts(database.knex, { workflowId, queue: QUEUE });
    await worker('one', PLAIN);
    await queue(['gpu'], { labels: { gpu: 'a100' } });
    await queue(['four'], { cpuCores: 4 });
    await queue(['small'], { cpuCores: 1 });
    expect(await facts('gpu')).toMatchObject({ requires: { labels: { gpu: 'a100' } }, withEngine: 1, withRequired: 0 });
    expect(await facts('four')).toMatchObject({ withRequired: 1, withCapacity: 1 });
    const unmet = (tenant: string | null) => unmetRequirements(database.knex, { queue: QUEUE, tenant });
    expect(await unmet(null)).toEqual([{ labels: { gpu: 'a100' } }]);
    expect(await unmet('default')).toEqual([{ labels: { gpu: 'a100' } }]);
    expect(await unmet('acme')).toEqual([]);
    await database
      .knex('dbos.workflow_status')
      .where({ workflow_uuid: 'small' })
      .update({ status: 'PENDING', executor_id: 'one' });
    expect(await facts('four')).toMatchObject({ withRequired: 1, withCapacity: 0 });
  });
});
