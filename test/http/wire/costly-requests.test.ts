import { Agent } from '@openai/agents';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { askHumanTool, defineAgent } from '../../../src/index.js';
import { aTask } from '../../core/tasks/a-task.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { call, say, scripted } from '../../harness/script.js';
import { type Door, expectProblem, openDoor } from '../door.js';

/** A schema of which each part names the next one twice: forty of them ask for 2^40 visits. */
const DEPTH = 40;
const parts = Array.from({ length: DEPTH }, (_, at) => [
  `d${at}`,
  { anyOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }] },
]);
const schema = { $ref: '#/$defs/d0', $defs: { ...Object.fromEntries(parts), [`d${DEPTH}`]: { type: 'string' } } };

const AGENTS = [
  defineAgent({ agent: new Agent({ name: 'echo', model: scripted([[say('hello')]]) }) }),
  defineAgent({
    agent: new Agent({
      name: 'asker',
      model: scripted([
        [call('ask_human', { question: 'Which?', answerSchema: JSON.stringify(schema) })],
        [say('done')],
      ]),
      tools: [askHumanTool()],
    }),
    grants: ['tool:call:ask_human', 'human:ask:question'],
  }),
];

const paused = z.object({ status: z.literal('paused'), interruptions: z.array(z.string()).length(1) });

describeBothDatabasesSlowly('a short request that asks for much', (kind) => {
  let door: Door;
  beforeAll(async () => {
    door = await openDoor(kind, AGENTS);
  });
  afterAll(() => door.close());

  test('an answer to a question whose schema a model wrote is refused, and the run can go on', async () => {
    const { json } = await door.ask('otto', 'POST', '/api/v1/runs', { agent: 'asker', input: 'go' });
    const { id } = z.object({ id: z.string() }).parse(json);
    const run = paused.parse((await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=60`)).json);
    const path = `/api/v1/interruptions/${run.interruptions[0]}`;
    for (const value of [5, 'yes'])
      expectProblem(await door.ask('anna', 'POST', `${path}/answer`, { value }), 'payload_too_large');
    expect((await door.ask('vera', 'GET', path)).json).toMatchObject({ status: 'pending', decisions: [] });
    expect((await door.ask('anna', 'POST', `${path}/reject`, { message: 'No.' })).status).toBe(200);
    expect((await door.ask('vera', 'GET', `/api/v1/runs/${id}?wait=60`)).json).toMatchObject({ status: 'completed' });
  });

  test('a task with very many random words is refused, and nothing of it is there', async () => {
    const names = Array.from({ length: 1000 }, (_, at) => `w${at}`);
    const words = { type: 'words', count: 1000, length: 200 } as const;
    const task = aTask({
      instruction: names.map((name) => `{{${name}}}`).join(''),
      antiHardcoding: { randomizedInputs: Object.fromEntries(names.map((name) => [name, words])) },
    });
    const { detail } = expectProblem(
      await door.ask('otto', 'POST', '/api/v1/tasks', { agent: 'echo', task }),
      'payload_too_large',
    );
    expect(detail).toBe('Drawing the random inputs would take more than 500000 steps of work.');
    expect((await door.ask('vera', 'GET', '/api/v1/tasks')).json).toEqual({ items: [], nextCursor: null });
  });

  test('each request has an allowance of its own', async () => {
    const words = { type: 'words', count: 1000, length: 200 } as const;
    const task = aTask({
      instruction: '{{a}}{{b}}',
      antiHardcoding: { randomizedInputs: { a: words, b: words } },
    });
    for (let times = 0; times < 2; times++)
      expect((await door.ask('otto', 'POST', '/api/v1/tasks', { agent: 'echo', task })).status).toBe(202);
  });
});
