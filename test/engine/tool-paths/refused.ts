import {
  Agent,
  applyPatchTool,
  computerTool,
  handoff,
  hostedMcpTool,
  invokeFunctionTool,
  RunContext,
  run,
  shellTool,
  tool,
  toolSearchTool,
} from '@openai/agents';
import { SandboxAgent } from '@openai/agents/sandbox';
import { z } from 'zod';
import { type AgentDeclaration, defineTool } from '../../../src/index.js';
import { call, scripted } from '../../harness/script.js';
import { agent, declaredProbe, granted, once, probe, see } from './probe.js';

/** A way past the guards. What is asked for is refused by name, and no body runs. */
export interface Refusal {
  readonly name: string;
  readonly agent: AgentDeclaration;
  readonly ends: 'failed' | 'completed' | 'paused';
  /** What the run, or the call that asked for it, says. */
  readonly says: RegExp;
  /** Whether a body ran through its guard before. */
  readonly guarded?: boolean;
}

const callProbe = call('probe', {});
const noInput = z.object({});
const withTools = () => agent('armed', [[callProbe]], { tools: [probe()] });
const asked = (behind: Agent, more: object = {}) =>
  behind.asTool({ toolName: 'ask', toolDescription: 'Asks.', ...more });
const asks = (tools: Agent['tools'], parts: Parameters<typeof agent>[2] = {}) =>
  agent('asks', [[call('ask', { input: 'go' })]], { tools, ...parts });
const judged = (work: () => Promise<unknown>) => async () => {
  await work();
  return { tripwireTriggered: false, outputInfo: null };
};

type Probe = ReturnType<typeof probe>;

let row = 0;
/** Every row has an agent of its own, which may do everything. */
const named = (one: Agent) => granted(Object.assign(one, { name: `refused_${++row}` }));

const KINDS: readonly [string, Agent['tools'][number]][] = [
  ['computer', computerTool({ computer: screen() })],
  [
    'shell',
    shellTool({
      shell: { run: async () => ({ output: [{ ...(await seen()), outcome: { type: 'exit', exitCode: 0 } }] }) },
    }),
  ],
  ['apply_patch', applyPatchTool({ editor: { createFile: seen, updateFile: seen, deleteFile: seen } as never })],
];

async function seen() {
  await see('none');
  return { stdout: '', stderr: '' };
}

function screen() {
  const act = async (): Promise<void> => void (await see('none'));
  const acts = { click: act, doubleClick: act, drag: act, keypress: act, move: act, scroll: act, type: act, wait: act };
  const screenshot = async () => `${await see('none')}`;
  return { environment: 'browser' as const, dimensions: [800, 600] as [number, number], ...acts, screenshot };
}

/** Hands out its tools by itself. */
class Own extends Agent {
  override async getAllTools() {
    return [...this.tools];
  }
}
const own = (tools: Agent['tools'] = [probe()]) =>
  new Own({ name: 'own', model: scripted([[call('transfer_to_own', {})], [callProbe]]), tools });

/** Gives handoffs of its own. */
class Handing extends Agent {
  override async getEnabledHandoffs() {
    return [handoff(own())];
  }
}

/** What a program may do with an agent or a tool in a place where its own code runs. */
const WAYS: readonly {
  readonly name: string;
  readonly code: RegExp;
  readonly runs?: true;
  readonly work: (given: Probe) => Promise<unknown>;
}[] = [
  {
    name: 'an agent with tools is run',
    runs: true,
    code: /(agent_invalid|guardrail_failed).*(armed has tools|was started by a callback)/,
    work: () => run(withTools(), 'go'),
  },
  {
    name: 'a tool is invoked',
    code: /(tool_unguarded|guardrail_failed).*The tool probe was invoked/,
    work: async (given) => given.invoke(new RunContext(), '{}'),
  },
  {
    name: 'a tool is invoked by the SDK',
    code: /(tool_unguarded|guardrail_failed).*The tool probe was invoked/,
    work: async (tool) => invokeFunctionTool({ tool, runContext: new RunContext(), input: '{}' }),
  },
  {
    name: 'a declared tool that no agent has is invoked',
    code: /(tool_unguarded|guardrail_failed).*The tool probe was invoked/,
    work: async () => declaredProbe().invoke(new RunContext(), '{}'),
  },
];

type Work = () => Promise<unknown>;
/** Where code of a program runs during a run. */
const PLACES: readonly {
  readonly name: string;
  readonly ends: Refusal['ends'];
  readonly parts: (work: Work, given: Probe) => Partial<Agent>;
  readonly says?: RegExp;
}[] = [
  {
    name: 'a plain tool',
    ends: 'completed',
    parts: (work, given) => ({
      tools: [given, tool({ name: 'ask', description: 'Does.', parameters: noInput, execute: work })],
    }),
  },
  {
    name: 'a declared tool',
    ends: 'completed',
    parts: (work, given) => ({
      tools: [
        given,
        defineTool({ name: 'ask', description: 'Does.', input: noInput, output: z.unknown(), execute: work }),
      ],
    }),
  },
  {
    name: 'an input guardrail',
    ends: 'failed',
    parts: (work, given) => ({ tools: [given], inputGuardrails: [{ name: 'g', execute: judged(work) }] as never }),
  },
  {
    name: 'an output guardrail',
    ends: 'failed',
    parts: (work, given) => ({
      tools: [given],
      model: scripted([]),
      outputGuardrails: [{ name: 'g', execute: judged(work) }] as never,
    }),
  },
  {
    name: 'a hook',
    ends: 'failed',
    parts: (_work, given) => ({ tools: [given] }),
  },
  {
    name: 'instructions',
    ends: 'failed',
    parts: (work, given) => ({ tools: [given], instructions: async () => String(await work()) }),
  },
  {
    name: 'isEnabled',
    ends: 'failed',
    parts: (work, given) => ({
      tools: [
        given,
        tool({
          name: 'ask',
          description: 'Does.',
          parameters: noInput,
          execute: async () => 'done',
          isEnabled: async (_context) => Boolean(await work()),
        }),
      ],
    }),
  },
  {
    name: 'toolUseBehavior',
    ends: 'failed',
    parts: (work, given) => ({
      tools: [given, tool({ name: 'ask', description: 'Does.', parameters: noInput, execute: async () => 'done' })],
      toolUseBehavior: async () => {
        await work();
        return { isFinalOutput: true, isInterrupted: undefined, finalOutput: 'done' };
      },
    }),
  },
  {
    name: 'onHandoff',
    ends: 'failed',
    parts: (work, given) => ({
      tools: [given],
      model: scripted([[call('transfer_to_next', {})]]),
      handoffs: [handoff(agent('next', []), { onHandoff: async () => void (await work()) })],
    }),
  },
  {
    name: 'the inputBuilder of asTool()',
    ends: 'failed',
    parts: (work, given) => ({
      tools: [given, asked(agent('next', []), { inputBuilder: async () => String(await work()) })],
    }),
  },
  {
    name: 'the customOutputExtractor of asTool()',
    ends: 'failed',
    parts: (work, given) => ({
      tools: [given, asked(agent('next', []), { customOutputExtractor: async () => String(await work()) })],
    }),
  },
];

function inPlace(place: (typeof PLACES)[number], way: (typeof WAYS)[number]): AgentDeclaration {
  const given = probe();
  const work: Work = () => way.work(given);
  const one = asks([], place.parts(work, given) as never);
  if (place.name === 'a hook') one.on('agent_start', () => void work());
  return named(one);
}

export const REFUSED: readonly Refusal[] = [
  ...KINDS.flatMap(([kind, one]): Refusal[] => [
    {
      name: `a tool of the kind ${kind}`,
      agent: named(agent('kind', [[callProbe]], { tools: [one] })),
      ends: 'failed',
      says: new RegExp(`agent_invalid.*of the type ${kind}`),
    },
    {
      name: `a tool of the kind ${kind} inside asTool()`,
      agent: named(asks([asked(agent('kind', [[callProbe]], { tools: [one] }))])),
      ends: 'failed',
      says: new RegExp(`agent_invalid.*of the type ${kind}`),
    },
    {
      name: `a tool of the kind ${kind} after a handoff`,
      agent: named(
        agent('hands', [[call('transfer_to_kind', {})]], {
          handoffs: [agent('kind', [[callProbe]], { tools: [one] })],
        }),
      ),
      ends: 'failed',
      says: new RegExp(`agent_invalid.*of the type ${kind}`),
    },
    {
      name: `a tool of the kind ${kind} that an agent hands out by itself`,
      agent: named(own([one])),
      ends: 'failed',
      says: /agent_invalid.*getAllTools of its own/,
    },
  ]),
  {
    name: 'tools that a function of a tool search gives',
    agent: named(
      agent('searches', [], {
        tools: [toolSearchTool({ execution: 'client', execute: async () => [probe()] })],
        model: once(
          { type: 'tool_search_call', id: 's', status: 'completed', execution: 'client', arguments: {} },
          callProbe,
        ),
      }),
    ),
    ends: 'failed',
    says: /agent_invalid.*tool search/,
  },
  {
    name: 'an agent that hands out its tools by itself',
    agent: named(own()),
    ends: 'failed',
    says: /agent_invalid.*getAllTools of its own/,
  },
  {
    name: 'such an agent after a handoff',
    agent: named(agent('hands', [[call('transfer_to_own', {})]], { handoffs: [own()] })),
    ends: 'failed',
    says: /agent_invalid.*getAllTools of its own/,
  },
  {
    name: 'such an agent inside asTool()',
    agent: named(asks([asked(own())])),
    ends: 'failed',
    says: /agent_invalid.*getAllTools of its own/,
  },
  {
    name: 'such an agent as a judge',
    agent: named(asks([], { inputGuardrails: [{ name: 'g', execute: judged(() => run(own(), 'go')) }] })),
    ends: 'failed',
    says: /guardrail_failed.*getAllTools of its own/,
  },
  {
    name: 'an agent that makes its handoffs by itself',
    agent: named(new Handing({ name: 'handing', model: scripted([[call('transfer_to_own', {})]]) })),
    ends: 'failed',
    says: /agent_invalid.*getEnabledHandoffs of its own/,
  },
  {
    name: 'an agent of a sandbox',
    agent: named(
      new SandboxAgent({ name: 'boxed', model: scripted([[callProbe]]), tools: [probe()] }) as unknown as Agent,
    ),
    ends: 'failed',
    says: /agent_invalid.*sandbox/,
  },
  {
    name: 'a sandbox inside asTool()',
    agent: named(asks([asked(withTools(), { runConfig: { sandbox: {} } })])),
    ends: 'failed',
    says: /agent_invalid.*sandbox/,
  },
  {
    name: 'asTool() with onStream',
    agent: named(asks([asked(withTools(), { onStream: () => {} })])),
    ends: 'failed',
    says: /agent_invalid.*onStream/,
  },
  {
    name: 'a tool that is not enabled',
    agent: named(agent('off', [[callProbe]], { tools: [probe({ isEnabled: false })] })),
    ends: 'failed',
    says: /output_invalid.*probe/,
  },
  {
    name: 'a tool of another agent',
    agent: named(agent('other', [[callProbe]], { handoffs: [withTools()] })),
    ends: 'failed',
    says: /output_invalid.*probe/,
  },
  {
    name: 'a deferred tool that no one searched for',
    agent: named(
      agent('unsearched', [], {
        tools: [probe({ deferLoading: true }), toolSearchTool({ execution: 'client' })],
        model: once({ ...callProbe, namespace: 'probe' }),
      }),
    ),
    ends: 'failed',
    says: /output_invalid.*before it was loaded/,
  },
  {
    name: 'a tool that only programs of the provider may call',
    agent: named(agent('direct', [[callProbe]], { tools: [probe({ allowedCallers: ['programmatic'] })] })),
    ends: 'failed',
    says: /output_invalid.*allows only/,
  },
  {
    name: 'an approval that a hosted MCP server asks for',
    agent: named(
      agent('hosted', [], {
        tools: [hostedMcpTool({ serverLabel: 'far', serverUrl: 'http://127.0.0.1:9', requireApproval: 'always' })],
        model: once({
          ...{ type: 'hosted_tool_call', id: 'h', name: 'mcp_approval_request', status: 'completed' },
          providerData: { type: 'mcp_approval_request', id: 'h', server_label: 'far', name: 'act', arguments: '{}' },
        }),
      }),
    ),
    ends: 'failed',
    says: /tool_unguarded/,
  },
  {
    name: 'a guarded tool that the body of another one invokes',
    agent: named(
      asks([
        probe(),
        tool({
          name: 'ask',
          description: 'Does.',
          parameters: noInput,
          execute: async (_input, context) => {
            const [first] = await withTools().getAllTools(context as RunContext);
            return first?.type === 'function' ? first.invoke(context as RunContext, '{}') : '';
          },
        }),
      ]),
    ),
    ends: 'completed',
    says: /agent_invalid.*armed has tools/,
  },
  ...PLACES.flatMap((place) =>
    WAYS.map(
      (way): Refusal => ({
        name: `${way.name} in ${place.name}`,
        agent: inPlace(place, way),
        ends: place.ends,
        says: way.code,
        guarded: way.runs === true && place.name === 'the inputBuilder of asTool()',
      }),
    ),
  ),
];
