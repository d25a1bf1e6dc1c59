import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { defineAgent, functionModel, type StartRun } from '../../../src/index.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, engineFor, restOf } from '../../harness/engine.js';
import { say, scripted } from '../../harness/script.js';

/** Lists of trajectories: filters, pages, and that what was over before is found whatever happened. */

const OTHER = { ...ADMIN, tenant: 'elsewhere' };
const mute = functionModel('mute', () => {
  throw new Error('no words');
});
const agent = (name: string, model: Agent['model']) => defineAgent({ agent: new Agent({ name, model }) });
const AGENTS = [
  agent('talker', scripted([[say('hello')]])),
  agent('other', scripted([[say('hi')]])),
  agent('mute', mute),
];

describeEachDatabaseSlowly('lists of trajectories', (kind) => {
  const t = engineFor(kind, { agents: AGENTS });
  const run = async (name: string, metadata: StartRun['metadata'] = {}, caller = ADMIN): Promise<string> => {
    const { id } = await t.engine.startRun({ agent: name, input: 'go', metadata }, caller);
    await restOf(t.engine, id, caller);
    return id;
  };
  type Filter = Parameters<typeof t.engine.listTrajectories>[0];
  const list = (filter: Partial<Filter> = {}, caller = ADMIN) =>
    t.engine.listTrajectories({ limit: 50, ...filter }, caller);
  const idsOf = async (filter: Partial<Filter>) => (await list(filter)).items.map(({ runId }) => runId);

  it('has what is over as soon as it is, with what the record says of it', async () => {
    const id = await run('talker', { taskId: 'greet', tags: ['a', 'b'], seed: 7 });
    const [item, ...more] = (await list({ task: 'greet' })).items;
    expect(more).toEqual([]);
    const { steps, input, output, reward, nextStep, head, ...record } = await t.engine.getTrajectory(id, ADMIN);
    expect(item).toEqual(record);
    expect(item).toMatchObject({ result: { type: 'success' }, totalSteps: 1, qualityScore: 1, diversityScore: 1 });
    expect([steps.length, input, output, reward, nextStep, head.seq > 0]).toEqual([1, 'go', 'hello', null, null, true]);
  });

  it('every filter narrows, all of them together too, and only the tenant of the caller is there', async () => {
    const begun = new Date().toISOString();
    const good = await run('talker', { taskId: 'f', tags: ['x', 'y'] });
    const bad = await run('mute', { taskId: 'f', tags: ['x'] });
    const plain = await run('other', { taskId: 'f' });
    await t.engine.rewardRun(good, { reward: 0.5 }, ADMIN);
    await t.engine.rewardRun(plain, { reward: -1 }, ADMIN);
    const foreign = await run('talker', { taskId: 'f', tags: ['x'] }, OTHER);
    const f = { task: 'f' };
    expect(await idsOf(f)).toEqual([plain, bad, good]);
    expect(await idsOf({ ...f, result: 'partial_success' })).toEqual([good]);
    expect(await idsOf({ ...f, result: 'error' })).toEqual([bad]);
    expect(await idsOf({ ...f, result: 'failure' })).toEqual([plain]);
    expect(await idsOf({ ...f, status: 'failed' })).toEqual([bad]);
    expect(await idsOf({ ...f, agent: 'other' })).toEqual([plain]);
    expect(await idsOf({ ...f, model: 'talker' })).toEqual([good]);
    expect(await idsOf({ ...f, tag: 'x' })).toEqual([bad, good]);
    expect(await idsOf({ ...f, tag: 'y', agent: 'talker', minReward: 0.5, maxReward: 0.5 })).toEqual([good]);
    expect(await idsOf({ ...f, minReward: 0.6 })).toEqual([]);
    const { items } = await t.engine.listTrajectories({ limit: 10, tag: 'y' }, ADMIN);
    const [one] = items.filter(({ runId }) => runId === good);
    const [quality, diversity] = [one?.qualityScore ?? -1, one?.diversityScore ?? -1];
    const exact = { minQuality: quality, maxQuality: quality, minDiversity: diversity, maxDiversity: diversity };
    expect(await idsOf({ ...f, tag: 'y', agent: 'talker', ...exact, minReward: 0.5 })).toEqual([good]);
    expect(await idsOf({ ...f, minQuality: 1.1 })).toEqual([]);
    expect(await idsOf({ ...f, maxDiversity: -0.1 })).toEqual([]);
    expect(await idsOf({ ...f, maxReward: 0 })).toEqual([plain]);
    expect(await idsOf({ ...f, to: begun })).toEqual([]);
    expect(await idsOf({ ...f, from: '2999-01-01T00:00:00Z' })).toEqual([]);
    expect((await list(f, OTHER)).items.map(({ runId }) => runId)).toEqual([foreign]);
    expect((await idsOf({ agent: 'other' }))[0]).toBe(plain);
  });

  it('a reward that comes later, or changes, moves a run to another result at once', async () => {
    const id = await run('talker', { taskId: 'later' });
    expect(await idsOf({ task: 'later', result: 'success' })).toEqual([id]);
    await t.engine.rewardRun(id, { reward: 0 }, ADMIN);
    expect(await idsOf({ task: 'later', result: 'success' })).toEqual([]);
    expect((await list({ task: 'later', maxReward: 0 })).items).toMatchObject([
      { runId: id, result: { type: 'failure' }, totalReward: 0 },
    ]);
  });

  it('pages have every run that was there once, while others come in between', async () => {
    const before: string[] = [];
    for (let n = 0; n < 7; n++) before.unshift(await run('talker', { taskId: 'pages' }));
    for (const filter of [{ task: 'pages' }, { agent: 'talker' }]) {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof list>> = await list({
          ...{ ...filter, limit: 2 },
          ...(cursor === null ? {} : { cursor }),
        });
        seen.push(...page.items.map(({ runId }) => runId));
        cursor = page.nextCursor;
        if (seen.length < 7) await Promise.all([run('talker', { taskId: 'pages' }), run('talker')]);
      } while (cursor !== null);
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.filter((id) => before.includes(id))).toEqual(before);
    }
  });

  it('a stream gives the records themselves, and stops when no one reads on', async () => {
    const streamed = [];
    for await (const one of t.engine.streamTrajectories({ task: 'f' }, ADMIN)) streamed.push(one);
    expect(streamed.map(({ runId }) => runId)).toEqual(await idsOf({ task: 'f' }));
    for (const one of streamed) expect(one).toEqual(await t.engine.getTrajectory(one.runId, ADMIN));
    for await (const one of t.engine.streamTrajectories({ task: 'f' }, ADMIN)) {
      expect(one.runId).toBe(streamed[0]?.runId);
      break;
    }
  });

  it('a stream names a run whose log is broken, and goes on with the others', async () => {
    const ids = [
      await run('talker', { taskId: 'g' }),
      await run('talker', { taskId: 'g' }),
      await run('talker', { taskId: 'g' }),
    ];
    const [, broken = ''] = ids;
    await list({ task: 'g' });
    await t.between((knex) => knex('holdfast.events').where({ run_id: broken, seq: 2 }).update({ data: '{"half' }));
    const streamed = [];
    for await (const one of t.engine.streamTrajectories({ task: 'g' }, ADMIN)) streamed.push(one);
    expect(streamed.map(({ runId }) => runId)).toEqual(ids.toReversed());
    expect(streamed.filter((one) => 'unread' in one)).toEqual([
      {
        runId: broken,
        unread: expect.objectContaining({ code: 'log_broken', message: expect.stringContaining(broken) }),
      },
    ]);
  });

  it('runs that were over before there were lists, or whose worker died on the way, are found by the next one', async () => {
    const ids = [await run('talker', { taskId: 'old' }), await run('talker', { taskId: 'old' })].reverse();
    await list({ task: 'old' });
    await t.between(async (knex) => {
      await knex('holdfast.trajectories').whereIn('run_id', ids).delete();
      await knex('holdfast.trajectories_due').insert(ids.map((id) => ({ run_id: id })));
    });
    const read = async (id: string) => (await t.engine.getTrajectory(id, ADMIN)).diversityScore;
    for (let tries = 0; tries < 200 && (await read(ids[0] ?? '')) === null; tries++)
      await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await read(ids[0] ?? '')).toBe(0);
    expect(await idsOf({ task: 'old' })).toEqual(ids);
    await t.between(async (knex) => {
      expect(await knex('holdfast.trajectories_due').whereIn('run_id', ids)).toEqual([]);
    });
  });

  it('read by many at once it is there once', async () => {
    const id = await run('talker', { taskId: 'many' });
    const lists = await Promise.all([1, 2, 3, 4, 5, 6].map(() => idsOf({ task: 'many' })));
    expect(lists).toEqual(lists.map(() => [id]));
  });

  it('a log that cannot be read holds up no other', async () => {
    const [broken, whole] = [await run('talker', { taskId: 'torn' }), await run('talker', { taskId: 'torn' })];
    await t.between(async (knex) => {
      await knex('holdfast.trajectories').whereIn('run_id', [broken, whole]).delete();
      await knex('holdfast.trajectories_due').whereIn('run_id', [broken, whole]).delete();
      await knex('holdfast.events').where({ run_id: broken, kind: 'model.responded' }).update({ data: '{' });
      await knex('holdfast.trajectories_due').insert([broken, whole].map((id) => ({ run_id: id })));
    });
    expect(await idsOf({ task: 'torn' })).toEqual([whole]);
    expect((await list({ agent: 'talker' })).items.find(({ runId }) => runId === broken)).toMatchObject({
      ...{ status: 'completed', result: { type: 'success' }, totalSteps: null, counts: null, qualityScore: null },
    });
  });

  it('of a run that was erased only what its row says is left, and nothing is found by what it was', async () => {
    const id = await run('talker', { taskId: 'erased', tags: ['erased'] });
    expect(await idsOf({ tag: 'erased' })).toEqual([id]);
    await t.engine.eraseRun(id, { reason: 'Asked for.' }, ADMIN);
    expect(await idsOf({ tag: 'erased' })).toEqual([]);
    expect((await list({ agent: 'talker', limit: 1 })).items).toMatchObject([
      { runId: id, status: 'completed', tags: [], taskId: null, totalSteps: null },
    ]);
    for await (const one of t.engine.streamTrajectories({ agent: 'talker' }, ADMIN)) {
      expect(one.runId).not.toBe(id);
      break;
    }
  });

  it('a filter that is none is refused', async () => {
    const wrong: Partial<Filter>[] = [
      { from: 'today' },
      { to: '0000-01-01T00:00:00Z' },
      { tag: 'a\0' },
      { cursor: 'x' },
    ];
    for (const filter of [...wrong, { result: 'fine' as 'success' }, { minReward: Number.NaN }])
      await expect(list(filter), JSON.stringify(filter)).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
