import { Agent, Runner, tool, Usage } from '@openai/agents';
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents-core/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HoldfastError } from '../../src/core/errors/errors.js';
import type { ToolDeclaration } from '../../src/core/tools/tool.js';
import { withoutKnownSecrets } from '../../src/models/secrets/known-secrets.js';
import { defineTool, isDeclared, toolSpecOf } from '../../src/tools/define/define-tool.js';
import { boundOutput } from '../../src/tools/define/output-bound.js';
import { contextWith } from './tool-context.js';

const minimal = {
  name: 'greet',
  description: 'Greets someone.',
  input: z.object({ name: z.string() }),
  output: z.object({ text: z.string() }),
  execute: ({ name }: { name: string }) => ({ text: `Hello ${name}` }),
};

const refusal = (declaration: object): HoldfastError => {
  try {
    defineTool(declaration as unknown as ToolDeclaration<unknown, unknown>);
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
  throw new Error('It was accepted.');
};

describe('a declaration', () => {
  it('has a safe value for every field that is left out', () => {
    const spec = toolSpecOf(defineTool(minimal));
    expect(spec).toMatchObject({
      name: 'greet',
      version: '1',
      description: 'Greets someone.',
      effect: 'unsafe',
      deterministic: false,
      timeoutMs: 60_000,
      maxOutputBytes: 262_144,
      approvalExpiresInMs: undefined,
      onUnknownEffect: 'ask',
      probe: null,
    });
    expect(spec.capabilitiesOf({ name: 'x' })).toEqual(['tool:call:greet']);
    expect(spec.approvalOf({ name: 'x' })).toBeNull();
  });

  it.each<[string, object, string]>([
    ['a name in capitals', { name: 'Greet' }, '/name'],
    ['a name that is too long', { name: 'a'.repeat(65) }, '/name'],
    ['a name that begins with a digit', { name: '1a' }, '/name'],
    ['a name with a hyphen', { name: 'a-b' }, '/name'],
    ['no name', { name: undefined }, '/name'],
    ['no description', { description: '' }, '/description'],
    ['an empty version', { version: '' }, '/version'],
    ['an input that is not an object', { input: z.string() }, '/input'],
    ['an input that is not a schema', { input: {} }, '/input'],
    ['an input without a JSON schema', { input: z.object({ a: z.custom<symbol>() }) }, '/input'],
    ['an output that is not a schema', { output: undefined }, '/output'],
    ['an unknown effect', { effect: 'safe' }, '/effect'],
    ['no time', { timeoutMs: 0 }, '/timeoutMs'],
    ['more than an hour', { timeoutMs: 3_600_001 }, '/timeoutMs'],
    ['part of a millisecond', { timeoutMs: 1.5 }, '/timeoutMs'],
    ['no room for output', { maxOutputBytes: 0 }, '/maxOutputBytes'],
    ['an approval that expires at once', { approvalExpiresInMs: 0 }, '/approvalExpiresInMs'],
    ['a time that no date holds', { approvalExpiresInMs: Number.MAX_SAFE_INTEGER }, '/approvalExpiresInMs'],
    ['an empty reason', { approval: '' }, '/approval'],
    ['a probe that is missing', { onUnknownEffect: 'probe' }, '/probe'],
    ['an effect that is never unknown', { effect: 'pure', onUnknownEffect: 'rerun' }, '/onUnknownEffect'],
    ['a probe that is never asked', { probe: async () => ({ happened: 'unknown' }) }, '/probe'],
    ['a capability of an unknown action', { capabilities: ['fs:read:/x', 'fs:raed:/x'] }, '/capabilities/1'],
    ['a capability without its address', { capabilities: ['network:http:get'] }, '/capabilities/0'],
    ['no capability', { capabilities: [] }, '/capabilities'],
    ['nothing to execute', { execute: undefined }, '/execute'],
    ['a field that nothing reads', { timeout: 5 }, '/timeout'],
    ['a field whose name has a slash', { 'a/b': 5 }, '/a~1b'],
    ['an approval that is a number', { approval: 5 }, '/approval'],
  ])('is refused with %s', (_kind, change, pointer) => {
    const error = refusal({ ...minimal, ...change });
    expect(error.code).toBe('tool_invalid');
    expect(error.fields[0]?.pointer).toBe(pointer);
  });

  it('names every wrong field at once', () => {
    const error = refusal({ ...minimal, name: 'X', timeoutMs: -1, timeout: 5 });
    expect(error.fields.map((field) => field.pointer)).toEqual(['/name', '/timeoutMs', '/timeout']);
    expect(error.message).toMatch(/"X".*name: .*timeoutMs: .*timeout: is not known here\.$/);
  });
});

describe('arguments', () => {
  const spec = toolSpecOf(
    defineTool({
      ...minimal,
      input: z.object({
        a: z.string(),
        b: z.int().max(9, 'must be at most 9').optional(),
        c: z.string().default('standard'),
        d: z.object({ e: z.string().optional() }).optional(),
        f: z.array(z.object({ n: z.string(), v: z.string().optional() })).optional(),
        g: z.union([z.object({ k: z.literal('m'), o: z.string().optional() }), z.string()]).optional(),
        h: z.string().nullable().optional(),
      }),
      execute: ({ a }) => ({ text: a }),
    }),
  );

  it('may leave out what is optional, or say null for it', () => {
    expect(spec.parse({ a: 'x' })).toEqual({ ok: true, input: { a: 'x', c: 'standard' } });
    expect(
      spec.parse({
        a: 'x',
        b: null,
        c: null,
        d: { e: null },
        f: [{ n: 'n', v: null }],
        g: { k: 'm', o: null },
        h: null,
      }),
    ).toEqual({ ok: true, input: { a: 'x', c: 'standard', d: {}, f: [{ n: 'n' }], g: { k: 'm' }, h: null } });
  });

  it('are answered with one sentence per wrong field', () => {
    expect(spec.parse({ b: 10, f: [{ n: 1 }], d: null })).toEqual({
      ok: false,
      problem:
        'The arguments of greet are not valid. `a`: Invalid input: expected string, received undefined. ' +
        '`b`: must be at most 9. `f.0.n`: Invalid input: expected string, received number.',
    });
    expect(spec.parse([])).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/The whole value: .*expected object/),
    });
    expect(spec.parse({ a: null })).toMatchObject({ ok: false });
  });

  it('leave what they were given as it is', () => {
    const args = { a: 'x', b: null };
    spec.parse(args);
    expect(args).toEqual({ a: 'x', b: null });
  });
});

describe('capabilities and approval', () => {
  it('follow from the arguments', () => {
    const spec = toolSpecOf(
      defineTool({
        ...minimal,
        capabilities: ({ name }) => (name === 'nobody' ? [] : [`payments:pay:${name}`]),
        approval: ({ name }) => (name === 'bank' ? 'This pays the bank.' : name === 'shop'),
      }),
    );
    expect(spec.capabilitiesOf({ name: 'x' })).toEqual(['payments:pay:x']);
    expect(spec.capabilitiesOf({ name: 'nobody' })).toEqual(['tool:call:greet']);
    expect(spec.approvalOf({ name: 'bank' })).toBe('This pays the bank.');
    expect(spec.approvalOf({ name: 'shop' })).toBe('greet asks for an approval.');
    expect(spec.approvalOf({ name: 'x' })).toBeNull();
  });

  it('may be fixed', () => {
    const spec = toolSpecOf(defineTool({ ...minimal, capabilities: ['payments:pay:eur'], approval: 'Money moves.' }));
    expect(spec.capabilitiesOf({ name: 'x' })).toEqual(['payments:pay:eur']);
    expect(spec.approvalOf({ name: 'x' })).toBe('Money moves.');
  });
});

describe('output', () => {
  it('is validated and made plain JSON', () => {
    const spec = toolSpecOf(
      defineTool({
        ...minimal,
        output: z.object({ at: z.date(), text: z.string().optional() }),
        execute: () => ({ at: new Date(0) }),
      }),
    );
    expect(spec.parseOutput({ at: new Date(0), text: undefined })).toEqual({
      ok: true,
      output: { at: '1970-01-01T00:00:00.000Z' },
    });
    expect(spec.parseOutput({ at: 'x' })).toMatchObject({ ok: false, problem: expect.stringContaining('`at`') });
  });

  it('is refused when JSON cannot carry it', () => {
    const spec = toolSpecOf(defineTool({ ...minimal, output: z.any(), execute: () => 1 }));
    expect(spec.parseOutput(10n)).toMatchObject({ ok: false, problem: expect.stringContaining('JSON') });
    expect(spec.parseOutput(undefined)).toEqual({ ok: true, output: null });
  });

  it('is bounded in bytes', () => {
    const spec = { name: 'x', maxOutputBytes: 10 };
    expect(boundOutput(spec, 'é'.repeat(4))).toBe('éééé');
    expect(() => boundOutput(spec, 'é'.repeat(5))).toThrow(/12 bytes.*bound is 10/);
  });
});

describe('in a plain run of the SDK', () => {
  const run = async (...tools: ReturnType<typeof defineTool>[]) => {
    const call = functionCall('greet', { name: 'Ada' }, { callId: 'call-7' });
    const model = new ScriptedModel(
      [[call], [assistantMessage('done')]].map((output) => ({ usage: new Usage(), output })),
    );
    const agent = new Agent({ name: 'plain', model, tools });
    const result = await new Runner({ tracingDisabled: true }).run(agent, 'go');
    const output = result.newItems.find((item) => item.type === 'tool_call_output_item');
    return { result, output: output?.type === 'tool_call_output_item' ? output.output : undefined, model };
  };

  it('the tool works', async () => {
    const { output, model } = await run(defineTool(minimal));
    expect(output).toEqual({ text: 'Hello Ada' });
    expect(model.firstCall?.request.tools[0]).toMatchObject({
      name: 'greet',
      strict: true,
      parameters: { type: 'object', required: ['name'], additionalProperties: false },
    });
  });

  it('gets a context of its own', async () => {
    const { output } = await run(
      defineTool({
        ...minimal,
        execute: (_input, context) => {
          context.require('fs:read:/anything');
          return { text: `${context.idempotencyKey} ${context.random() < 1} ${context.signal.aborted}` };
        },
      }),
    );
    expect(output).toEqual({ text: 'plain:call-7 true false' });
  });

  it('waits for the approval that it asks for', async () => {
    const { result } = await run(defineTool({ ...minimal, approval: ({ name }) => name === 'Ada' }));
    expect(result.interruptions).toHaveLength(1);
  });

  it('tells the model what went wrong', async () => {
    const failing = defineTool({
      ...minimal,
      execute: () => {
        throw new Error('The line is busy.');
      },
    });
    expect((await run(failing)).output).toBe('greet failed: The line is busy.');
    const wrong = defineTool({ ...minimal, execute: () => ({ text: 7 }) as unknown as { text: string } });
    expect((await run(wrong)).output).toMatch(/greet failed: `text`/);
    const slow = defineTool({ ...minimal, timeoutMs: 20, execute: () => new Promise<never>(() => {}) });
    expect((await run(slow)).output).toBe('greet failed: greet did not end within 20 ms.');
    const big = defineTool({ ...minimal, maxOutputBytes: 5 });
    expect((await run(big)).output).toMatch(/bound is 5/);
  });
});

describe('the spec of a tool', () => {
  it('survives that the SDK copies the tool', () => {
    const declared = defineTool(minimal);
    expect(isDeclared({ ...declared })).toBe(true);
    expect(toolSpecOf({ ...declared })).toBe(toolSpecOf(declared));
  });

  it('of a tool that declares nothing is the strictest', async () => {
    const plain = tool({
      name: 'plain_tool',
      description: 'x',
      parameters: z.object({ a: z.string() }),
      execute: () => 'y',
    });
    const spec = toolSpecOf(plain);
    expect(isDeclared(plain)).toBe(false);
    expect(spec).toMatchObject({
      name: 'plain_tool',
      version: '0',
      effect: 'unsafe',
      deterministic: false,
      onUnknownEffect: 'ask',
    });
    expect(spec.capabilitiesOf(null)).toEqual(['tool:call:plain_tool']);
    expect(spec.parse({ a: 'x' })).toEqual({ ok: true, input: { a: 'x' } });
    await expect(spec.execute({}, contextWith([]))).rejects.toMatchObject({ code: 'tool_invalid' });
  });
});

describe('a value that cannot be checked', () => {
  const thrower = (): never => {
    throw new Error('the schema is broken');
  };
  const deep = (): unknown => {
    let value: unknown = 1;
    for (let level = 0; level < 50_000; level++) value = [value];
    return value;
  };

  it('is a fault of the call, and no error of the run', () => {
    const broken = { ...minimal, input: z.looseObject({}).refine(thrower), output: z.any().refine(thrower) };
    const spec = toolSpecOf(defineTool(broken as never));
    expect(spec.parse({})).toEqual({
      ok: false,
      problem: 'The arguments of greet cannot be checked: the schema is broken',
    });
    expect(spec.parseOutput('x')).toEqual({ ok: false, problem: 'It cannot be checked: the schema is broken' });
  });

  it('such as a part of the content of a server that is nested too deeply', () => {
    const plain = tool({ name: 'plain', description: 'Gives content.', parameters: z.object({}), execute: () => '' });
    const content = [{ type: 'text', text: 'x', _meta: deep() }];
    expect(toolSpecOf(plain).parseOutput(content)).toMatchObject({
      ok: false,
      problem: expect.stringContaining('cannot be checked'),
    });
  });
});

describe('a body apart', () => {
  const { execute: _here, ...terms } = minimal;
  const apart = { ...terms, isolation: 'thread', module: new URL('./bodies/apart.mjs', import.meta.url) };

  it('has bounds where none are stated', () => {
    const { isolated } = toolSpecOf(defineTool(apart as never));
    expect(isolated).toMatchObject({ export: 'execute', memoryMb: 512, cpuSeconds: null, env: {} });
  });

  it.each<[string, object, string]>([
    ['without a module', { module: undefined }, '/module'],
    ['with a module that is not there', { module: new URL('./nothing.mjs', import.meta.url) }, '/module'],
    ['with a module elsewhere', { module: new URL('https://example.com/a.js') }, '/module'],
    ['with a body here', { execute: () => 1 }, '/execute'],
    ['that goes on here', { resume: () => 1 }, '/resume'],
    ['with too little memory', { limits: { memoryMb: 64 } }, '/limits/memoryMb'],
    ['with a name that no variable has', { env: { 'A B': 'x' } }, '/env/A B'],
    ['with an unknown limit', { limits: { disk: 1 } }, '/limits/disk'],
  ])('is refused %s', (_what, change, pointer) => {
    expect(refusal({ ...apart, ...change }).fields.map((field) => field.pointer)).toContain(pointer);
  });

  it('has variables that are known as secrets where their name says so', () => {
    defineTool({ ...apart, env: { LAB_API_KEY: 'Ie58cRx2WmZt67Pd', CITY: 'Nf20vSy9AqLk41Hb' } } as never);
    expect(withoutKnownSecrets('Ie58cRx2WmZt67Pd Nf20vSy9AqLk41Hb')).toBe('[redacted] Nf20vSy9AqLk41Hb');
  });

  it('and its bounds are refused of a body here', () => {
    expect(refusal({ ...minimal, limits: { memoryMb: 256 } }).fields).toMatchObject([{ pointer: '/limits' }]);
    expect(refusal(terms).fields).toMatchObject([{ pointer: '/execute' }]);
  });
});
