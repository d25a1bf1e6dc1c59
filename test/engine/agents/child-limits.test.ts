import { Agent, Usage } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { type AgentDeclaration, defineAgent, defineTool, functionModel, subAgent } from '../../../src/index.js';
import { describeEachDatabaseSlowly } from '../../harness/database.js';
import { ADMIN, engineFor, eventsOf, restOf } from '../../harness/engine.js';
import { call, resultsIn, say } from '../../harness/script.js';

/** Limits of children: their own, what is left to the run above, and what that run reads and ends by. */

const look = defineTool({
  ...{ name: 'look', description: 'Looks.', input: z.object({}), output: z.string(), effect: 'pure' },
  execute: () => 'seen',
});
const hang = defineTool({
  ...{ name: 'hang', description: 'Ends with its run.', input: z.object({}), output: z.string(), effect: 'pure' },
  execute: (_input, { signal }) =>
    new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
});

type Output = ReturnType<typeof call> | ReturnType<typeof say>;
/** A model whose every answer takes 100 tokens. */
const costly = (answer: (results: readonly { readonly text: string }[]) => Output[]) =>
  functionModel('costly', ({ input }) => ({
    output: answer(resultsIn(input)),
    usage: new Usage({ requests: 1, inputTokens: 60, outputTokens: 40, totalTokens: 100 }),
  }));
const reads = (results: readonly { readonly text: string }[]) => [say(results.map(({ text }) => text).join(' | '))];

/** Works for as long as it may: 100 tokens and a turn, again and again. */
const endless = costly((results) => [call('look', {}, `l${results.length}`)]);
const stuck = costly((results) => (results.length === 0 ? [call('hang', {})] : reads(results)));

type Bounds = Omit<Parameters<typeof subAgent>[0], 'agent'>;
const parent = (name: string, child: string, bounds: Bounds, limits: Partial<AgentDeclaration> = {}, calls = 1) => {
  const asked = Array.from({ length: calls }, (_, n) => call('work', { input: `job ${n}` }, `w${n}`));
  return defineAgent({
    agent: new Agent({
      name,
      tools: [subAgent({ agent: child, name: 'work', ...bounds })],
      model: costly((results) => (results.length === 0 ? asked : reads(results))),
    }),
    grants: [
      'tool:call:work',
      ...['look', 'hang'].map((tool) => ({
        capability: `tool:call:${tool}`,
        effect: 'allow' as const,
        delegate: true,
      })),
    ],
    ...limits,
  });
};

const config = {
  agents: [
    defineAgent({ agent: new Agent({ name: 'endless', tools: [look], model: endless }), grants: ['tool:call:look'] }),
    defineAgent({ agent: new Agent({ name: 'stuck', tools: [hang], model: stuck }), grants: ['tool:call:hang'] }),
    parent('own_tokens', 'endless', { maxTotalTokens: 150 }),
    parent('own_turns', 'endless', { maxTurns: 2 }),
    parent('own_time', 'stuck', { maxDurationMs: 200 }),
    parent('left_tokens', 'endless', { maxTotalTokens: 1000 }, { maxTotalTokens: 350 }),
    parent('left_turns', 'endless', {}, { maxTurns: 4 }),
    parent('left_time', 'stuck', { maxDurationMs: 60_000 }, { maxDurationMs: 1500 }),
    parent('none_left', 'endless', {}, { maxTotalTokens: 100 }),
    parent('fails', 'endless', { maxTotalTokens: 150, onFailure: 'fail' }),
    parent('siblings', 'endless', {}, { maxTotalTokens: 350 }, 3),
    parent('bounded_siblings', 'endless', { maxTotalTokens: 50 }, { maxTotalTokens: 600 }, 3),
  ],
};

describeEachDatabaseSlowly('limits of children', (kind) => {
  const t = engineFor(kind, config);

  const family = async (agent: string) => {
    const { engine } = t;
    const { id } = await engine.startRun({ agent, input: 'go' }, ADMIN);
    for (let tries = 0; (await restOf(engine, id)).status === 'paused'; tries++) {
      if (tries > 800) throw new Error(`${id} is paused forever`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    const run = await engine.getRun(id, ADMIN);
    const children = (await engine.listRuns({ parent: id, limit: 10 }, ADMIN)).items;
    const events = await eventsOf(engine, id);
    const dataOf = (what: string) => events.filter((event) => event.kind === what).map(({ data }) => data);
    for (const one of [run, ...children])
      expect(await engine.verifyRun(one.id, ADMIN)).toMatchObject({ ok: true, complete: true });
    return { run, children, started: dataOf('child.started'), finished: dataOf('call.finished') };
  };

  it.each([
    ['own_tokens', 'limit_tokens', /failed with limit_tokens: The run used 200 tokens; its limit is 150/, 400],
    ['own_turns', 'limit_turns', /failed with limit_turns: The run took 2 turns .* its limit is 2/, 400],
    ['own_time', 'limit_wall_time', /failed with limit_wall_time: /, expect.any(Number)],
    ['left_turns', 'limit_turns', /failed with limit_turns: The run took 3 turns .* its limit is 3/, 500],
  ])('%s: the child ends by name, the run above reads it and goes on', async (agent, code, says, tokens) => {
    const { run, children } = await family(agent);
    expect(children).toMatchObject([{ status: 'failed', error: { code } }]);
    expect(run).toMatchObject({
      status: 'completed',
      output: expect.stringMatching(says),
      usage: { totalTokens: tokens },
    });
  });

  it('a child may use what is left of the tokens; what it used ends the run above at its next turn', async () => {
    const { run, children, started, finished } = await family('left_tokens');
    expect(started).toMatchObject([{ limits: { maxTotalTokens: 250 } }]);
    expect(children).toMatchObject([{ error: { code: 'limit_tokens' }, usage: { totalTokens: 300 } }]);
    expect(finished).toMatchObject([{ outcome: { type: 'error', code: 'sub_agent_failed' } }]);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'limit_tokens' }, usage: { totalTokens: 400 } });
    expect(run.error?.message).toBe('The run used 400 tokens; its limit is 350 (maxTotalTokens).');
  });

  it('a child works at most for the time that is left, which is then used up above it, too', async () => {
    const { run, children } = await family('left_time');
    expect(children).toMatchObject([{ status: 'failed', error: { code: 'limit_wall_time' } }]);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'limit_wall_time' } });
  });

  it('with nothing left no child is started', async () => {
    const { run, children, finished } = await family('none_left');
    expect(children).toEqual([]);
    expect(finished).toMatchObject([{ outcome: { type: 'error', code: 'limit_tokens' } }]);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'limit_tokens' } });
  });

  it('or the run fails with its child', async () => {
    const { run } = await family('fails');
    expect(run).toMatchObject({ status: 'failed', error: { code: 'sub_agent_failed' } });
    expect(run.error?.message).toMatch(/limit_tokens/);
  });

  it('children that start together may use what is left each; the run above ends by name', async () => {
    const { run, children, started } = await family('siblings');
    const limits = { maxTotalTokens: 250 };
    expect(started).toMatchObject([{ limits }, { limits }, { limits }]);
    expect(children.map((one) => one.usage.totalTokens)).toEqual([300, 300, 300]);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'limit_tokens' }, usage: { totalTokens: 1000 } });
  });

  it('unless each has a bound of its own', async () => {
    const { run, children } = await family('bounded_siblings');
    expect(children.map((one) => one.usage.totalTokens)).toEqual([100, 100, 100]);
    expect(run).toMatchObject({ status: 'completed', usage: { totalTokens: 500 } });
  });
});
