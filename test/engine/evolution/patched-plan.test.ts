import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { registerAgents } from '../../../src/engine/agents/agent-registry.js';
import { patchedAgent } from '../../../src/engine/evolution/patched-agent.js';
import { defineAgent, definePlan, defineTool } from '../../../src/index.js';

const named = (name: string, effect: 'pure' | 'unsafe' = 'pure') =>
  defineTool({
    ...{ name, description: 'Does it.', effect, input: z.object({ n: z.int() }), output: z.object({ n: z.int() }) },
    execute: ({ n }) => ({ n }),
  });
const call = (tool: string, n: unknown = 1, more: object = {}) => ({ type: 'tool', tool, arguments: { n }, ...more });
const PATH = '/plan/nodes';

/** `order` leads to an approval, and `pay` comes after it; `note` and `rest` stand beside them. */
const plan = definePlan({
  name: 'steps',
  tools: [named('read'), named('note'), named('pay', 'unsafe'), named('wire', 'unsafe')],
  grants: [
    ...['tool:call:*', 'human:ask:*', 'time:sleep:timer'],
    { capability: 'tool:call:look', effect: 'allow', delegate: true },
  ],
  plan: {
    input: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    nodes: {
      order: call('read', { $from: '/input/n' }),
      check: {
        type: 'branch',
        cases: [
          {
            when: 'nodes.order.n > 10',
            nodes: { ok: { type: 'ask', approval: { $text: ['Pay ', { $from: '/nodes/order/n' }] }, approvals: 2 } },
          },
        ],
      },
      pay: call('pay', { $from: '/nodes/order/n' }, { after: ['check'], undo: { tool: 'wire', arguments: { n: 1 } } }),
      note: call('note', 1, { after: ['pay'] }),
      rest: { type: 'map', over: [1, 2], most: 5, nodes: { one: call('read', { $from: '/item' }) } },
    } as never,
  },
});
const helper = defineAgent({ agent: new Agent({ name: 'helper', model: 'openai/x' }), grants: ['tool:call:look'] });
const base = registerAgents({ agents: [plan, helper] }).get('steps');
if (base === undefined) throw new Error('no plan');
const patched = (...patch: object[]) => patchedAgent(base, patch as never, '1+x');

it('a patch of a plan changes its nodes, and holds no more than it needs', () => {
  const made = patched(
    { op: 'replace', path: `${PATH}/rest/most`, value: 9 },
    { op: 'add', path: `${PATH}/more`, value: call('read', 7) },
    { op: 'add', path: '/plan/output', value: { $from: '/nodes/more/n' } },
  );
  expect(made.plan?.compiled.document).toMatchObject({ nodes: { rest: { most: 9 }, more: { tool: 'read' } } });
  expect(made.definitionHash).not.toBe(base.definitionHash);
  expect(made.grants.grants.length).toBeGreaterThan(0);
  const less = patched({ op: 'remove', path: `${PATH}/rest` });
  expect(less.plan?.compiled.nodes.map(({ path }) => path)).not.toContain('rest');
  expect(patched({ op: 'replace', path: `${PATH}/rest/over`, value: [3] }).version).toBe('1+x');
});

const REMOVED = { op: 'remove', path: `${PATH}/check` };
it.each<[string, object[], string]>([
  ['changes nothing', [{ op: 'test', path: '/name', value: 'steps' }], 'patch_invalid'],
  [
    'cannot be read',
    [{ op: 'add', path: `${PATH}/more`, value: call('read', { $from: '/nodes/no' }) }],
    'plan_invalid',
  ],
  ['runs in a circle', [{ op: 'add', path: `${PATH}/rest/after`, value: ['rest'] }], 'plan_invalid'],
  ['names a tool that is not there', [{ op: 'add', path: `${PATH}/more`, value: call('steal') }], 'plan_invalid'],
  [
    'calls what the configuration grants and the plan does not need',
    [{ op: 'add', path: `${PATH}/wait`, value: { type: 'wait', seconds: 1 } }],
    'patch_widens_grants',
  ],
  [
    'runs an agent that it does not run now',
    [{ op: 'add', path: `${PATH}/more`, value: { type: 'agent', agent: 'helper', input: 'x' } }],
    'patch_widens_grants',
  ],
  [
    'tries again, which waits',
    [{ op: 'add', path: `${PATH}/rest/nodes/one/retry`, value: { attempts: 3 } }],
    'patch_widens_grants',
  ],
  [
    'asks people questions',
    [{ op: 'add', path: `${PATH}/q`, value: { type: 'ask', question: 'x' } }],
    'patch_widens_grants',
  ],
  ['adds a grant', [{ op: 'add', path: '/grants/-', value: 'tool:call:x' }], 'patch_out_of_reach'],
  ['adds turns', [{ op: 'replace', path: '/limits/maxTurns', value: 9 }], 'patch_out_of_reach'],
  ['adds a tool', [{ op: 'copy', from: '/tools/0', path: '/tools/-' }], 'patch_out_of_reach'],
  ['changes the input', [{ op: 'remove', path: '/plan/input' }], 'patch_out_of_reach'],
  ['replaces the definition', [{ op: 'replace', path: '', value: { plan: {} } }], 'patch_out_of_reach'],
  [
    'takes the approval away',
    [REMOVED, { op: 'replace', path: `${PATH}/pay/after`, value: ['order'] }],
    'patch_loosens_approval',
  ],
  [
    'asks fewer people',
    [{ op: 'replace', path: `${PATH}/check/cases/0/nodes/ok/approvals`, value: 1 }],
    'patch_loosens_approval',
  ],
  [
    'asks later',
    [{ op: 'replace', path: `${PATH}/check/cases/0/when`, value: 'nodes.order.n > 9999' }],
    'patch_loosens_approval',
  ],
  [
    'asks about something else',
    [{ op: 'replace', path: `${PATH}/order/arguments/n`, value: 1 }],
    'patch_loosens_approval',
  ],
  ['pays something else', [{ op: 'replace', path: `${PATH}/pay/arguments/n`, value: 9 }], 'patch_loosens_approval'],
  ['does not wait for the approval', [{ op: 'remove', path: `${PATH}/pay/after` }], 'patch_loosens_approval'],
  ['pays elsewhere', [{ op: 'add', path: `${PATH}/more`, value: call('pay') }], 'patch_loosens_approval'],
  [
    'pays in a group beside it',
    [{ op: 'add', path: `${PATH}/rest/nodes/two`, value: call('pay', { $from: '/item' }) }],
    'patch_loosens_approval',
  ],
  [
    'takes back elsewhere what is taken back after the approval',
    [{ op: 'add', path: `${PATH}/rest/nodes/one/undo`, value: { tool: 'wire', arguments: { n: 1 } } }],
    'patch_loosens_approval',
  ],
  [
    'calls elsewhere what is called after the approval alone',
    [{ op: 'replace', path: `${PATH}/rest/nodes/one/tool`, value: 'note' }],
    'patch_loosens_approval',
  ],
  ['moves the payment to another name', [{ op: 'move', from: `${PATH}/pay`, path: `${PATH}/pays` }], 'plan_invalid'],
])('a patch of a plan is refused by name when it %s', (_, patch, code) => {
  expect(() => patched(...patch)).toThrow(expect.objectContaining({ code }));
});
