import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../../src/core/errors/errors.js';
import { agentPatch } from '../../../src/core/evolution/patch.js';
import { judgePatch } from '../../../src/core/evolution/reach.js';
import type { JsonObject } from '../../../src/core/json.js';
import type { ToolSpec } from '../../../src/core/tools/tool.js';

const pay = { name: 'pay', version: '1', effect: 'unsafe', approvals: 2, separateRequester: true, input: {} };
const look = { name: 'look', version: '1', effect: 'pure' };
const definition: JsonObject = {
  name: 'clerk',
  version: '1',
  model: 'lab/small',
  instructions: 'Help.',
  modelSettings: { temperature: 0.5, providerData: { tier: 'low' } },
  output: 'text',
  tools: [pay, look],
  handoffs: ['billing', 'sales'],
  onDenied: 'stop',
  separateRequester: true,
  limits: { maxTurns: 10 },
  grants: [{ capability: 'tool:call:pay', effect: 'ask', use: true, delegate: false, layer: 0 }],
  environment: { image: 'busybox' },
};

const spec = (name: string, version: string, more: object = {}) =>
  ({
    ...{ name, version, effect: 'pure', approvals: 1, rules: { capabilities: [`tool:call:${name}`], approval: false } },
    ...more,
  }) as ToolSpec;
const offer = (name: string, version: string, more: object = {}) =>
  spec(name, version, { description: `Version ${version}.`, ...more });
const asked = () => true;
const paid = { effect: 'unsafe', approvals: 2, separateRequester: true, onUnknownEffect: 'ask' };
const rulesOfPay = { capabilities: ['tool:call:pay'], approval: asked };
const own = {
  declared: new Map([
    ['look', spec('look', '1')],
    ['pay', spec('pay', '1', { ...paid, rules: rulesOfPay })],
  ]),
  ofScaffold: new Set<string>(),
};
const offers = {
  models: ['lab/large', 'free/*'],
  scaffolds: [{ name: 'neat', version: '2' }],
  tools: [
    offer('look', '2'),
    offer('look', 'wide', { rules: { capabilities: ['tool:call:look', 'http:get:/**'], approval: false } }),
    offer('look', 'computed', { rules: { capabilities: () => [], approval: false } }),
    offer('look', 'unsafe', { effect: 'unsafe' }),
    offer('look', 'labelled', { label: 'untrusted:web' }),
    offer('pay', '2', { ...paid, rules: rulesOfPay }),
    offer('pay', 'unasked', { ...paid, rules: { ...rulesOfPay, approval: false } }),
    offer('pay', 'other', { ...paid, rules: { ...rulesOfPay, approval: () => false } }),
    offer('pay', 'alone', { ...paid, separateRequester: undefined, rules: rulesOfPay }),
    offer('pay', 'one', { ...paid, approvals: 1, rules: rulesOfPay }),
    offer('pay', 'late', { ...paid, approvalExpiresInMs: null, rules: rulesOfPay }),
  ],
};

const judge = (patch: unknown, of: JsonObject = definition) => judgePatch(of, agentPatch.parse(patch), own, offers);

function codeOf(patch: unknown, of?: JsonObject): string {
  try {
    judge(patch, of);
    return 'accepted';
  } catch (error) {
    if (error instanceof HoldfastError) return error.code;
    return 'malformed';
  }
}

describe('a patch of an agent', () => {
  it('changes instructions, model and settings, and takes tools and handoffs away', () => {
    const { change, definition: after } = judge([
      { op: 'test', path: '/version', value: '1' },
      { op: 'replace', path: '/instructions', value: 'Help in one sentence.' },
      { op: 'replace', path: '/model', value: 'free/any' },
      { op: 'replace', path: '/modelSettings/temperature', value: 0 },
      { op: 'remove', path: '/tools/1' },
      { op: 'remove', path: '/handoffs/0' },
    ]);
    expect(change).toEqual({
      ...{ instructions: 'Help in one sentence.', model: 'free/any', modelSettings: { temperature: 0 } },
      ...{ tools: ['pay'], handoffs: ['sales'] },
    });
    expect(after).toMatchObject({ instructions: 'Help in one sentence.', grants: definition['grants'] });
    expect(definition['instructions']).toBe('Help.');
  });

  it('gives a tool another version that the configuration offers', () => {
    const { change } = judge([
      { op: 'replace', path: '/tools/1/version', value: '2' },
      { op: 'replace', path: '/tools/0/version', value: '2' },
    ]);
    expect([...(change.versions ?? [])].map(([, { description }]) => description)).toEqual([
      'Version 2.',
      'Version 2.',
    ]);
    expect(change.tools).toEqual(['pay', 'look']);
  });

  it.each([
    [1, '9', 'patch_out_of_reach'],
    [1, 'wide', 'patch_widens_grants'],
    [1, 'computed', 'patch_widens_grants'],
    [1, 'unsafe', 'patch_loosens_approval'],
    [1, 'labelled', 'patch_loosens_approval'],
    [0, 'unasked', 'patch_loosens_approval'],
    [0, 'other', 'patch_loosens_approval'],
    [0, 'alone', 'patch_loosens_approval'],
    [0, 'one', 'patch_loosens_approval'],
    [0, 'late', 'patch_loosens_approval'],
  ])('gives tool %i no version %s: %s', (index, value, code) => {
    expect(codeOf([{ op: 'replace', path: `/tools/${index}/version`, value }])).toBe(code);
  });

  it('gives no version to a tool that changes otherwise, too, to one of a scaffold, or to one that declares nothing', () => {
    const version = { op: 'replace', path: '/tools/1/version', value: '2' };
    expect(codeOf([version, { op: 'replace', path: '/tools/1/effect', value: 'pure2' }])).toBe(
      'patch_loosens_approval',
    );
    expect(codeOf([version, { op: 'add', path: '/tools/1/description', value: 'x' }])).toBe('patch_out_of_reach');
    expect(codeOf([{ ...version, value: 2 }])).toBe('patch_out_of_reach');
    const judgeWith = (more: object) =>
      judgePatch(definition, agentPatch.parse([version]), { ...own, ...more }, offers);
    expect(() => judgeWith({ declared: new Map() })).toThrow(/defineTool/);
    expect(() => judgeWith({ ofScaffold: new Set(['look']) })).toThrow(/of the scaffold/);
  });

  it('gives an agent with a scaffold another one that is offered, and no other', () => {
    const of = { ...definition, scaffold: { name: 'neat', version: '1' } };
    const to = (value: unknown) => [{ op: 'replace', path: '/scaffold', value }];
    expect(judge(to({ name: 'neat', version: '2' }), of).change.scaffold).toEqual({ name: 'neat', version: '2' });
    expect(judge([{ op: 'replace', path: '/scaffold/version', value: '2' }], of).change.scaffold?.version).toBe('2');
    for (const value of [{ name: 'neat', version: '3' }, { name: 'neat', version: '2', more: 1 }, null, 'neat'])
      expect(codeOf(to(value), of)).toBe('patch_out_of_reach');
    expect(codeOf([{ op: 'remove', path: '/scaffold' }], of)).toBe('patch_out_of_reach');
    expect(codeOf([{ op: 'add', path: '/scaffold', value: { name: 'neat', version: '2' } }])).toBe(
      'patch_out_of_reach',
    );
    const ofScaffold = new Set(['pay']);
    expect(() =>
      judgePatch(of, agentPatch.parse(to({ name: 'neat', version: '2' })), { ...own, ofScaffold }, offers),
    ).toThrow(/pay asks people/);
  });

  it('names no model by what allows several, and a place that is not there as it was written', () => {
    for (const value of ['free/', 'free/*', '*', ''])
      expect(codeOf([{ op: 'replace', path: '/model', value }]), value).toBe('patch_out_of_reach');
    expect(() => judge([{ op: 'replace', path: '/nope/x', value: 1 }])).toThrow(/path: \/nope\/x/);
  });

  it('changes the effort and the length of answers, and nothing beside them', () => {
    const of = { ...definition, modelSettings: { reasoning: { effort: 'low', mode: 'standard' }, store: false } };
    const patch = (path: string, value: unknown) => [{ op: 'add', path: `/modelSettings${path}`, value }];
    expect(judge(patch('/reasoning/effort', 'high'), of).change).toEqual({
      modelSettings: { reasoning: { effort: 'high', mode: 'standard' } },
    });
    expect(judge(patch('/text', { verbosity: 'low' }), of).change.modelSettings).toMatchObject({
      text: { verbosity: 'low' },
    });
    expect(codeOf(patch('/parallelToolCalls', false), of)).toBe('accepted');
    expect(codeOf([{ op: 'remove', path: '/modelSettings/reasoning/effort' }], of)).toBe('accepted');
    for (const [path, value] of [
      ['/reasoning/mode', 'pro'],
      ['/reasoning/summary', 'auto'],
      ['/reasoning', { effort: 'high' }],
      ['/text', { verbosity: 'low', format: {} }],
      ['/store', true],
      ['/toolChoice', 'pay'],
    ] as const)
      expect(codeOf(patch(path, value), of), path).toBe('patch_out_of_reach');
    expect(codeOf(patch('/reasoning/effort', 'endless'), of)).toBe('patch_invalid');
  });

  it.each([
    ['adds a grant at the end', [{ op: 'add', path: '/grants/-', value: 'tool:call:*' }], 'patch_widens_grants'],
    ['removes a grant that asks', [{ op: 'remove', path: '/grants/0' }], 'patch_widens_grants'],
    ['makes a grant allow', [{ op: 'replace', path: '/grants/0/effect', value: 'allow' }], 'patch_widens_grants'],
    [
      'copies a wider value into a grant',
      [{ op: 'copy', from: '/model', path: '/grants/0/capability' }],
      'patch_widens_grants',
    ],
    [
      'replaces the whole definition',
      [{ op: 'replace', path: '', value: { ...definition, grants: ['*:*:*'] } }],
      'patch_widens_grants',
    ],
    [
      'hides a grant behind an allowed change',
      [
        { op: 'replace', path: '/instructions', value: 'Better.' },
        { op: 'move', from: '/grants', path: '/modelSettings/temperature' },
      ],
      'patch_widens_grants',
    ],
    [
      'gives the agent a container',
      [{ op: 'replace', path: '/environment', value: { image: 'root' } }],
      'patch_widens_grants',
    ],
    ['loosens rules of MCP', [{ op: 'add', path: '/mcp', value: { s: { approval: false } } }], 'patch_widens_grants'],
    [
      'adds a tool that asks for nothing',
      [{ op: 'add', path: '/tools/-', value: { name: 'wire' } }],
      'patch_widens_grants',
    ],
    ['adds an agent to hand over to', [{ op: 'add', path: '/handoffs/-', value: 'root' }], 'patch_widens_grants'],
    ['lowers a quorum', [{ op: 'replace', path: '/tools/0/approvals', value: 1 }], 'patch_loosens_approval'],
    ['removes a quorum', [{ op: 'remove', path: '/tools/0/approvals' }], 'patch_loosens_approval'],
    [
      'lets requesters approve',
      [{ op: 'replace', path: '/separateRequester', value: false }],
      'patch_loosens_approval',
    ],
    [
      'lets the requester of a call approve',
      [{ op: 'remove', path: '/tools/0/separateRequester' }],
      'patch_loosens_approval',
    ],
    [
      'calls a payment pure',
      [{ op: 'copy', from: '/tools/1/effect', path: '/tools/0/effect' }],
      'patch_loosens_approval',
    ],
    ['goes on after denials', [{ op: 'replace', path: '/onDenied', value: 'tell' }], 'patch_loosens_approval'],
    [
      'swaps the names of two tools',
      [
        { op: 'replace', path: '/tools/1/name', value: 'pay' },
        { op: 'replace', path: '/tools/0/name', value: 'look' },
      ],
      'patch_loosens_approval',
    ],
    ['changes the input of a tool', [{ op: 'replace', path: '/tools/0/input', value: true }], 'patch_out_of_reach'],
    ['raises a limit', [{ op: 'replace', path: '/limits/maxTurns', value: 9999 }], 'patch_out_of_reach'],
    ['takes another name', [{ op: 'replace', path: '/name', value: 'admin' }], 'patch_out_of_reach'],
    ['changes its gate', [{ op: 'add', path: '/evolution', value: { approvals: 1 } }], 'patch_out_of_reach'],
    ['turns hashing off', [{ op: 'add', path: '/log', value: { hash: false } }], 'patch_out_of_reach'],
    ['escapes a name', [{ op: 'add', path: '/~1grants', value: [] }], 'patch_out_of_reach'],
    ['escapes a tilde', [{ op: 'add', path: '/grants~01', value: [] }], 'patch_out_of_reach'],
    [
      'names a model that is not allowed',
      [{ op: 'replace', path: '/model', value: 'lab/other' }],
      'patch_out_of_reach',
    ],
    ['sends a body of its own', [{ op: 'add', path: '/modelSettings/extraBody', value: {} }], 'patch_out_of_reach'],
    ['changes data of the provider', [{ op: 'remove', path: '/modelSettings/providerData' }], 'patch_out_of_reach'],
    ['removes all settings', [{ op: 'replace', path: '/modelSettings', value: null }], 'patch_out_of_reach'],
    ['removes everything', [{ op: 'remove', path: '' }], 'patch_invalid'],
    ['makes a list of it', [{ op: 'replace', path: '', value: [] }], 'patch_invalid'],
    ['names what is not there', [{ op: 'remove', path: '/nothing' }], 'patch_invalid'],
    ['expects another value', [{ op: 'test', path: '/version', value: '2' }], 'patch_invalid'],
    ['changes nothing', [{ op: 'replace', path: '/instructions', value: 'Help.' }], 'patch_invalid'],
    ['has instructions that are no text', [{ op: 'replace', path: '/instructions', value: {} }], 'patch_invalid'],
    [
      'passes for computed instructions',
      [{ op: 'replace', path: '/instructions', value: '(computed)' }],
      'patch_invalid',
    ],
    [
      'has a temperature that is none',
      [{ op: 'replace', path: '/modelSettings/temperature', value: 9 }],
      'patch_invalid',
    ],
    ['has a tool twice', [{ op: 'copy', from: '/tools/1', path: '/tools/-' }], 'patch_invalid'],
    ['has a pointer that is none', [{ op: 'remove', path: 'grants' }], 'malformed'],
    ['has an escape that is none', [{ op: 'remove', path: '/grants~2' }], 'malformed'],
    ['has an operation that is none', [{ op: 'merge', path: '/grants' }], 'malformed'],
    ['is empty', [], 'malformed'],
  ])('is refused when it %s', (_, patch, code) => {
    expect(codeOf(patch)).toBe(code);
  });

  it('is refused before copies of copies fill the memory', () => {
    const doubling = Array.from({ length: 100 }, (_, index) => ({ op: 'copy', from: '', path: `/a${index}` }));
    expect(codeOf(doubling)).toBe('patch_invalid');
    const deep = Array.from({ length: 100 }, (_, index) => ({ op: 'copy', from: '/tools', path: `/tools/${index}` }));
    expect(codeOf(deep)).not.toBe('accepted');
  });

  it('reaches no prototype', () => {
    for (const path of ['/__proto__/polluted', '/constructor/prototype/polluted', '/tools/__proto__/polluted'])
      expect(codeOf([{ op: 'add', path, value: true }])).not.toBe('accepted');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(([] as unknown as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('does not replace instructions that code computes', () => {
    const computed = { ...definition, instructions: '(computed)' };
    expect(codeOf([{ op: 'replace', path: '/instructions', value: 'Mine.' }], computed)).toBe('patch_out_of_reach');
  });
});
