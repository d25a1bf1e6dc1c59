import { Agent, type ModelSettings } from '@openai/agents';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, type EngineConfig } from '../../../src/index.js';
import { describeBothDatabasesSlowly } from '../../harness/database.js';
import { ADMIN, dataOf, decideAndRest, engineFor, runToRest } from '../../harness/engine.js';
import { call, say, scripted } from '../../harness/script.js';

/** A replay compares everything that a provider is sent, and names the part that differs at the turn where it arises. */

interface Today {
  readonly description?: string;
  readonly input?: z.ZodObject;
  readonly settings?: ModelSettings;
  readonly handoffs?: Agent[];
  readonly handoffDescription?: string;
  readonly outputType?: z.ZodObject;
}

const AMOUNT = z.object({ n: z.number() });

const desk = (handoffDescription: string) =>
  new Agent({ name: 'desk', handoffDescription, model: scripted([[say('Done.')]]) });

const clerkIn = (today: Today = {}): EngineConfig => {
  const pay = defineTool({
    name: 'pay',
    description: today.description ?? 'Pays.',
    input: today.input ?? AMOUNT,
    output: z.string(),
    effect: 'pure',
    approval: ({ n }) => Number(n) > 1,
    execute: () => 'paid',
  });
  const script = scripted([
    [call('pay', { n: 1 }, 'a')],
    [call('pay', { n: 1 }, 'b')],
    [call('pay', { n: 2 }, 'c')],
    [call('transfer_to_desk', {}, 'h')],
  ]);
  return {
    agents: [
      defineAgent({
        agent: new Agent({
          name: 'clerk',
          instructions: 'You pay.',
          model: script,
          modelSettings: today.settings ?? {},
          tools: [pay],
          handoffs: today.handoffs ?? [desk(today.handoffDescription ?? 'Says so.')],
          ...(today.outputType && { outputType: today.outputType }),
        }),
        grants: ['tool:call:pay'],
      }),
      defineAgent({
        agent: new Agent({
          name: 'lone',
          model: scripted([
            [call('pay', { n: 1 }, 'a')],
            [call('pay', { n: 1 }, 'b')],
            [call('pay', { n: 2 }, 'c')],
            [say('Done.')],
          ]),
          tools: [pay],
          handoffs: today.handoffs?.slice(1) ?? [],
        }),
        grants: ['tool:call:pay'],
      }),
    ],
  };
};

describeBothDatabasesSlowly('a replay with requests that were changed', (kind) => {
  const t = engineFor(kind, clerkIn());
  let clerk: string;
  let lone: string;

  const approved = async (agent: string): Promise<string> => {
    const { id } = await runToRest(t.engine, agent);
    expect((await decideAndRest(t.engine, id, { verdict: 'approve' })).status).toBe('completed');
    return id;
  };

  beforeAll(async () => {
    clerk = await approved('clerk');
    lone = await approved('lone');
  });

  const differencesOf = async (run: string, today: Today): Promise<string[]> => {
    await t.restart(clerkIn(today));
    const { differences } = await t.engine.replayRun(run, {}, ADMIN);
    return differences.map(({ what, field }) => `${what}${field}`);
  };
  const atEachTurn = (field: string, turns = [1, 2, 3, 4]): string[] =>
    turns.map((turn) => `model.requested of turn ${turn}${field}`);

  it('finds nothing where nothing was changed', async () => {
    expect(await differencesOf(clerk, {})).toEqual([]);
    expect(await differencesOf(lone, {})).toEqual([]);
  });

  it('logs the handoffs that were offered among the tools', async () => {
    const [first] = await dataOf(t.engine, clerk, 'model.requested');
    expect(first).toMatchObject({ tools: ['pay', 'transfer_to_desk'] });
  });

  it('names the description and the schema of a tool', async () => {
    expect(await differencesOf(clerk, { description: 'Pays at once.' })).toEqual(atEachTurn('/terms/tools'));
    const described = z.object({ n: z.number().describe('In dollars.') });
    expect(await differencesOf(clerk, { input: described })).toEqual(atEachTurn('/terms/tools'));
  });

  it('names the description of a handoff', async () => {
    expect(await differencesOf(clerk, { handoffDescription: 'Says it aloud.' })).toEqual(atEachTurn('/terms/tools'));
  });

  it('names the model settings', async () => {
    expect(await differencesOf(clerk, { settings: { temperature: 0.9 } })).toEqual(atEachTurn('/terms/settings'));
  });

  it('names the form of the answer', async () => {
    const found = await differencesOf(clerk, { outputType: z.object({ said: z.string() }) });
    expect(found.slice(0, 4)).toEqual(atEachTurn('/terms/output'));
  });

  it('names a handoff that was added at the first turn, and nothing else after a pause', async () => {
    const other = new Agent({ name: 'other', model: scripted([[say('No.')]]) });
    const found = await differencesOf(lone, { handoffs: [desk('Says so.'), other] });
    expect(found).toEqual(atEachTurn('/tools'));
  });
});
