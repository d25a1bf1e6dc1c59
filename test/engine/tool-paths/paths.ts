import { type Agent, handoff, programmaticToolCallingTool, toolNamespace, toolSearchTool } from '@openai/agents';
import { type AgentDeclaration, type Engine, subAgent, waitFor } from '../../../src/index.js';
import { call, scripted } from '../../harness/script.js';
import { agent, declaredProbe, granted, once, probe, see, sightsOf } from './probe.js';

type Decision = Parameters<Engine['decide']>[1];

/** A way by which the SDK comes to the body of a tool. A new one is a new row. */
export interface Path {
  readonly name: string;
  /** The first one is started. Everything is granted to them but what the run is narrowed from. */
  readonly agents: readonly AgentDeclaration[];
  /** What is called on the way to the body. */
  readonly way?: readonly string[];
  /** What people say, one after the other. */
  readonly decisions?: readonly Decision[];
  /** How often a body runs where all is granted. Default 1. */
  readonly bodies?: number;
  /** The tool as the log calls it. Default `probe`. */
  readonly tool?: string;
}

const approve = { verdict: 'approve' } as const;
const ask = (toolName: string, one: Agent, more: object = {}) =>
  one.asTool({ toolName, toolDescription: `Asks ${one.name}.`, ...more });
const input = { input: 'go' };
const callProbe = call('probe', {});
const inner = (name: string, parts: Parameters<typeof agent>[2] = {}) =>
  agent(name, [[callProbe]], { tools: [probe()], ...parts });
/** One agent with one call of the probe. */
const one = (name: string, tools: Agent['tools'], parts: Parameters<typeof agent>[2] = {}) => [
  granted(agent(name, [[callProbe]], { tools, ...parts })),
];
/** An agent that does nothing but to ask the agent behind its tool. */
const asking = (name: string, behind: Agent, more: object = {}) =>
  granted(agent(name, [[call('ask', input)]], { tools: [ask('ask', behind, more)] }));
const afterHandoff = (name: string, tools: Agent['tools']) =>
  agent(name, [[call(`transfer_to_${name}`, {})], [callProbe]], { tools });

const shared = probe();
const guardrail = (type: 'allow' | 'rejectContent') => ({
  name: type,
  run: async () => ({ behavior: type === 'allow' ? { type } : { type, message: 'Not this.' } }),
});
const inNamespace = (name: string, more: object = {}) =>
  toolNamespace({ name, description: `Tools of ${name}.`, tools: [probe(more)] });
const search = { type: 'tool_search_call', id: 's1', status: 'completed', arguments: { paths: ['probe'] } };
const searched = { ...search, execution: 'client', providerData: { call_id: 's1' } };

export const PATHS: readonly Path[] = [
  { name: 'a plain tool', agents: one('plain', [probe()]) },
  { name: 'a declared tool', agents: one('declared', [declaredProbe()]) },
  { name: 'a copy of a tool', agents: one('copy', [{ ...probe() }]) },
  { name: 'an agent that was cloned', agents: [granted(inner('original').clone({ name: 'cloned' }))] },
  {
    name: 'parallel calls',
    agents: [
      granted(
        agent('parallel', [[call('probe', {}, 'p1'), call('probe', {}, 'p2'), call('probe', {}, 'p3')]], {
          tools: [probe()],
        }),
      ),
    ],
    bodies: 3,
  },
  {
    name: 'calls of one id, one after the other',
    agents: [granted(agent('same_id', [[call('probe', {}, 'c')], [call('probe', {}, 'c')]], { tools: [probe()] }))],
    bodies: 2,
  },
  { name: 'a model that streams', agents: [granted(inner('streams'), { stream: true })] },
  {
    name: 'a model by its name',
    agents: [granted(inner('by_name', { model: 'scripts/probe' }))],
  },
  {
    name: 'after a handoff',
    agents: [
      granted(agent('hands_over', [[call('transfer_to_taker', {})]], { handoffs: [afterHandoff('taker', [probe()])] })),
    ],
  },
  {
    name: 'after a handoff with a callback and a filter',
    agents: [
      granted(
        agent('hands_over_more', [[call('transfer_to_taker_2', {})]], {
          handoffs: [handoff(afterHandoff('taker_2', [probe()]), { onHandoff: () => {}, inputFilter: (data) => data })],
        }),
      ),
    ],
  },
  {
    name: 'a tool that two agents share',
    agents: [
      granted(
        agent('shares', [[call('probe', {}, 'own')], [call('transfer_to_sharer', {})]], {
          tools: [shared],
          handoffs: [
            agent(
              'sharer',
              [[call('probe', {}, 'own')], [call('transfer_to_sharer', {})], [call('probe', {}, 'other')]],
              { tools: [shared] },
            ),
          ],
        }),
      ),
    ],
    bodies: 2,
  },
  { name: 'asTool()', agents: [asking('asks', inner('inner'))], way: ['ask'] },
  {
    name: 'asTool() inside asTool()',
    agents: [
      asking(
        'asks_twice',
        agent('middle', [[call('ask_inner', input)]], { tools: [ask('ask_inner', inner('inner'))] }),
      ),
    ],
    way: ['ask', 'ask_inner'],
  },
  {
    name: 'asTool() after an approval',
    agents: [asking('asks_gated', inner('inner'), { needsApproval: true })],
    way: ['ask'],
    decisions: [approve],
  },
  {
    name: 'a handoff inside asTool()',
    agents: [
      asking(
        'asks_handing',
        agent('hands', [[call('transfer_to_taker_3', {})]], { handoffs: [afterHandoff('taker_3', [probe()])] }),
      ),
    ],
    way: ['ask'],
  },
  {
    name: 'asTool() with a model of its own',
    agents: [asking('asks_model', inner('inner'), { runConfig: { model: scripted([[callProbe]]) } })],
    way: ['ask'],
  },
  {
    name: 'asTool() with models of its own',
    agents: [
      asking('asks_provider', inner('inner', { model: 'its/own' }), {
        runConfig: { modelProvider: { getModel: async () => scripted([[callProbe]]) } },
      }),
    ],
    way: ['ask'],
  },
  {
    name: 'a tool of the caller and of the agent behind its tool',
    agents: [
      granted(
        agent('asks_shared', [[call('probe', {}, 'outer'), call('ask', input, 'a')]], {
          tools: [shared, ask('ask', inner('inner', { tools: [shared] }))],
        }),
      ),
    ],
    way: ['ask'],
    bodies: 2,
  },
  {
    name: 'a sub-agent',
    agents: [
      granted(agent('parent', [[call('work', input)]], { tools: [subAgent({ agent: 'worker', name: 'work' })] })),
      granted(inner('worker')),
    ],
    way: ['work'],
  },
  { name: 'an approval', agents: one('gated', [probe({ needsApproval: true })]), decisions: [approve] },
  {
    name: 'an approval that a callback asks for',
    agents: one('gated_by', [probe({ needsApproval: async () => true })]),
    decisions: [approve],
  },
  {
    name: 'an edited approval',
    agents: one('edited', [probe({ needsApproval: true })]),
    decisions: [{ verdict: 'approve', arguments: { n: 2 } }],
  },
  {
    name: 'a rejection',
    agents: one('rejected', [probe({ needsApproval: true })]),
    decisions: [{ verdict: 'reject', message: 'No.' }],
    bodies: 0,
  },
  {
    name: 'an approval inside asTool()',
    agents: [asking('asks_inside', inner('inner', { tools: [probe({ needsApproval: true })] }))],
    way: ['ask'],
    decisions: [approve],
  },
  {
    name: 'an edited approval inside asTool() inside asTool()',
    agents: [
      asking(
        'asks_deep',
        agent('middle', [[call('ask_inner', input)]], {
          tools: [ask('ask_inner', inner('inner', { tools: [probe({ needsApproval: true })] }))],
        }),
      ),
    ],
    way: ['ask', 'ask_inner'],
    decisions: [{ verdict: 'approve', arguments: { n: 3 } }],
  },
  {
    name: 'a call of unknown effect that a person lets run again',
    agents: one('doubt', [
      declaredProbe({
        timeoutMs: 150,
        execute: async (_input: unknown, { callId }: { callId: string }) => {
          const seen = await see(callId);
          await new Promise((resolve) => setTimeout(resolve, sightsOf(callId) === 1 ? 60_000 : 0).unref());
          return seen;
        },
      }),
    ]),
    decisions: [approve],
    bodies: 2,
  },
  {
    name: 'a call that waits and goes on',
    agents: one('waits', [
      declaredProbe({
        execute: async (_input: unknown, { callId }: { callId: string }) => {
          await see(callId);
          return waitFor({ kind: 'question', text: 'Go on?' });
        },
        resume: (_input: unknown, _settlement: unknown, { callId }: { callId: string }) => see(callId),
      }),
    ]),
    decisions: [{ verdict: 'answer', value: 'yes' }],
    bodies: 2,
  },
  { name: 'stop_on_first_tool', agents: one('stops', [probe()], { toolUseBehavior: 'stop_on_first_tool' }) },
  {
    name: 'stopAtToolNames',
    agents: one('stops_at', [probe()], { toolUseBehavior: { stopAtToolNames: ['probe'] } }),
  },
  {
    name: 'toolUseBehavior that is a function',
    agents: one('stops_by', [probe()], {
      toolUseBehavior: () => ({ isFinalOutput: true, isInterrupted: undefined, finalOutput: 'done' }),
    }),
  },
  { name: 'isEnabled', agents: one('enabled', [probe({ isEnabled: async () => true })]) },
  {
    name: 'guardrails that let it run',
    agents: one('railed', [probe({ inputGuardrails: [guardrail('allow')], outputGuardrails: [guardrail('allow')] })]),
  },
  {
    name: 'a guardrail that refuses it',
    agents: one('railed_off', [probe({ inputGuardrails: [guardrail('rejectContent')] })]),
    bodies: 0,
  },
  {
    name: 'a tool in a namespace',
    agents: [
      granted(agent('spaced', [], { tools: inNamespace('crm'), model: once({ ...callProbe, namespace: 'crm' }) })),
    ],
    tool: 'crm.probe',
  },
  {
    name: 'a tool in a namespace, written as one name',
    agents: [granted(agent('spaced_flat', [], { tools: inNamespace('crm'), model: once(call('crm.probe', {})) }))],
    tool: 'crm.probe',
  },
  {
    name: 'the approved one of two tools of one name',
    agents: [
      granted(
        agent('spaced_twice', [], {
          tools: [
            ...inNamespace('crm', { needsApproval: true }),
            ...inNamespace('erp', {
              needsApproval: true,
              execute: () => {
                throw new Error('no one asked for the other one');
              },
            }),
          ],
          model: once({ ...callProbe, namespace: 'crm' }),
        }),
      ),
    ],
    decisions: [{ verdict: 'approve', arguments: { n: 4 } }],
    tool: 'crm.probe',
  },
  {
    name: 'a tool that was searched for',
    agents: [
      granted(
        agent('searches', [], {
          tools: [probe({ deferLoading: true }), toolSearchTool({ execution: 'client' })],
          model: once(searched, { ...callProbe, namespace: 'probe' }),
        }),
      ),
    ],
  },
  {
    name: 'a tool that was searched for, by its bare name',
    agents: [
      granted(
        agent('searches_bare', [], {
          tools: [probe({ deferLoading: true }), toolSearchTool({ execution: 'client' })],
          model: once(searched, callProbe),
        }),
      ),
    ],
  },
  {
    name: 'a tool that a program of the provider calls',
    agents: [
      granted(
        agent('programmed', [], {
          tools: [probe({ allowedCallers: ['programmatic'] }), programmaticToolCallingTool()],
          model: once(
            { type: 'program', callId: 'prog', code: 'probe()', fingerprint: 'f' },
            { ...callProbe, caller: { type: 'program', callerId: 'prog' } },
          ),
        }),
      ),
    ],
  },
];
