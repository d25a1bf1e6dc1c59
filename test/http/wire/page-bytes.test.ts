import { Agent } from '@openai/agents';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.js';
import { knowSecret } from '../../../src/models/secrets/known-secrets.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { call, say, scripted } from '../../harness/script.js';
import { type Door, openDoor } from '../door.js';

const LONG = 1_500_000;
const PAGE = 4 * 1024 * 1024;
const SECRET = 'sk-of-nobody-0123456789abcdef';
const long = (word: string, length = LONG): string => word.repeat(Math.ceil(length / word.length));

const pay = defineTool({
  name: 'pay',
  description: 'Pays an amount.',
  input: z.object({ amount: z.number(), note: z.string() }),
  output: z.object({ paid: z.number() }),
  approval: 'It costs money.',
  execute: ({ amount }) => ({ paid: amount }),
});

const AGENTS = [
  defineAgent({ agent: new Agent({ name: 'talker', model: scripted([[say(long('said '))]]) }) }),
  defineAgent({
    agent: new Agent({
      name: 'payer',
      model: scripted([[call('pay', { amount: 5, note: long('because ') }, 'p1')], [say('done')]]),
      tools: [pay],
    }),
    grants: ['tool:call:pay'],
  }),
];

const paged = z.object({ items: z.array(z.looseObject({})), nextCursor: z.string().nullable() });
type Item = Readonly<Record<string, unknown>>;

describeBothDatabasesSlowly('pages of long items', (kind) => {
  let door: Door;
  const runs: string[] = [];

  const begin = async (agent: string, input: string, more: object = {}): Promise<string> => {
    const { id } = await door.engine.startRun(
      { agent, input, ...more },
      { actor: 'otto', role: 'operator', tenant: 'default' },
    );
    await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=20`);
    runs.push(id);
    return id;
  };

  beforeAll(async () => {
    door = await openDoor(kind, AGENTS);
    // A session takes no more of them.
    for (let at = 0; at < 4; at++) await begin('talker', long(`input ${at} `), at < 3 ? { sessionId: 'long' } : {});
    for (let at = 0; at < 4; at++) await begin('payer', 'go');
    // One that is larger than a page.
    await begin('talker', long('more ', 2 * PAGE));
  });
  afterAll(() => door.close());

  /** The pages of a list, to its end. */
  async function pagesOf(path: string): Promise<{ readonly bytes: number; readonly items: readonly Item[] }[]> {
    const pages: { bytes: number; items: readonly Item[] }[] = [];
    let cursor: string | null = null;
    do {
      const more: string = cursor === null ? '' : `&cursor=${cursor}`;
      const { text, json } = await door.ask('vera', 'GET', `${path}?limit=200${more}`);
      const page = paged.parse(json);
      pages.push({ bytes: Buffer.byteLength(text), items: page.items });
      cursor = page.nextCursor;
    } while (cursor !== null);
    return pages;
  }

  const expectBounded = (pages: readonly { readonly bytes: number; readonly items: readonly Item[] }[]): void => {
    for (const { bytes, items } of pages) if (items.length > 1) expect(bytes).toBeLessThan(PAGE + 100_000);
  };

  /** What may be the first letters of a secret is left out at the end. */
  const expectBeginning = (shown: string, value: unknown): void => {
    expect(JSON.stringify(value).startsWith(shown)).toBe(true);
    expect(shown.length).toBeGreaterThan(900);
    expect(shown.length).toBeLessThanOrEqual(1000);
  };

  test('hold so many events as their bytes allow, and lead to all of them', async () => {
    for (const id of runs) {
      const pages = await pagesOf(`/api/v1/runs/${id}/events`);
      expectBounded(pages);
      const seqs = pages.flatMap(({ items }) => items.map(({ seq }) => seq));
      expect(seqs).toEqual(Array.from(seqs, (_, at) => at + 1));
    }
    const pages = await pagesOf(`/api/v1/runs/${runs[0]}/events`);
    expect(pages.length).toBeGreaterThan(1);
  });

  test('give an event alone that is larger than a page, and whole', async () => {
    const [first] = await pagesOf(`/api/v1/runs/${runs.at(-1)}/events`);
    expect(first?.items).toHaveLength(1);
    expect(first?.items[0]).toMatchObject({ seq: 1, data: { input: long('more ', 2 * PAGE) } });
  });

  test('are streamed without a gap', async () => {
    const seen: number[] = [];
    const caller = { actor: 'vera', role: 'viewer', tenant: 'default' } as const;
    const { signal } = new AbortController();
    for await (const { seq } of door.engine.streamEvents(runs[0] ?? '', { after: 0, signal }, caller)) seen.push(seq);
    const { items } = await door.engine.listEvents(runs[0] ?? '', { after: (seen.at(-1) ?? 0) - 1, limit: 10 }, caller);
    expect(seen).toEqual(Array.from(seen, (_, at) => at + 1));
    expect(items.map(({ seq }) => seq)).toEqual([seen.at(-1)]);
  });

  test('of runs show the beginnings of long values, and say where the whole is', async () => {
    const pages = await pagesOf('/api/v1/runs');
    expectBounded(pages);
    const items = pages.flatMap((page) => page.items);
    expect(items.map(({ id }) => id)).toEqual(runs.toReversed());
    const listed = items.find(({ id }) => id === runs[3]);
    expect(listed).toMatchObject({ cut: { fields: ['input', 'output'], whole: `/api/v1/runs/${runs[3]}` } });
    const shown = z.object({ input: z.string(), output: z.string() }).parse(listed);
    expectBeginning(shown.input, long('input 3 '));
    expectBeginning(shown.output, long('said '));
    const { json } = await door.ask('vera', 'GET', `/api/v1/runs/${runs[3]}`);
    expect(json).toMatchObject({ input: long('input 3 '), output: long('said ') });
    expect(items.find(({ id }) => id === runs[5])).toMatchObject({ input: 'go', output: null, cut: null });
  });

  test('of the inbox show the beginnings of long arguments, and do not end early for nothing', async () => {
    const pages = await pagesOf('/api/v1/interruptions');
    expectBounded(pages);
    const items = pages.flatMap((page) => page.items);
    expect(items.map(({ runId }) => runId)).toEqual(runs.slice(4, 8));
    for (const item of items) {
      expect(item).toMatchObject({
        cut: { fields: ['arguments'], whole: `/api/v1/interruptions/${item['id']}` },
      });
      expectBeginning(String(item['arguments']), { amount: 5, note: long('because ') });
      const { json } = await door.ask('vera', 'GET', `/api/v1/interruptions/${item['id']}`);
      expect(json).toMatchObject({ arguments: { amount: 5, note: long('because ') } });
    }
  });

  test('of a session lead to all of its items', async () => {
    const pages = await pagesOf('/api/v1/sessions/long/items');
    expectBounded(pages);
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.flatMap(({ items }) => items.map(({ seq }) => seq))).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('show no part of a secret that stands where a value is cut', async () => {
    knowSecret(SECRET);
    const id = await begin('talker', `${'x'.repeat(989)}${SECRET}${'y'.repeat(5000)}`);
    const [page] = await pagesOf('/api/v1/runs');
    const listed = page?.items.find((item) => item['id'] === id);
    expect(listed).toMatchObject({ input: `"${'x'.repeat(989)}`, cut: { fields: ['input', 'output'] } });
  });
});
