import { type FunctionTool, getToolSearchRuntimeToolKey, tool as sdkTool } from '@openai/agents';
import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { type JsonObject, type JsonValue, toJson } from '../../core/json.js';
import { isSecretName } from '../../core/secrets/secret-patterns.js';
import type { IsolatedToolDeclaration, ToolContext, ToolDeclaration, ToolSpec } from '../../core/tools/tool.js';
import { knowSecret } from '../../models/secrets/known-secrets.js';
import { isolatedPool } from '../isolated/isolated-pool.js';
import { executePlainly, plainOutput } from './plain-execution.js';
import { parseArguments, problemBy, problemOf } from './schema-parse.js';
import { assertDeclaration, invalidTool } from './tool-declaration.js';
import { instrumentTool } from './watched-tool.js';

/** Where a declared tool carries its spec; the same in every copy of this module. */
const SPEC = Symbol.for('holdfast.tool');

interface Declared {
  readonly [SPEC]: ToolSpec;
}
export type DeclaredTool = Omit<FunctionTool, 'customDataExtractor'> & Declared;

/** What is read of a tool that declares nothing; every function tool of the SDK has it. */
type PlainTool = { readonly [F in 'name' | 'description']: string } & { readonly timeoutMs?: number | undefined };

type Declaration<I, O, S = JsonObject> = ToolDeclaration<I, O, S> | IsolatedToolDeclaration<I, O>;

const DEFAULT_TIMEOUT_MS = 60_000;
const LONGEST_TIMEOUT_MS = 3_600_000;
const DEFAULT_OUTPUT_BYTES = 262_144;
const DEFAULT_MEMORY_MB = 512;

/**
 * Makes a tool of the Agents SDK that also declares what the engine must know: its effect, its capabilities, its bounds, when a
 * person must approve. Run by the engine, all of it is enforced. In a plain run of the SDK the tool works too, but no capability is
 * enforced there: a plain run has no grants.
 *
 * The input is a zod object, turned into a JSON schema by the SDK's own conversion. Throws `tool_invalid`, naming the field.
 */
export function defineTool<I, O, S = JsonObject>(declaration: ToolDeclaration<I, O, S>): DeclaredTool;
export function defineTool<I, O>(declaration: IsolatedToolDeclaration<I, O>): DeclaredTool;
export function defineTool<I, O, S>(declaration: Declaration<I, O, S>): DeclaredTool {
  assertDeclaration(declaration);
  const spec = specOf(declaration);
  const { customDataExtractor: _none, ...made } = sdkToolOf(declaration, spec);
  const needsApproval = async (_context: unknown, input: unknown) => spec.approvalOf(input) !== null;
  return instrumentTool({ ...made, needsApproval, [SPEC]: spec });
}

export const isDeclared = <T extends object>(tool: T): tool is T & Declared => SPEC in tool;

/** The namespace of a tool; null: it has none. */
export function namespaceOf(tool: PlainTool): string | null {
  const name = nameOf(tool);
  return name === tool.name ? null : name.slice(0, -`.${tool.name}`.length);
}

/** As the SDK writes it: of a tool in a namespace (`toolNamespace()`) that comes first, so that two of one name are two. */
export const nameOf = (tool: PlainTool): string => getToolSearchRuntimeToolKey(tool as FunctionTool) ?? tool.name;

/**
 * The spec of a tool. A tool that declares nothing counts as `unsafe` and needs `tool:call:<name>`; its body is `invoke`, and
 * `execute` of its spec throws `tool_invalid`.
 */
export function toolSpecOf(tool: PlainTool): ToolSpec {
  const name = nameOf(tool);
  if (!isDeclared(tool)) return undeclared(tool, name);
  return name === tool.name ? tool[SPEC] : { ...tool[SPEC], name };
}

function sdkToolOf<I, O, S>({ name, description, input }: Declaration<I, O, S>, spec: ToolSpec) {
  try {
    if (!(input instanceof z.ZodObject)) throw new Error('must be a zod object');
    return sdkTool({
      name,
      description,
      parameters: input,
      execute: (parsed: unknown, _context, details) => executePlainly(spec, parsed, details),
      errorFunction: (_context, error) => `${name} failed: ${error instanceof Error ? error.message : String(error)}`,
    });
  } catch (cause) {
    const message = `has no JSON schema: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw invalidTool(name, [{ path: ['input'], message }], cause);
  }
}

function specOf<I, O, S>(declaration: Declaration<I, O, S>): ToolSpec {
  const { name, approval, capabilities, probe } = declaration;
  const own = [`tool:call:${name}`];
  // Only what `parse` returned ever comes back in here.
  const asInput = (input: unknown) => input as I;
  return {
    name,
    version: declaration.version ?? '1',
    description: declaration.description,
    effect: declaration.effect ?? 'unsafe',
    deterministic: declaration.deterministic ?? false,
    timeoutMs: declaration.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    maxOutputBytes: declaration.maxOutputBytes ?? DEFAULT_OUTPUT_BYTES,
    approvals: declaration.approvals ?? 1,
    separateRequester: declaration.separateRequester,
    approvalExpiresInMs: declaration.approvalExpiresInMs,
    onFailure: declaration.onFailure ?? 'tell',
    onUnknownEffect: declaration.onUnknownEffect ?? 'ask',
    parse: (args) =>
      unlessThrown(`The arguments of ${name}`, () => {
        const result = parseArguments(declaration.input, args);
        if (result.success) return { ok: true, input: result.data };
        return { ok: false, problem: `The arguments of ${name} are not valid. ${problemOf(result.error)}` };
      }),
    parseOutput: (value) =>
      unlessThrown('It', () => {
        const result = declaration.output.safeParse(value);
        return result.success ? asJson(result.data) : { ok: false, problem: problemOf(result.error) };
      }),
    capabilitiesOf: (input) => {
      const needed = typeof capabilities === 'function' ? atOnce(capabilities(asInput(input))) : (capabilities ?? own);
      if (!Array.isArray(needed)) throw new Error('`capabilities` gives no list of texts');
      // Nothing runs without a grant, also a call that needs nothing of the world.
      return needed.length === 0 ? own : needed;
    },
    approvalOf: (input) => {
      const rule = typeof approval === 'function' ? atOnce(approval(asInput(input))) : (approval ?? false);
      if (rule === false) return null;
      return typeof rule === 'string' && rule !== '' ? rule : `${name} asks for an approval.`;
    },
    rules: { capabilities: capabilities ?? own, approval: approval ?? false },
    ...(declaration.untrusted === undefined ? {} : { label: `untrusted:${declaration.untrusted}` as const }),
    probe: probe === undefined ? null : (input, context) => probe(asInput(input), context),
    ...bodyOf(declaration),
  };
}

/** What a function of a declaration gives. A promise is too late, and its error would end the process. */
function atOnce<T>(given: T): T {
  if (!(given instanceof Promise)) return given;
  given.catch(() => undefined);
  throw new Error('its function gives a promise, and must say it at once');
}

type Body = Pick<ToolSpec, 'execute' | 'resume' | 'isolated' | 'enter' | 'stateProblem'>;

function bodyOf<I, O, S>(declaration: Declaration<I, O, S>): Body {
  // Only what `parse` returned ever comes back in here.
  const asInput = (input: unknown) => input as I;
  if ('execute' in declaration) {
    const { execute, resume, state } = declaration;
    // Its schema is asked whenever the state is read.
    const inside = (context: ToolContext) => context as unknown as ToolContext<S>;
    return {
      execute: async (input, context) => execute(asInput(input), inside(context)),
      resume:
        resume === undefined
          ? null
          : async (input, settlement, context) => resume(asInput(input), settlement, inside(context)),
      ...(state === undefined ? {} : { stateProblem: problemBy(state) }),
    };
  }
  const { name, isolation, module, env = {}, limits = {}, maxOutputBytes = DEFAULT_OUTPUT_BYTES } = declaration;
  const { memoryMb = DEFAULT_MEMORY_MB, cpuSeconds = null } = limits;
  for (const [variable, value] of Object.entries(env)) if (isSecretName(variable)) knowSecret(value);
  const isolated = {
    isolation,
    module: module.href,
    export: declaration.export ?? 'execute',
    memoryMb,
    cpuSeconds,
    env,
  };
  const enter = (signal: AbortSignal) => isolatedPool.enter({ name, maxOutputBytes, isolated }, signal);
  const execute: ToolSpec['execute'] = async (input, context) => {
    const place = await enter(context.signal);
    try {
      return await place.run(input, context);
    } finally {
      place.release();
    }
  };
  return { isolated, enter, execute, resume: null };
}

function undeclared(tool: PlainTool, name: string): ToolSpec {
  return {
    name,
    version: '0',
    description: tool.description,
    effect: 'unsafe',
    label: 'untrusted:tool',
    deterministic: false,
    timeoutMs: Math.min(tool.timeoutMs ?? DEFAULT_TIMEOUT_MS, LONGEST_TIMEOUT_MS),
    maxOutputBytes: DEFAULT_OUTPUT_BYTES,
    approvals: 1,
    separateRequester: undefined,
    approvalExpiresInMs: undefined,
    // By `errorFunction` it says what the model reads; without one it throws `tool_raised`.
    onFailure: 'tell',
    onUnknownEffect: 'ask',
    parse: (args) => ({ ok: true, input: args }),
    parseOutput: (value) => unlessThrown('It', () => plainOutput(value)),
    capabilitiesOf: () => [`tool:call:${name}`],
    approvalOf: () => null,
    rules: { capabilities: [`tool:call:${name}`], approval: false },
    probe: null,
    execute: async () => {
      throw new HoldfastError('tool_invalid', `The tool ${name} declares nothing; its body is its invoke.`);
    },
    resume: null,
  };
}

interface Unfit {
  readonly ok: false;
  readonly problem: string;
}

/** A schema may have code of a user, and a value may be nested too deeply to be looked at: that is a fault of the value, and ends no run. */
function unlessThrown<T>(what: string, check: () => T | Unfit): T | Unfit {
  try {
    return check();
  } catch (error) {
    return {
      ok: false,
      problem: `${what} cannot be checked: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}

function asJson(
  value: unknown,
): { readonly ok: true; readonly output: JsonValue } | { readonly ok: false; readonly problem: string } {
  try {
    return { ok: true, output: toJson(value) };
  } catch (error) {
    return { ok: false, problem: error instanceof Error ? error.message : String(error) };
  }
}
