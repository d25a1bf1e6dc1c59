import { Agent, type ModelRequest, Runner, type RunState } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, functionModel } from '../../../src/index.js';
import { restoreHistory, trimHistory } from '../../../workflows/model-turn/trim-history.js';
import { readState, stateOfText, stateText } from '../../../workflows/resume/state-text.js';
import { call, resultsIn, say } from '../../harness/script.js';
import { SLOW } from '../../harness/slow.js';

/** The turns of a state that are over are kept beside what the SDK reads, and the state is the same with and without that. */

const shape = { input: z.object({ n: z.number() }), output: z.string() };
const look = defineTool({
  name: 'look',
  description: 'Looks.',
  effect: 'pure',
  ...shape,
  execute: ({ n }) => `look ${n}`,
});
const fails = defineTool({
  ...{ name: 'fails', description: 'Fails.', effect: 'pure', ...shape },
  execute: ({ n }) => Promise.reject(new Error(`no ${n}`)),
});
const pay = defineTool({ name: 'pay', description: 'Pays.', approval: true, ...shape, execute: ({ n }) => `pay ${n}` });
const tools = [look, fails, pay];

const thought = (n: number) => ({
  type: 'reasoning' as const,
  id: `rs_${n}`,
  content: [{ type: 'input_text' as const, text: `thought ${n}` }],
  rawContent: [{ type: 'reasoning_text' as const, text: `thought ${n}` }],
});

/** Says all kinds of things in turn, and hands over once if it can. */
const talker = (name: string, handsOver: boolean) =>
  functionModel(name, (request) => {
    const results = resultsIn(request.input);
    const n = results.length;
    const kinds = [
      [thought(n), call('look', { n }, `c${n}`)],
      [say('two at once'), call('look', { n }, `c${n}`), call('fails', { n }, `d${n}`)],
      [call('pay', { n }, `p${n}`)],
      [call('look', { n }, `c${n}`), call('pay', { n }, `p${n}`)],
    ];
    return handsOver && n > 4 ? [call('transfer_to_second', {}, 'h')] : (kinds[n % kinds.length] ?? []);
  });

const second = new Agent({ name: 'second', model: talker('second', false), tools });
const first = Agent.create({ name: 'first', model: talker('first', true), tools, handoffs: [second] });

type State = RunState<unknown, Agent>;
const runner = new Runner({ tracingDisabled: true });

/** The state of the agent after so many of its approvals, of which every other one is rejected. */
async function pausedAfter(approvals: number, agent: Agent = first): Promise<State> {
  let result = await runner.run<Agent, unknown>(agent, 'go', { maxTurns: null });
  for (let n = 0; n < approvals; n++) {
    const { state } = result;
    for (const item of state.getInterruptions()) n % 2 === 0 ? state.approve(item) : state.reject(item);
    result = await runner.run<Agent, unknown>(agent, state, { maxTurns: null });
  }
  expect(result.interruptions).toHaveLength(1);
  return result.state;
}

interface Written {
  readonly generatedItems: readonly unknown[];
  readonly completedToolInvocations: readonly { readonly agentIdentity: string; readonly invocations: object }[];
  readonly completedToolInvocationEvidence: readonly { readonly invocations: object }[];
}

const loadedOf = async (agent: typeof first, text: string) => stateOfText(agent, await readState(text), false);

/** A state as the SDK writes it, without where it found that a call has ended, and in what order. */
function whole(state: State): unknown {
  const { completedToolInvocationEvidence: evidence, ...rest }: Written = JSON.parse(state.toString());
  const byAgent = rest.completedToolInvocations.map(({ agentIdentity, invocations }) => [agentIdentity, invocations]);
  expect(callsIn(evidence)).toEqual(callsIn(rest.completedToolInvocations));
  return { ...rest, completedToolInvocations: Object.fromEntries(byAgent) };
}

const callsIn = (by: Written['completedToolInvocationEvidence']): string[] =>
  by.flatMap(({ invocations }) => Object.keys(invocations)).sort();

it.each([0, 1, 2, 3, 4, 9])('is the same state after %i approvals', async (approvals) => {
  const state = await pausedAfter(approvals);
  const before = whole(state);
  const text = stateText(state, []);
  expect(whole(state)).toEqual(before);
  const loaded = await loadedOf(first, text);
  expect(whole(loaded)).toEqual(before);
  expect(JSON.parse(stateText(loaded, []))).toEqual(JSON.parse(text));
});

it.runIf(SLOW)('gives the SDK no more of a long run than of a short one', async () => {
  const [short, long] = await Promise.all(
    [6, 40].map(async (n): Promise<Written> => JSON.parse(stateText(await pausedAfter(n), []))),
  );
  expect(long?.generatedItems.length).toBeLessThan(10);
  expect(callsIn(long?.completedToolInvocationEvidence ?? [])).toHaveLength(
    callsIn(short?.completedToolInvocationEvidence ?? []).length,
  );
});

it('lets everything else have its turn while it is read', async () => {
  const text = stateText(await pausedAfter(9), []);
  // More than one piece of work may take.
  for (const until = performance.now() + 20; performance.now() < until; );
  let turns = 0;
  setImmediate(() => {
    turns++;
  });
  await loadedOf(first, text);
  expect(turns).toBe(1);
});

it.each([1, 2, 3, 4, 9])(
  'is the same state when its turns are hidden while it works, after %i approvals',
  async (approvals) => {
    const state = await pausedAfter(approvals, second);
    const text = stateText(state, []);
    const items = state._generatedItems.length;
    trimHistory(state);
    expect(state._generatedItems.length).toBeLessThan(items);
    expect(JSON.parse(stateText(state, []))).toEqual(JSON.parse(text));
    expect(whole(await loadedOf(second, stateText(state, [])))).toEqual(whole(await loadedOf(second, text)));
    const [item] = state.getInterruptions();
    if (item !== undefined) state.approve(item);
    const later = (await runner.run<Agent, unknown>(second, state, { maxTurns: null })).state;
    expect(JSON.parse(stateText(later, [])).holdfast.past.length).toBeGreaterThan(items - 4);
  },
);

it('shows what is said again under its id once, where it was said first', async () => {
  const state = await pausedAfter(4, second);
  const before = state.history;
  trimHistory(state);
  const again = { ...thought(0), content: [{ type: 'input_text' as const, text: 'thought again' }] };
  const request = { ...({} as ModelRequest), input: [...state.history, again] };
  const { input } = restoreHistory(state, request);
  expect(input).toEqual(before.map((item) => ('id' in item && item.id === 'rs_0' ? again : item)));
});
