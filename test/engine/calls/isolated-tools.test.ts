import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, dataOf, engineFor, pendingOf, restOf, runToRest } from '../../harness/engine.js';
import { call, scripted } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** Tools whose bodies work in a thread or process of their own, in runs. */

const scratch = mkdtempSync(join(tmpdir(), 'holdfast-apart-'));
afterAll(() => rmSync(scratch, { recursive: true }));
const module = new URL('../../tools/bodies/apart.mjs', import.meta.url);
const shape = { description: 'Computes.', input: z.looseObject({}), output: z.any(), module } as const;

const shout = defineTool({ ...shape, name: 'shout', export: 'execute', effect: 'pure', isolation: 'thread' });
const look = defineTool({ ...shape, name: 'look', export: 'look', effect: 'idempotent', isolation: 'process' });
const looping = (isolation: 'thread' | 'process', effect: 'pure' | 'unsafe', timeoutMs = 500) =>
  defineTool({ ...shape, name: `loop_${isolation}_${effect}`, export: 'loop', effect, isolation, timeoutMs });
const exits = defineTool({ ...shape, name: 'exits', export: 'exits', isolation: 'process' });
const writes = defineTool({ ...shape, name: 'writes', export: 'writes', effect: 'pure', isolation: 'process' });
const loops = [looping('thread', 'pure'), looping('process', 'pure'), looping('process', 'unsafe')];
const endless = defineTool({
  ...shape,
  name: 'endless',
  export: 'loop',
  effect: 'pure',
  isolation: 'thread',
  timeoutMs: 600_000,
});

const agent = (name: string, tools: Agent['tools'], input: object = {}) =>
  defineAgent({
    agent: new Agent({ name, model: scripted([tools.map((one) => call(one.name, input))]), tools: [...tools] }),
    grants: ['tool:call:*'],
  });

describeEachDatabase('tools whose bodies work apart', (kind) => {
  const said: object[] = [];
  const note = (fields: object, message: string): void => void said.push({ ...fields, message });
  const file = join(scratch, `${kind}.pids`);
  const t = engineFor(kind, {
    bodiesApart: 2,
    log: { debug: note, info: note, warn: note, error: note },
    agents: [
      agent('shouts', [shout], { text: 'a' }),
      agent('looks', [look]),
      ...loops.map((tool) => agent(tool.name, [tool], { file })),
      agent('exits', [exits]),
      agent('writes', [writes], { text: 'hello' }),
      agent('endless', [endless], { file: join(scratch, `${kind}.endless`) }),
    ],
  });
  const outcomeOf = async (runId: string) =>
    (await dataOf(t.engine, runId, 'call.finished')).map(({ outcome }) => outcome);

  it('give the run their output, and know the call', async () => {
    const run = await runToRest(t.engine, 'shouts');
    expect(run.status).toBe('completed');
    expect(await outcomeOf(run.id)).toEqual([{ type: 'output', output: { text: 'A' } }]);
    const looked = await runToRest(t.engine, 'looks');
    expect(await outcomeOf(looked.id)).toMatchObject([
      {
        output: { runId: looked.id, agent: 'looks', idempotencyKey: `${looked.id}:call_look`, env: expect.any(Object) },
      },
    ]);
    expect(await t.engine.verifyRun(looked.id, ADMIN)).toMatchObject({ ok: true, complete: true });
  });

  it.each(loops.slice(0, 2))(
    'that never let go are ended at their time, and the process goes on: $name',
    async ({ name }) => {
      const run = await runToRest(t.engine, name);
      expect(run.status).toBe('completed');
      expect(await outcomeOf(run.id)).toMatchObject([{ type: 'error', code: 'tool_timeout' }]);
      // The one that was ended gives its place to the next one.
      expect((await runToRest(t.engine, 'shouts')).status).toBe('completed');
    },
  );

  it.runIf(SLOW)('that are unsafe and did not come to their end are left to a person', async () => {
    const late = await runToRest(t.engine, 'loop_process_unsafe');
    expect(late.status).toBe('paused');
    const gone = await runToRest(t.engine, 'exits');
    expect(gone.status).toBe('paused');
    expect(await pendingOf(t.engine, gone.id, 'exits')).toMatchObject({
      reason: {
        text: expect.stringMatching(/the worker that ran its body ended \(.*code 3.*\): this may have happened/),
      },
    });
  });

  it('have what they write as fields of the log, and the time of the event loop is not theirs', async () => {
    await runToRest(t.engine, 'writes');
    await expect
      .poll(() => said)
      .toContainEqual(expect.objectContaining({ component: 'tool', event: 'tool_said', tool: 'writes' }));
    const held = said.filter((line) => 'event' in line && line.event === 'loop_held');
    expect(held.filter((line) => /loop_(thread|process)/.test(JSON.stringify(line)))).toEqual([]);
  });

  it('wait for a place without their time running', async () => {
    const { id } = await t.engine.startRun({ agent: 'endless', input: 'go' }, ADMIN);
    const began = () => existsSync(join(scratch, `${kind}.endless`));
    await expect.poll(began).toBe(true);
    const runs = await Promise.all(Array.from({ length: 4 }, () => runToRest(t.engine, 'shouts')));
    expect(runs.map(({ status }) => status)).toEqual(runs.map(() => 'completed'));
    await t.engine.cancelRun(id, null, ADMIN);
    expect((await restOf(t.engine, id)).status).toBe('cancelled');
  });

  it.runIf(SLOW)('are ended with the engine, and run again where they may', async () => {
    const { id } = await t.engine.startRun({ agent: 'endless', input: 'go' }, ADMIN);
    const path = join(scratch, `${kind}.endless`);
    await expect.poll(() => readFileSync(path, 'utf8').split('\n').length).toBe(3);
    await t.restart();
    // Nothing was recorded of a body that was ended with its engine: it begins again.
    await expect.poll(() => readFileSync(path, 'utf8').split('\n').length).toBe(4);
    expect(await outcomeOf(id)).toEqual([]);
    await t.engine.cancelRun(id, null, ADMIN);
    expect((await restOf(t.engine, id)).status).toBe('cancelled');
  });
});
