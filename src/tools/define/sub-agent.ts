import { z } from 'zod';
import type { SubAgentSpec } from '../../core/agents/sub-agent.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf } from '../../core/field-errors.js';
import { type GrantInput, parseGrants } from '../../core/grants/grants.js';
import type { Settlement } from '../../core/interruptions/settlement.js';
import { canonical, isRecord, type JsonValue, type jsonObject, toJson } from '../../core/json.js';
import type { ApprovalRule } from '../../core/tools/tool.js';
import { type DeclaredTool, defineTool } from './define-tool.js';
import { invalidTool, wrongTool } from './tool-declaration.js';

const SUB_AGENT = Symbol.for('holdfast.sub_agent');

/** An agent of the configuration: its name, or what has it. */
export type AgentReference =
  | string
  | { readonly name: string }
  | { readonly agent: { readonly name: string }; readonly name?: never };

export interface SubAgentOptions<I = { input: string }> {
  readonly agent: AgentReference;
  /** Name of the tool. Default: that of the agent in lower case, other characters than letters and digits as `_`. */
  readonly name?: string;
  readonly description?: string;
  readonly version?: string;
  /** What the model gives: a zod object. Default: `{ input: string }`. */
  readonly input?: z.ZodType<I>;
  /** The child's input: a text, or items of a conversation. Default: `input.input`, or the arguments as JSON. */
  readonly inputOf?: (input: I) => string | readonly z.infer<typeof jsonObject>[];
  /**
   * What the child asks for. It holds of it what its own agent holds and its parent may pass on. Default: all that its own
   * agent holds.
   */
  readonly grants?: readonly GrantInput[];
  readonly maxTurns?: number;
  readonly maxTotalTokens?: number;
  readonly maxDurationMs?: number;
  /** How many runs may be above the child, 1 to 10. Default 5. */
  readonly maxDepth?: number;
  /** `tell` (default): the model reads why the child did not complete. `fail`: the run fails. */
  readonly onFailure?: 'tell' | 'fail';
  /** Bound of the child's output as JSON, in bytes. Default 262,144. */
  readonly maxOutputBytes?: number;
  readonly capabilities?: readonly string[] | ((input: I) => readonly string[]);
  readonly approval?: ApprovalRule<I>;
  /** How many different people must approve where an approval is needed. Default 1. */
  readonly approvals?: number;
  readonly separateRequester?: boolean;
  readonly approvalExpiresInMs?: number | null;
}

/** What a call proposes that runs a plan. */
interface Proposing<I> {
  readonly proposal?: (input: I) => { readonly digest: string; readonly grants: readonly GrantInput[] };
}

const MAX_DEPTH = 5;
const count = z.int().min(1);
const ownOptions = z.object({
  agent: z.string().min(1).max(200),
  grants: z.array(z.unknown()).max(1000).optional(),
  inputOf: z.custom<unknown>((value) => typeof value === 'function', 'must be a function').optional(),
  maxTurns: count.max(10_000).optional(),
  maxTotalTokens: count.optional(),
  maxDurationMs: count.optional(),
  maxDepth: count.max(10).optional(),
});

interface Marked {
  readonly [SUB_AGENT]: SubAgentSpec;
}
export type SubAgentTool = DeclaredTool & Marked;

/** What a tool runs when it is a sub-agent; undefined: it is none. */
export const subAgentOf = (tool: object): SubAgentSpec | undefined =>
  SUB_AGENT in tool ? (tool as Marked)[SUB_AGENT] : undefined;

/**
 * An agent as a tool whose call is a run of its own: with a log, limits and grants, and with pauses that may last for days. The
 * run that calls it waits meanwhile and costs nothing. Only an engine runs it; the agent must be among its `agents`.
 * Throws `tool_invalid`, naming the field.
 */
export function subAgent<I = { input: string }>(options: SubAgentOptions<I> & Proposing<I>): SubAgentTool {
  if (!isRecord(options)) throw wrongTool('of a sub-agent', [{ pointer: '', detail: 'expected options' }]);
  const { agent, grants, proposal, maxTurns, maxTotalTokens, maxDurationMs, maxDepth, input, inputOf, ...rest } =
    options;
  const named: unknown = nameOf(agent);
  const target = typeof named === 'string' ? named : '';
  const name = options.name ?? toolNameOf(target);
  const parsed = ownOptions.safeParse({
    ...{ agent: target, grants, inputOf, maxTurns, maxTotalTokens, maxDurationMs, maxDepth },
  });
  if (!parsed.success) throw wrongTool(name, fieldErrorsOf(parsed.error));
  assertGrants(name, grants);
  const spec: SubAgentSpec = {
    ...{ agent: target, grants, maxTurns, maxTotalTokens, maxDurationMs },
    maxDepth: maxDepth ?? MAX_DEPTH,
    // Only what `parse` of the tool returned ever comes in here.
    inputOf: (value) => assertInput(name, inputOf?.(value as I) ?? plainInput(value)),
    ...(proposal === undefined ? {} : { proposal: (value: unknown) => proposal(value as I) }),
  };
  const tool = defineTool<unknown, unknown>({
    ...(rest as object),
    name,
    description: options.description ?? `Hands a job to the agent ${target} and returns its result.`,
    input: (input ??
      z.object({ input: z.string().min(1).describe('The job, with all that is needed for it.') })) as z.ZodType,
    output: z.unknown(),
    effect: 'idempotent',
    untrusted: 'agent',
    // It only writes rows and then waits; their writer is patient with a database that is away.
    timeoutMs: 3_600_000,
    execute: () => {
      throw new HoldfastError('engine_not_running', `${name} starts a run of ${target}, which only an engine can do.`);
    },
    resume: (_input, settlement) => outputOf(settlement),
  });
  return { ...tool, [SUB_AGENT]: spec };
}

/** What the child gave. Throws by name when it did not complete. */
function outputOf(settlement: Settlement): JsonValue {
  if (settlement.type !== 'child_ended')
    throw new HoldfastError('sub_agent_cancelled', 'no one waits for its run any more.');
  const { runId, result } = settlement;
  if (result.status === 'completed') return result.output;
  if (result.status === 'failed')
    throw new HoldfastError('sub_agent_failed', `its run ${runId} failed with ${result.code}: ${result.message}`);
  const why = result.reason === null ? '.' : `: ${result.reason}`;
  throw new HoldfastError('sub_agent_cancelled', `its run ${runId} was cancelled${why}`);
}

/** A program in JavaScript may give anything. Throws `tool_failed`. */
function assertInput<T>(name: string, given: T): T {
  // Its error would come later, and end the process.
  if (given instanceof Promise) given.catch(() => undefined);
  if (typeof given === 'string' || Array.isArray(given)) return given;
  throw new HoldfastError('tool_failed', `\`inputOf\` of ${name} gives neither a text nor a list of items.`);
}

const nameOf = (agent: AgentReference | undefined): string | undefined => {
  if (typeof agent !== 'object' || agent === null) return agent;
  return agent.name ?? ('agent' in agent ? agent.agent.name : undefined);
};

const toolNameOf = (agent: string): string =>
  agent
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replace(/^[^a-z]+/, '')
    .replace(/_+$/, '')
    .slice(0, 64);

function plainInput(value: unknown): string {
  const { input } = value as { input?: unknown };
  return typeof input === 'string' ? input : canonical(toJson(value));
}

function assertGrants(name: string, grants: readonly GrantInput[] | undefined): void {
  try {
    parseGrants(grants ?? [], { allowEverything: true });
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw invalidTool(name, [{ path: ['grants'], message }], cause);
  }
}
