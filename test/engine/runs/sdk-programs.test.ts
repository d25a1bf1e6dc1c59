import {
  Agent,
  type AgentInputItem,
  handoff,
  InputGuardrailTripwireTriggered,
  MemorySession,
  OutputGuardrailTripwireTriggered,
  Runner,
  tool,
} from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { ADMIN, engineFor, restOf, type TestEngine } from '../../harness/engine.js';
import { call, resultsIn, say, scripted } from '../../harness/script.js';

/**
 * Programs as the public examples of the Agents SDK for JavaScript have them (examples/agent-patterns, handoffs, memory in
 * openai/openai-agents-js), with scripted models: the same words come out with the SDK alone and in a run.
 */
interface Program {
  readonly agent: Parameters<typeof defineAgent>[0]['agent'];
  readonly inputs: readonly string[];
  /** What a person says to a call that must be approved, by its tool. */
  readonly approves?: (tool: string) => boolean;
  readonly session?: boolean;
}

const text = (input: unknown): string => JSON.stringify(input);
const answering = (answer: (input: string) => string) =>
  functionModel('answering', async (request) => [say(answer(text(request.input)))]);

const temperature = tool({
  name: 'get_temperature',
  description: 'Gets the temperature of a city.',
  parameters: z.object({ city: z.string() }),
  needsApproval: async (_context, { city }) => city.includes('Oakland'),
  execute: async ({ city }) => `It is 20 degrees in ${city}.`,
});
const weather = tool({
  name: 'get_weather',
  description: 'Gets the weather of a city.',
  parameters: z.object({ city: z.string() }),
  needsApproval: true,
  execute: async ({ city }) => `It is sunny in ${city}.`,
});
const asks = [
  [call('get_temperature', { city: 'Oakland' }, 'c1'), call('get_temperature', { city: 'Paris' }, 'c2')],
  [call('get_weather', { city: 'Oakland' }, 'c3')],
];

const speaker = (language: string, greeting: string) =>
  new Agent({ name: `${language} agent`, handoffDescription: `Speaks ${language}.`, model: answering(() => greeting) });
const spanish = speaker('spanish', 'Hola');
const french = speaker('french', 'Salut');

const translator = (language: string, word: string) =>
  new Agent({ name: `${language} translator`, model: answering((input) => (input.includes('Hi') ? word : '?')) });
const asTool = (agent: Agent, toolName: string) => agent.asTool({ toolName, toolDescription: `Asks ${agent.name}.` });

const homework = new Agent({
  name: 'guardrail check',
  outputType: z.object({ isMathHomework: z.boolean(), reasoning: z.string() }),
  model: answering((input) => text({ isMathHomework: input.includes('2x'), reasoning: 'It has an x.' })),
});
const helper = (name: string) =>
  new Agent({
    name,
    inputGuardrails: [
      {
        name: 'math homework',
        execute: async ({ input, context }) => {
          const { finalOutput } = await new Runner({ tracingDisabled: true }).run(homework, input, { context });
          return { outputInfo: finalOutput, tripwireTriggered: finalOutput?.isMathHomework ?? false };
        },
      },
    ],
    model: answering(() => 'Sacramento'),
  });

const message = z.object({ reasoning: z.string(), response: z.string() });
const careful = (name: string, response: string) =>
  new Agent({
    name,
    outputType: message,
    outputGuardrails: [
      {
        name: 'phone number',
        execute: async ({ agentOutput }) => ({
          outputInfo: agentOutput,
          tripwireTriggered: /650/.test(text(agentOutput)),
        }),
      },
    ],
    model: answering(() => text({ reasoning: 'I was told.', response })),
  });

const programs: readonly Program[] = [
  {
    inputs: ['What is the weather?'],
    agent: new Agent({ name: 'human in the loop', tools: [temperature, weather], model: scripted(asks) }),
    approves: () => true,
  },
  {
    inputs: ['What is the weather?'],
    agent: new Agent({ name: 'human says no', tools: [temperature, weather], model: scripted(asks) }),
    approves: (name) => name !== 'get_weather',
  },
  {
    inputs: ['Saluda'],
    agent: new Agent({
      name: 'routing',
      handoffs: [
        handoff(spanish, {
          toolNameOverride: 'to_spanish',
          inputFilter: (data) => ({ ...data, newItems: [], preHandoffItems: [] }),
        }),
        french,
      ],
      model: scripted([[call('to_spanish', {})]]),
    }),
  },
  {
    inputs: ['Translate "Hi"'],
    agent: new Agent({
      name: 'orchestrator',
      tools: [asTool(translator('spanish', 'Hola'), 'to_spanish'), asTool(translator('french', 'Salut'), 'to_french')],
      model: scripted([[call('to_spanish', { input: 'Hi' }), call('to_french', { input: 'Hi' })]]),
    }),
  },
  {
    inputs: ['Ask the weather man'],
    agent: new Agent({
      name: 'nested approval',
      tools: [asTool(new Agent({ name: 'weather man', tools: [temperature, weather], model: scripted(asks) }), 'ask')],
      model: functionModel('outer', async (request) => {
        const [result] = resultsIn(request.input);
        // The ids of calls inside are the run's own.
        return result === undefined
          ? [call('ask', { input: 'go' })]
          : [say(result.text.replaceAll(/c\d_\w+=/g, '').replaceAll(/c\d=/g, ''))];
      }),
    }),
    approves: () => true,
  },
  { inputs: ['What is the capital of California?'], agent: helper('input guardrail') },
  { inputs: ['Solve 2x + 5 = 11'], agent: helper('tripped input guardrail') },
  { inputs: ['Where?'], agent: careful('output guardrail', 'In California.') },
  { inputs: ['Which number?'], agent: careful('tripped output guardrail', 'Call 650-123-4567.') },
  {
    inputs: ['Dinner with Priya on Tuesday'],
    agent: new Agent({
      name: 'structured output',
      outputType: z.object({ name: z.string(), participants: z.array(z.string()) }),
      model: answering(() => text({ name: 'Dinner', participants: ['Priya'] })),
    }),
  },
  {
    inputs: ['What is the weather?'],
    agent: new Agent({
      name: 'forced tool use',
      tools: [temperature],
      modelSettings: { toolChoice: 'required' },
      toolUseBehavior: (_context, [first]) => ({
        isFinalOutput: true,
        isInterrupted: undefined,
        finalOutput: first?.type === 'function_output' ? String(first.output) : 'nothing',
      }),
      model: scripted([[call('get_temperature', { city: 'Paris' })]]),
    }),
  },
  {
    inputs: ['I am Ann.', 'Who am I?'],
    session: true,
    agent: new Agent({
      name: 'memory',
      model: answering((input) =>
        input.includes('Who am I') && input.includes('I am Ann') ? 'You are Ann.' : 'Hello.',
      ),
    }),
  },
];

/** How a program ends: with words, or stopped by a guardrail. */
type Ended = { readonly output: unknown } | { readonly tripped: true };

/** With the SDK alone. */
async function alone({ agent, inputs, approves, session }: Program): Promise<Ended[]> {
  const runner = new Runner({ tracingDisabled: true });
  const memory = new MemorySession();
  const ends: Ended[] = [];
  for (const input of inputs) {
    try {
      const options = session ? { session: memory } : {};
      let result = await runner.run(agent, input as string | AgentInputItem[], options);
      while (result.interruptions.length > 0) {
        for (const item of result.interruptions) {
          if (approves?.(item.name ?? '')) result.state.approve(item);
          else result.state.reject(item, { message: 'Someone said no.' });
        }
        result = await runner.run(agent, result.state, options);
      }
      ends.push({ output: result.finalOutput });
    } catch (error) {
      if (!(error instanceof InputGuardrailTripwireTriggered || error instanceof OutputGuardrailTripwireTriggered))
        throw error;
      ends.push({ tripped: true });
    }
  }
  return ends;
}

/** In runs. */
async function held(engine: TestEngine['engine'], { agent, inputs, approves, session }: Program): Promise<Ended[]> {
  const ends: Ended[] = [];
  for (const input of inputs) {
    const started = { agent: agent.name, input, ...(session ? { sessionId: agent.name } : {}) };
    const { id } = await engine.startRun(started, ADMIN);
    let run = await restOf(engine, id);
    while (run.status === 'paused') {
      for (const interruption of run.interruptions) {
        const { tool: name } = await engine.getInterruption(interruption, ADMIN);
        await engine.decide(
          interruption,
          approves?.(name ?? '') ? { verdict: 'approve' } : { verdict: 'reject', message: 'Someone said no.' },
          ADMIN,
        );
      }
      run = await restOf(engine, id);
    }
    expect(await engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    if (run.status === 'failed') expect(run.error).toMatchObject({ code: 'guardrail_tripped' });
    ends.push(run.status === 'failed' ? { tripped: true } : { output: run.output });
  }
  return ends;
}

describeEachDatabase('programs of the SDK', (kind) => {
  const test = engineFor(kind, {
    agents: programs.map(({ agent }) => defineAgent({ agent, grants: ['tool:call:*'] })),
  });

  it.each(programs.map((program) => [program.agent.name, program] as const))('%s', async (_name, program) => {
    const ends = await alone(program);
    expect(ends.length).toBe(program.inputs.length);
    expect(await held(test.engine, program)).toEqual(ends);
  });
});
