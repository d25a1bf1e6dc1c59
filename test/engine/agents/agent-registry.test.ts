import { Agent, handoff, MCPServerStdio, tool } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HoldfastError } from '../../../src/core/errors/errors.js';
import { registerAgents } from '../../../src/engine/agents/agent-registry.js';
import type { AgentDeclaration } from '../../../src/engine/agents/define.js';
import { toolNamed } from '../../../src/engine/agents/tool-named.js';

const agent = new Agent({ name: 'clerk', model: 'openai/x' });

function refusal(declaration: object): HoldfastError {
  try {
    registerAgents({ agents: [declaration as AgentDeclaration] });
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
  throw new Error('it was accepted');
}

describe('a declaration that is wrong is refused, naming the agent and the field', () => {
  it.each<[string, object, string, RegExp]>([
    ['a field that is not known', { maxTurnz: 5 }, 'agent_invalid', /maxTurnz/],
    [
      'a limit that is misspelt',
      { maxTurn: 5 },
      'agent_invalid',
      /maxTurn: is not known here; the nearest .* maxTurns/,
    ],
    ['more of a budget', { budget: { usd: '1', eur: '1' } }, 'agent_invalid', /budget\/eur: is not known here/],
    ['rules for a server that it has not', { mcp: { files: {} } }, 'agent_invalid', /mcp\/files: .*; they have none/],
    [
      'a context that is a text',
      { context: z.string() },
      'agent_invalid',
      /context: .*expected true, or a zod schema of an object/,
    ],
    ['a context that is a list', { context: z.array(z.string()) }, 'agent_invalid', /context/],
    ['a turn limit below 1', { maxTurns: 0 }, 'agent_invalid', /maxTurns/],
    ['a turn limit beyond what a run can have', { maxTurns: 10_001 }, 'agent_invalid', /maxTurns/],
    ['half a millisecond', { maxDurationMs: 0.5 }, 'agent_invalid', /maxDurationMs/],
    ['another way to deny', { onDenied: 'tel' }, 'agent_invalid', /onDenied/],
    ['a switch that is a text', { allowEverything: 'no' }, 'agent_invalid', /allowEverything/],
    ['a version that is a number', { version: 2 }, 'agent_invalid', /version/],
    ['a text of grants', { grants: 'fs:read:/x' }, 'agent_invalid', /grants/],
    ['a wrong grant', { grants: ['fs:read:/ok', 'fs:read:x'] }, 'capability_invalid', /\/grants\/1/],
  ])('%s', (_what, fields, code, named) => {
    const error = refusal({ agent, ...fields });
    expect(error.code).toBe(code);
    expect(error.message).toMatch(/clerk/);
    expect(error.message).toMatch(named);
  });

  it('what throws when it is read', () => {
    const thrower = {
      get agent() {
        throw new Error('no agent today');
      },
    };
    expect(refusal(thrower)).toMatchObject({
      code: 'agent_invalid',
      message: 'Entry 0 of `agents` cannot be read: no agent today.',
    });
  });

  it.each(['two\nlines', 'acme\u001fclerk', 'NUL\u0000', 'half\ud83d', 'n'.repeat(201)])(
    'a name that columns, keys of the queue and filters do not take: %j',
    (name) => {
      const named = new Agent({ name, model: 'openai/x' });
      const message = expect.stringMatching(/^The name ".{4,90}" of an agent is not valid: /);
      const code = 'agent_invalid';
      expect(refusal({ agent: named })).toMatchObject({ code, message });
      expect(refusal({ agent: new Agent({ name: 'clerk', handoffs: [named] }) })).toMatchObject({ code, message });
    },
  );

  it('two agents of one name that a run can come to by handoffs', () => {
    const inner = (instructions: string) => new Agent({ name: 'cashier', model: 'openai/x', instructions });
    const [one, other] = [inner('Refund.'), inner('Refund nothing.')];
    const to = (...handoffs: Agent[]) => ({ agent: new Agent({ name: 'clerk', model: 'openai/x', handoffs }) });
    expect(refusal(to(one, new Agent({ name: 'between', model: 'openai/x', handoffs: [other] })))).toMatchObject({
      code: 'agent_invalid',
      message: 'Two agents that runs of clerk can come to have the name cashier.',
    });
    expect(() => registerAgents({ agents: [to(one)] })).not.toThrow();
  });

  it('what is no agent', () => {
    expect(refusal({}).code).toBe('agent_invalid');
    expect(refusal({ agent: { name: 'clerk' } }).code).toBe('agent_invalid');
  });
});

it('of two tools of one name the one is decided on that the SDK calls', () => {
  const pay = (description: string) =>
    tool({ name: 'pay', description, parameters: z.object({}), execute: () => description });
  const clerk = new Agent({ name: 'clerk', model: 'openai/x', tools: [pay('first'), pay('last')] });
  const agents = registerAgents({ agents: [{ agent: clerk }] });
  const call = { runAgent: 'clerk', agent: 'clerk', tool: 'pay' };
  expect(toolNamed({ agents }, call)?.description).toBe('last');
  expect(agents.get('clerk')?.toolSpecs.get('pay')?.description).toBe('last');
});

describe('the hash of a definition', () => {
  const pay = (input: z.ZodObject) =>
    tool({ name: 'pay', description: 'Pays.', parameters: input, execute: () => 'paid' });
  const name = 'clerk';
  const model = 'openai/x';
  const hashOf = (agent: AgentDeclaration['agent']): string | undefined =>
    registerAgents({ agents: [agent] }).get(name)?.definitionHash;
  const helper = (instructions: string) => new Agent({ name: 'helper', model: 'openai/x', instructions });

  it('is the same for the same definition', () => {
    expect(hashOf(new Agent({ name, model, tools: [pay(z.object({ to: z.string() }))] }))).toBe(
      hashOf(new Agent({ name, model, tools: [pay(z.object({ to: z.string() }))] })),
    );
  });

  it.each<[string, () => (string | undefined)[]]>([
    [
      'the input of a tool',
      () => [
        hashOf(new Agent({ name, model, tools: [pay(z.object({ to: z.string() }))] })),
        hashOf(new Agent({ name, model, tools: [pay(z.object({ to: z.string(), cents: z.int() }))] })),
      ],
    ],
    [
      'the output that is declared',
      () => [
        hashOf(new Agent({ name, model })),
        hashOf(new Agent({ name, model, outputType: z.object({ a: z.string() }) })),
        hashOf(new Agent({ name, model, outputType: z.object({ b: z.string() }) })),
      ],
    ],
    [
      'an agent that it hands over to',
      () => [
        hashOf(new Agent({ name, model, handoffs: [helper('You help.')] })),
        hashOf(new Agent({ name, model, handoffs: [helper('You pay.')] })),
        hashOf(new Agent({ name, model, handoffs: [handoff(helper('You steal.'))] })),
      ],
    ],
  ])('changes with %s', (_what, hashes) => {
    const all = hashes();
    expect(new Set(all).size).toBe(all.length);
  });

  it('ends where agents hand over to each other', () => {
    const first = new Agent({ name: 'first', model: 'openai/x' });
    first.handoffs = [new Agent({ name: 'second', model: 'openai/x', handoffs: [first] })];
    expect(registerAgents({ agents: [first] }).get('first')?.definitionHash).toMatch(/^sha256:/);
  });
});

describe('rules for servers', () => {
  const files = new MCPServerStdio({ name: 'files', command: 'none' });
  const reader = new Agent({ name: 'reader', model: 'openai/x', mcpServers: [files] });
  const start = (more: object) => new Agent({ name: 'start', model: 'openai/x', ...more });
  const registered = (one: Agent, server: string) =>
    registerAgents({ agents: [{ agent: one, mcp: { [server]: {} } }] });

  it('may be those of an agent that it hands over to, or of one behind a tool', () => {
    expect(registered(start({ handoffs: [reader] }), 'files').size).toBe(1);
    const behind = start({ tools: [reader.asTool({ toolName: 'read', toolDescription: 'Reads.' })] });
    expect(registered(behind, 'files').size).toBe(1);
  });

  it('name the nearest server where there is none of the name', () => {
    expect(() => registered(start({ handoffs: [reader] }), 'file')).toThrow(
      'mcp/file: no agent that its runs come to has',
    );
    expect(() => registered(start({ handoffs: [reader] }), 'file')).toThrow('the nearest is files');
  });
});
