import { Agent, type RunContext, Runner, tool } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, restOf, runToRest } from '../../harness/engine.js';
import { call, outputAfter, say } from '../../harness/script.js';

/** What code of the SDK gets as RunContext.context, over pauses, crashes, replays and forks. */

interface Trip {
  name: string;
  seen: string[];
  checked?: boolean;
  asked?: number;
}

const trip = z.object({ name: z.string(), seen: z.array(z.string()).default([]) });

const tripIn = (context: RunContext<unknown> | undefined): Trip => context?.context as Trip;

const visit = tool({
  name: 'visit',
  description: 'Visits a city.',
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }, context) => {
    const { seen, name } = tripIn(context);
    seen.push(city);
    return `visit ${seen.length} of ${name}`;
  },
});
const stamp = tool({
  name: 'stamp',
  description: 'Stamps the passport.',
  parameters: z.object({}),
  needsApproval: async (context) => {
    tripIn(context).asked = (tripIn(context).asked ?? 0) + 1;
    return true;
  },
  execute: async (_input, context) => `${tripIn(context).name}: ${tripIn(context).seen.join()}`,
});

/** Holds a run up once, so that its process can go away meanwhile. */
const holding = { once: false, began: (): void => undefined };
const hold = defineTool({
  ...{ name: 'hold', description: 'Holds up.', input: z.object({}), output: z.string(), effect: 'pure' as const },
  execute: async (_input, { signal }) => {
    if (holding.once) {
      holding.once = false;
      holding.began();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    }
    return 'held';
  },
});

const SCRIPT = [
  [call('visit', { city: 'Paris' }, 'c1')],
  [call('hold', {}, 'c2')],
  [call('stamp', {}, 'c3')],
  [call('visit', { city: 'Rome' }, 'c4')],
  [call('visit', { city: 'Oslo' }, 'c5')],
  [say('home')],
];

/** The agent, and what its model is told. */
function traveller(name: string) {
  const told: string[] = [];
  const model = functionModel('traveller', async ({ systemInstructions = '', input }) => {
    told.push(`${systemInstructions} ${JSON.stringify(input)}`);
    return outputAfter(SCRIPT, input);
  });
  const agent = new Agent<Trip>({
    ...{ name, model, tools: [visit, hold, stamp] },
    instructions: ({ context }) => `${context.name} saw ${context.seen.join()} (${context.checked}).`,
    inputGuardrails: [
      {
        name: 'check',
        execute: async ({ context }) => {
          tripIn(context).checked = true;
          return { tripwireTriggered: false, outputInfo: null };
        },
      },
    ],
  });
  return { agent, told };
}

const alone = traveller('alone');
const held = traveller('held');
/** Without what differs from one run to the next. */
const plain = (told: readonly string[]): string[] =>
  told.map((one) => one.replaceAll(/"(id|status|providerData)":"[^"]*",?/g, '').replaceAll(',}', '}'));

const careless = (name: string, execute: (context: Record<string, unknown>) => unknown) =>
  new Agent<Record<string, unknown>>({
    name,
    model: functionModel('careless', async ({ input }) =>
      outputAfter([[call('look', {}, 'c1')], [say('done')]], input),
    ),
    tools: [
      tool({
        ...{ name: 'look', description: 'Looks.', parameters: z.object({}) },
        execute: async (_input, context?: RunContext<Record<string, unknown>>) => execute(context?.context ?? {}),
      }),
    ],
  });

describeEachDatabase('the context of a run', (kind) => {
  const test = engineFor(kind, {
    agents: [
      defineAgent({ agent: held.agent, context: trip, grants: ['tool:call:*'] }),
      defineAgent({
        agent: new Agent<Trip>({
          ...{ name: 'greeter', model: functionModel('greeter', async () => [say('Hello')]) },
          instructions: ({ context }) => `User ${context.name} is here.`,
        }),
      }),
      defineAgent({ agent: careless('reader', (context) => `${context['userId']}`), grants: ['tool:call:*'] }),
      defineAgent({
        agent: careless('spoiler', (context) => {
          context['amount'] = 5n;
          return 'spoilt';
        }),
        ...{ context: true, grants: ['tool:call:*'] },
      }),
    ],
  });

  it('is the same after a crash, a pause and another process as in one run of the SDK', async () => {
    for (const told of [alone.told, held.told]) told.length = 0;
    const runner = new Runner({ tracingDisabled: true });
    const context: Trip = { name: 'Ada', seen: [] };
    let result = await runner.run(alone.agent, 'go', { context });
    for (const item of result.interruptions ?? []) result.state.approve(item);
    result = await runner.run(alone.agent, result.state);
    expect(result.finalOutput).toBe('home');

    const began = new Promise<void>((resolve) => Object.assign(holding, { once: true, began: resolve }));
    const { id } = await test.engine.startRun({ agent: 'held', input: 'go', context: { name: 'Ada' } }, ADMIN);
    await began;
    // What the first process has in memory is gone; its model call is asked no second time.
    await test.restart();
    const paused = await restOf(test.engine, id);
    expect(paused).toMatchObject({ status: 'paused' });
    await test.restart();
    await test.engine.decide(paused.interruptions[0] ?? '', { verdict: 'approve' }, ADMIN);
    expect(await restOf(test.engine, id)).toMatchObject({ status: 'completed', output: 'home' });

    expect(plain(held.told)).toEqual(plain(alone.told));
    expect(await test.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    expect(await test.engine.replayRun(id, {}, ADMIN)).toMatchObject({ differences: [] });
    const { items } = await test.engine.listEvents(id, { after: 0, limit: 200 }, ADMIN);
    const changes = items.flatMap(({ kind: one, data }) => {
      const { context: change } = z.object({ context: z.unknown().optional() }).parse(data ?? {});
      return change === undefined ? [] : [[one, change]];
    });
    expect(changes[0]).toEqual(['run.created', { name: 'Ada', seen: [] }]);
    expect(changes.at(-1)).toMatchObject([
      'call.finished',
      { value: { name: 'Ada', seen: ['Paris', 'Rome', 'Oslo'], checked: true, asked: 1 } },
    ]);
    expect(context.seen).toEqual(['Paris', 'Rome', 'Oslo']);
  });

  it('is rebuilt from the log where the stored state is lost, and a fork continues with it', async () => {
    const { id } = await test.engine.startRun({ agent: 'held', input: 'go', context: { name: 'Bob' } }, ADMIN);
    const paused = await restOf(test.engine, id);
    await test.between((knex) => knex('holdfast.snapshots').where({ run_id: id }).delete());
    await test.engine.decide(paused.interruptions[0] ?? '', { verdict: 'approve' }, ADMIN);
    expect(await restOf(test.engine, id)).toMatchObject({ status: 'completed' });
    expect(held.told.at(-1)).toContain('Bob saw Paris,Rome,Oslo (true).');
    const { items } = await test.engine.listEvents(id, { after: 0, limit: 200 }, ADMIN);
    const at = items.find((event) => event.kind === 'call.finished')?.seq ?? 0;
    const fork = await test.engine.forkRun(id, { at }, ADMIN);
    expect(await restOf(test.engine, fork.id)).toMatchObject({ status: 'paused' });
    expect(held.told.at(-1)).toContain('Bob saw Paris');
  });

  it('is refused where it does not fit, or its agent declares none', async () => {
    const start = (agent: string, context: Record<string, number>) =>
      test.engine.startRun({ agent, input: 'go', context }, ADMIN);
    await expect(start('held', { name: 1 })).rejects.toMatchObject({ fields: [{ pointer: '/context/name' }] });
    await expect(start('greeter', { name: 1 })).rejects.toMatchObject({
      fields: [{ pointer: '/context', detail: expect.stringContaining('declares no context') }],
    });
  });

  it('names what was read of a context that was not given', async () => {
    expect(await runToRest(test.engine, 'greeter')).toMatchObject({
      status: 'failed',
      error: { code: 'context_missing', message: expect.stringContaining('greeter read RunContext.context.name') },
    });
    expect(await runToRest(test.engine, 'reader')).toMatchObject({
      ...{ status: 'failed', error: { code: 'context_missing' } },
    });
  });

  it('ends the run where code makes something of it that JSON cannot carry', async () => {
    const { id } = await test.engine.startRun({ agent: 'spoiler', input: 'go', context: {} }, ADMIN);
    expect(await restOf(test.engine, id)).toMatchObject({ status: 'failed', error: { code: 'context_invalid' } });
  });
});
