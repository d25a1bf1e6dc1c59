import { Agent } from '@openai/agents';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, definePlan, defineTool, memorySpace } from '../../src/index.js';
import { aTask } from '../core/tasks/a-task.js';
import { describeBothDatabasesSlowly } from '../harness/database.js';
import { call, say, scripted } from '../harness/script.js';
import { AGENTS, type Door, openDoor } from './door.js';
import { type Known, RequestGenerator } from './generated-requests.js';

const REQUESTS = 2000;
const LISTED_EVERY = 100;
/** An answer is no larger than a page with all that is around it. */
const ANSWER_CHARS_MAX = 5_000_000;

const bodies: string[] = [];
const wire = defineTool({
  ...{ name: 'wire', description: 'Wires.', input: z.object({ to: z.string() }), output: z.string(), effect: 'unsafe' },
  approval: true,
  execute: ({ to }, { idempotencyKey }) => {
    bodies.push(idempotencyKey);
    return to;
  },
});
const agents = [
  ...AGENTS,
  defineAgent({
    agent: new Agent({
      name: 'wires',
      model: scripted([[call('wire', { to: 'a' }, 'w1'), call('wire', { to: 'b' }, 'w2')], [say('ok')]]),
      tools: [wire],
    }),
    grants: ['tool:call:*'],
  }),
  definePlan({ name: 'planned', grants: ['time:sleep:timer'], plan: { nodes: { nap: { type: 'wait', seconds: 0 } } } }),
];

/** Where what there is stands in lists, by the part of a path that names it. */
const LISTS: { readonly [part: string]: { readonly path: string; readonly key: string } } = {
  runs: { path: '/api/v1/runs', key: 'id' },
  interruptions: { path: '/api/v1/interruptions', key: 'id' },
  tasks: { path: '/api/v1/tasks', key: 'id' },
  batches: { path: '/api/v1/batches', key: 'id' },
  exports: { path: '/api/v1/trajectories/exports', key: 'id' },
  sessions: { path: '/api/v1/sessions', key: 'id' },
};
const page = z.looseObject({ items: z.array(z.looseObject({})) });

describeBothDatabasesSlowly('requests made from the OpenAPI document', (kind) => {
  let door: Door;
  beforeAll(async () => {
    door = await openDoor(kind, agents, { memorySpaces: [memorySpace({ name: 'notes', scope: 'tenant' })] });
    for (const agent of ['echo', 'payer', 'planned', ...Array.from({ length: 9 }, () => 'wires')])
      await door.ask('adam', 'POST', '/api/v1/runs', {
        agent,
        input: 'go',
        ...(agent === 'echo' && { sessionId: 'a session' }),
      });
    await door.ask('adam', 'POST', '/api/v1/tasks', { task: aTask(), agent: 'echo' });
  });
  afterAll(() => door.close());

  async function known(): Promise<Known> {
    const names: { [part: string]: readonly string[] } = { agents: ['echo', 'payer', 'wires'], memory: ['notes'] };
    for (const [part, { path, key }] of Object.entries(LISTS)) {
      const answer = await door.ask('adam', 'GET', `${path}?limit=40`);
      expect(answer.status, `${path}: ${answer.text}`).toBe(200);
      const { items } = page.parse(answer.json);
      if (items.length > 0) names[part] = items.map((item) => String(item[key]));
    }
    return names;
  }

  test('are answered or refused by name, and leave logs that verify', async () => {
    const { json } = await door.ask('adam', 'GET', '/api/v1/openapi.json');
    // These last, or end what the others ask.
    const generator = new RequestGenerator(json, `requests on ${kind}`, /stream|stopWorker|signOut/i);
    expect(generator.operations).toBeGreaterThan(100);
    let names = await known();
    const done = new Set<string>();
    for (let count = 1; count <= REQUESTS; count++) {
      if (count % LISTED_EVERY === 0) names = await known();
      const { operation, method, path, body } = generator.next(names);
      const actor = (['adam', 'adam', 'otto', 'anna', 'zoe'] as const)[count % 5] ?? 'adam';
      const answer = await door.ask(actor, method, path, body);
      const asked = `${method} ${path.slice(0, 300)} ${JSON.stringify(body)?.slice(0, 600)}: ${answer.text.slice(0, 300)}`;
      expect(answer.status, asked).toBeLessThan(500);
      expect(answer.text.length, asked).toBeLessThan(ANSWER_CHARS_MAX);
      if (answer.status < 300) done.add(operation);
    }
    // Not all is refused: requests reach what is behind the checks of their form.
    expect(done.size).toBeGreaterThan(50);
    expect(door.logged.filter(({ level }) => level === 'error')).toEqual([]);
    const { items } = page.parse((await door.ask('adam', 'GET', '/api/v1/verify?limit=100')).json);
    expect(items.length).toBeGreaterThan(4);
    expect(items.filter(({ ok }) => ok !== true)).toEqual([]);
    expect(bodies.length).toBe(new Set(bodies).size);
  });
});
