import { Agent } from '@openai/agents';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { defineAgent, functionModel, memorySpace, memoryTools, openaiCompatible } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { DIMENSIONS, embeddingServer } from '../../harness/embedding-server.js';
import { ADMIN, dataOf, engineFor, eventsOf, restOf } from '../../harness/engine.js';
import { call, outputAfter, say } from '../../harness/script.js';

/** Documents that are found by what they mean: an index that is made later, and that is never in the way of a write. */

const server = await embeddingServer();
afterAll(() => server[Symbol.asyncDispose]());

const embedding = { model: 'lab/small', dimensions: DIMENSIONS };
const notes = memorySpace({ name: 'notes', scope: 'tenant', embedding });
const people = memorySpace({ name: 'people', scope: 'user', embedding });
const plain = memorySpace({ name: 'plain', scope: 'tenant' });
const spaces = [notes, people, plain];

const DOCUMENTS = {
  complaint: 'The package was delayed.',
  praise: 'The drink was warm.',
  question: 'Which colours are there?',
};

const SCRIPTS = {
  write: Object.entries(DOCUMENTS).map(([key, content]) => call('remember', { space: 'notes', key, content }, key)),
  change: [call('remember', { space: 'notes', key: 'praise', content: 'A furious letter came.' }, 'changed')],
  gone: [call('forget', { space: 'notes', key: 'complaint' }, 'gone')],
  person: [call('remember', { space: 'people', key: 'about', content: 'He is angry.' }, 'person')],
  recall: [
    call('recall', { space: 'notes', query: 'late delivery', by: 'meaning', limit: 2 }, 'meaning'),
    call('recall', { space: 'notes', query: 'late delivery' }, 'both'),
    call('recall', { space: 'notes', query: 'late delivery', by: 'words' }, 'words'),
    call('recall', { space: 'notes', query: 'drink', match: 'any', by: 'both' }, 'fused'),
    call('recall', { space: 'plain', query: 'late delivery', by: 'meaning' }, 'wordsAlone'),
    call('recall', { space: 'plain', query: 'late delivery' }, 'plain'),
  ],
} as const;

const agents = [
  defineAgent({
    agent: new Agent({
      ...{ name: 'clerk', tools: [...memoryTools(...spaces)] },
      model: functionModel('clerk', async ({ input }) => {
        const asked = Object.keys(SCRIPTS).find((name) => JSON.stringify(input).includes(`do ${name}`)) ?? 'write';
        return outputAfter([[...SCRIPTS[asked as keyof typeof SCRIPTS]], [say('done')]], input);
      }),
    }),
    ...{ grants: ['memory:read:*', 'memory:write:*'], memory: spaces, onDenied: 'tell' },
  }),
];

describeEachDatabase('memory by meaning', (kind) => {
  const providers = { lab: openaiCompatible({ baseURL: `${server.url}/v1`, key: null }) };
  // A token costs a tenth of a cent.
  const prices = { 'lab/small': { inputPerMillion: '1000', outputPerMillion: '0' }, 'object/clerk': 'free' as const };
  const test = engineFor(kind, { agents, providers, prices });
  beforeEach(() => {
    Object.assign(server, { isAway: false, refused: null, before: () => Promise.resolve() });
  });

  const run = async (what: keyof typeof SCRIPTS, more: object = {}) => {
    const { id } = await test.engine.startRun({ agent: 'clerk', input: `do ${what}`, ...more }, ADMIN);
    expect(await restOf(test.engine, id)).toMatchObject({ status: 'completed' });
    return id;
  };
  /** The answers of calls by their ids: keys of documents, what was looked for by words only, or the code of an error. */
  const answers = async (id: string) =>
    Object.fromEntries(
      (await dataOf(test.engine, id, 'call.finished')).map((data) => {
        const { output, code } = data['outcome'] as {
          readonly output?: { readonly documents?: readonly { readonly key: string }[]; readonly wordsOnly?: boolean };
          readonly code?: string;
        };
        const keys = output?.documents?.map(({ key }) => key);
        return [
          String(data['callId']),
          code ?? [...(keys ?? []), ...(output?.wordsOnly === true ? ['wordsOnly'] : [])],
        ];
      }),
    );
  const near = async (text: string, space = 'notes') =>
    (await test.engine.listMemory(space, { limit: 10, near: text }, ADMIN)).items.map(({ key }) => key);
  const rows = () =>
    test.between(async (knex) => ({
      embeddings: (await knex('holdfast.memory_embeddings').orderBy('key').select('key', 'model')) as {
        key: string;
        model: string | null;
      }[],
      vectors: (await knex('holdfast.memory_vectors').orderBy('key').pluck('key')) as string[],
    }));
  const embedded = (count: number, space = 'notes') =>
    expect.poll(async () => (await near('late delivery', space)).length, { timeout: 40_000 }).toBe(count);

  it('is written while the model is away, found by words then, and by meaning once the model answers', async () => {
    const asked = server.texts.length;
    server.isAway = true;
    await run('write');
    const id = await run('recall');
    expect(await answers(id)).toMatchObject({
      ...{ meaning: 'model_failed', both: ['wordsOnly'], words: [], fused: ['praise', 'wordsOnly'] },
      ...{ wordsAlone: 'memory_invalid', plain: [] },
    });
    const spacesNow = (await test.engine.listMemorySpaces(ADMIN)).items;
    expect(spacesNow).toContainEqual(expect.objectContaining({ space: 'notes', documents: 3, withoutVector: 3 }));
    expect(spacesNow.find(({ space }) => space === 'plain')).not.toHaveProperty('withoutVector');
    server.isAway = false;
    await embedded(3);
    expect(await near('late delivery')).toEqual(['complaint', expect.anything(), expect.anything()]);
    const later = await run('recall');
    expect(await answers(later)).toMatchObject({
      meaning: ['complaint', expect.any(String)],
      both: ['complaint', expect.any(String), expect.any(String)],
      words: [],
      fused: ['praise', expect.any(String), expect.any(String)],
    });
    // Each document was asked for once, with its key and its names.
    expect(server.texts.slice(asked).filter((text) => text.includes('delayed'))).toEqual([
      'complaint\ntext\nThe package was delayed.',
    ]);
  });

  it('is looked for at the cost of the run, within its budget', async () => {
    const id = await run('recall');
    const { items } = await test.engine.listCharges(id, { after: 0, limit: 50 }, ADMIN);
    const made = items.filter(({ model }) => model === 'lab/small');
    expect(made).toHaveLength(3);
    expect(made[0]).toMatchObject({ state: 'settled', costUsd: '0.001', usage: { inputTokens: 1, outputTokens: 0 } });
    expect(await test.engine.getRun(id, ADMIN)).toMatchObject({ costUsd: '0.003' });
    const rich = await run('recall', { budget: { usd: '1.00', onExhausted: 'fail' } });
    expect((await answers(rich))['meaning']).toEqual(['complaint', expect.any(String)]);
    expect(await test.engine.getRun(rich, ADMIN)).toMatchObject({ costUsd: '0.003' });
    const none = await run('recall', { budget: { usd: '0.001', onExhausted: 'fail' } });
    expect(await answers(none)).toMatchObject({
      ...{ meaning: 'limit_budget', both: ['wordsOnly'], words: [], fused: ['praise', 'wordsOnly'] },
    });
    expect(await test.engine.getRun(none, ADMIN)).toMatchObject({ costUsd: '0' });
  });

  it('asks no model in a replay and in a fork, which see what the run saw', async () => {
    const id = await run('recall');
    const asked = server.received.length;
    const was = await answers(id);
    await run('change');
    server.isAway = true;
    expect(await test.engine.replayRun(id, {}, ADMIN)).toMatchObject({ differences: [] });
    const at = (await eventsOf(test.engine, id)).findLast((event) => event.kind === 'call.finished')?.seq ?? 0;
    const fork = await test.engine.forkRun(id, { at: at + 1 }, ADMIN);
    await restOf(test.engine, fork.id);
    expect(await answers(fork.id)).toEqual(was);
    expect(server.received.slice(asked).filter(({ body }) => JSON.stringify(body).includes('late delivery'))).toEqual(
      [],
    );
    expect(await test.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
    server.isAway = false;
    await embedded(3);
    expect((await near('upset')).at(0)).toBe('praise');
  });

  it('loses its vector with what it said', async () => {
    server.isAway = true;
    await run('change');
    await run('gone');
    const left = await rows();
    expect(left.embeddings.map(({ key }) => key)).toEqual(['praise', 'question']);
    expect(left.vectors).toEqual(['praise', 'question']);
    server.isAway = false;
    await embedded(2);
  });

  it('is made again after a process died that had asked', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    server.before = () => held;
    await run('write');
    await expect.poll(() => JSON.stringify(server.received.at(-1)?.body), { timeout: 20_000 }).toContain('delayed');
    // The stop does not wait for the answer, and what is left is due for the next process at once.
    const began = Date.now();
    await test.restart();
    expect(Date.now() - began).toBeLessThan(15_000);
    release();
    server.before = () => Promise.resolve();
    await embedded(3);
  });

  it('keeps the others from nothing when the model refuses one text', async () => {
    server.refused = 'furious';
    await run('change');
    await run('person', { subjects: ['customer-7'] });
    await embedded(1, 'people');
    expect((await rows()).embeddings.find(({ key }) => key === 'praise')).toMatchObject({ model: null });
  });

  it('is erased with its subject', async () => {
    await run('person', { subjects: ['customer-9'] });
    await embedded(2, 'people');
    expect(
      (await test.engine.listMemory('people', { limit: 9, near: 'upset', owner: 'customer-9' }, ADMIN)).items,
    ).toMatchObject([{ owner: 'customer-9', key: 'about', distance: expect.any(Number) }]);
    const asked = await test.engine.eraseSubject({ subject: 'customer-9', reason: 'asked for' }, ADMIN);
    await expect
      .poll(async () => (await test.engine.getSubjectErasure(asked.id ?? '', ADMIN)).status, { timeout: 20_000 })
      .toBe('done');
    expect(await near('upset', 'people')).toEqual(['about']);
    expect((await rows()).vectors.filter((key) => key === 'about')).toHaveLength(1);
  });

  it('is of one tenant', async () => {
    const other = { ...ADMIN, tenant: 'other' };
    expect((await test.engine.listMemory('notes', { limit: 9, near: 'late delivery' }, other)).items).toEqual([]);
  });

  it('says what does not go together', async () => {
    const list = (space: string, filter: object) =>
      test.engine.listMemory(space, { limit: 9, near: 'x', ...filter }, ADMIN);
    await expect(list('notes', { q: 'x' })).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(list('plain', {})).rejects.toMatchObject({ code: 'memory_invalid' });
    server.isAway = true;
    await expect(list('notes', {})).rejects.toMatchObject({ code: 'model_failed' });
  });

  it('is refused at the start where no provider makes vectors', async () => {
    const start = (model: string) =>
      test.restart({
        memorySpaces: [memorySpace({ name: 'wrong', scope: 'tenant', embedding: { ...embedding, model } })],
      });
    await expect(start('replay/small')).rejects.toMatchObject({ code: 'config_invalid' });
    await test.restart();
  });
});
