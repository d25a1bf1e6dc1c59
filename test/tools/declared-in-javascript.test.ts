import { Agent } from '@openai/agents';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  askHumanTool,
  bashTool,
  createEngine,
  credentialFetch,
  definePlan,
  defineStateMachine,
  defineTool,
  HoldfastRunner,
  httpRequestTool,
  listFilesTool,
  memorySpace,
  minimalScaffold,
  planProposals,
  readFileTool,
  secret,
  sleepTool,
  stdioServer,
  subAgent,
  waitFor,
  waitForEventTool,
  writeFileTool,
} from '../../src/index.js';
import { scriptedModel } from '../../src/library/testing.js';
import { toolSpecOf } from '../../src/tools/define/define-tool.js';
import { subAgentOf } from '../../src/tools/define/sub-agent.js';

/** What no compiler has looked at: each is refused by name, and none of its promises ends the process. */

const unheard: unknown[] = [];
const hear = (reason: unknown): void => void unheard.push(reason);
beforeAll(() => void process.on('unhandledRejection', hear));
afterAll(() => void process.off('unhandledRejection', hear));

const server = { name: 'files', command: 'none' };
const question = { kind: 'question', text: 'Which?' };
const base = { name: 'look', description: 'Looks.', input: z.object({}), output: z.json(), execute: () => null };
const late = async (): Promise<never> => {
  throw new Error('too late');
};
const specOf = (more: object) => toolSpecOf(defineTool({ ...base, ...more }));

describe('a function of a declaration', () => {
  it('that gives a promise is at fault, and its error ends nothing', async () => {
    expect(() => specOf({ capabilities: late }).capabilitiesOf({})).toThrow('must say it at once');
    expect(() => specOf({ approval: late }).approvalOf({})).toThrow('must say it at once');
    const { inputOf } = subAgentOf(subAgent({ agent: 'writer', inputOf: late as never })) ?? {};
    expect(() => inputOf?.({ input: 'x' })).toThrow('neither a text nor a list of items');
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(unheard).toEqual([]);
  });

  it('that gives no list, or no input, is at fault', () => {
    for (const given of [undefined, null, 'tool:call:x', 5])
      expect(() => specOf({ capabilities: () => given }).capabilitiesOf({})).toThrow('gives no list of texts');
    const { inputOf } = subAgentOf(subAgent({ agent: 'writer', inputOf: (() => 5) as never })) ?? {};
    expect(() => inputOf?.({ input: 'x' })).toThrow('neither a text nor a list of items');
  });

  it('of a schema of memory that gives a promise says so', () => {
    const space = memorySpace({ name: 'notes', scope: 'tenant', schema: z.any().refine(async () => true) });
    expect(space.problemOf({})).toMatch(/^it cannot be checked: /);
  });
});

it.each<[string, string, () => unknown]>([
  ['a sub-agent without options', 'tool_invalid', () => subAgent(undefined as never)],
  ['a sub-agent of a number', 'tool_invalid', () => subAgent({ agent: 5 } as never)],
  ['a plan with tools that are no list', 'plan_invalid', () => definePlan({ name: 'p', plan: {}, tools: {} } as never)],
  [
    'a plan with null among its tools',
    'tool_invalid',
    () => definePlan({ name: 'p', plan: {}, tools: [null] } as never),
  ],
  ['proposals with null among their tools', 'tool_invalid', () => planProposals({ name: 'p', tools: [null] } as never)],
  ['proposals with a tool of the SDK', 'tool_invalid', () => planProposals({ name: 'p', tools: [{}] } as never)],
  ['proposals with an agent that is none', 'plan_invalid', () => planProposals({ name: 'p', agents: [{}] } as never)],
  ['proposals that are none', 'plan_invalid', () => planProposals(null as never)],
  ['a plan that is none', 'plan_invalid', () => definePlan(undefined as never)],
  ['a state machine that is none', 'machine_invalid', () => defineStateMachine(undefined as never)],
  ['a tool that is none', 'tool_invalid', () => defineTool(null as never)],
  ['credentials that are no list', 'tool_invalid', () => credentialFetch({} as never)],
  ['a credential that is none', 'tool_invalid', () => httpRequestTool({ credentials: [null] } as never)],
  ['a server that is none', 'tool_invalid', () => stdioServer(null as never)],
  ['a server without a name', 'tool_invalid', () => stdioServer({ command: 'x' } as never)],
  ['a server without a program', 'tool_invalid', () => stdioServer({ name: 'x' } as never)],
  ['a server with arguments as a text', 'tool_invalid', () => stdioServer({ ...server, args: '--x' } as never)],
  ['a server with variables that are none', 'tool_invalid', () => stdioServer({ ...server, env: 5 } as never)],
  ['a server that inherits a text', 'tool_invalid', () => stdioServer({ ...server, inherit: 'PATH' } as never)],
  ['a question with mistyped choices', 'wait_invalid', () => waitFor({ ...question, chioces: ['a'] } as never)],
  ['a timer that expires', 'wait_invalid', () => waitFor({ kind: 'timer', afterMs: 5, expiresInMs: 5 } as never)],
  ['an event with a mistyped key', 'wait_invalid', () => waitFor({ kind: 'event', name: 'paid', ky: 'a' } as never)],
  ['a script that is no list', 'config_invalid', () => scriptedModel(5 as never)],
  ['a script without lists', 'config_invalid', () => scriptedModel([5] as never)],
  [
    'a variable with NUL',
    'tool_invalid',
    () => {
      const { execute: _here, ...rest } = base;
      return defineTool({
        ...{ ...rest, isolation: 'process', module: new URL(import.meta.url), env: { A: 'a\0b' } },
      } as never);
    },
  ],
])('is refused: %s', (_what, code, declare) => {
  expect(declare).toThrow(expect.objectContaining({ code }));
});

it('is refused: an engine without agents', async () => {
  for (const agents of [undefined, null, {}, new Agent({ name: 'a' })])
    await expect(createEngine({ agents } as never)).rejects.toMatchObject({ code: 'config_invalid' });
  for (const config of [undefined, null, 5])
    await expect(createEngine(config as never)).rejects.toMatchObject({ code: 'config_invalid' });
  expect(() => new HoldfastRunner(null as never)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
});

it('a credential with a mistyped header sends nothing, and a command gets variables by their names alone', () => {
  const credential = { origin: 'https://a.example', secret: secret.env('X'), headr: 'X-Api-Key' };
  expect(() => credentialFetch([credential as never])).toThrow('credentials.0.headr: is not known here; the nearest');
  expect(secret.command(['a'], { env: ['A', 'B_2'] }).problem).toBeNull();
  for (const options of [{ env: 'A' }, { env: ['A B'] }, { env: [5] }, { envs: ['A'] }, 'A', null])
    expect(secret.command(['a'], options as never).problem).toEqual(expect.any(String));
});

const plan = { name: 'p', plan: { nodes: { a: { type: 'wait', seconds: 1 } } }, grants: ['time:sleep:timer'] };

it.each<[string, () => unknown, string]>([
  ['a plan with a model', () => definePlan({ ...plan, model: 'x' } as never), '/model: is not known here'],
  ['a plan with limits of an agent', () => definePlan({ ...plan, onDenied: 'stop' } as never), '/onDenied'],
  ['a plan with a mistyped limit', () => definePlan({ ...plan, maxElapsed: 5 } as never), 'known name is maxElapsedMs'],
  ['proposals with a plan', () => planProposals(plan as never), '/plan: is not known here'],
  ['proposals for fewer people', () => planProposals({ name: 'p', aproval: 2 } as never), 'known name is approvals'],
  ['bash', () => bashTool({ timeoutSecond: 5 } as never), 'known name is timeoutSeconds'],
  ['bash of a scaffold', () => minimalScaffold({ joinStreams: 'yes' } as never).tools(), 'joinStreams: Invalid input'],
  ['bash without a number', () => bashTool({ maxOutputBytes: Number.NaN }), 'maxOutputBytes: Invalid input'],
  ['bash with more than fits', () => bashTool({ maxOutputBytes: 67_108_864 }), 'maxOutputBytes: Too big'],
  ['list_files', () => listFilesTool({ maxEntry: 5 } as never), 'known name is maxEntries'],
  ['list_files of none', () => listFilesTool({ maxEntries: 0 }), 'maxEntries: Too small'],
  ['read_file', () => readFileTool({ allowHardlink: true } as never), 'known name is allowHardLinks'],
  ['write_file', () => writeFileTool({ maxByte: 5 } as never), 'known name is maxBytes'],
  ['http_request with one method', () => httpRequestTool({ method: ['get'] } as never), 'known name is methods'],
  ['http_request with a method that is none', () => httpRequestTool({ methods: ['GET'] } as never), 'methods.0: Inval'],
  ['ask_human', () => askHumanTool({ expiresMs: 5 } as never), 'known name is expiresInMs'],
  ['ask_human that has expired', () => askHumanTool({ expiresInMs: -1 }), 'expiresInMs: Too small'],
  ['sleep', () => sleepTool({ maxSeconds: 5 } as never), 'maxSeconds: is not known here'],
  ['wait_for_event', () => waitForEventTool({ maxMs: '5' } as never), 'maxMs: Invalid input'],
])('is refused by name: %s', (_what, declare, why) => {
  expect(declare).toThrow(why);
  expect(declare).toThrow(expect.objectContaining({ code: expect.stringMatching(/^(tool|plan)_invalid$/) }));
});
