import { z } from 'zod';
import { HoldfastError } from '../errors/errors.js';
import type { GrantInput } from '../grants/grants.js';
import { digestOf, type JsonObject } from '../json.js';
import { type RunLimits, runLimits } from '../runs/run.js';

/** What a tool says that runs another agent. */
export interface SubAgentSpec {
  /** Name of an agent of the configuration. */
  readonly agent: string;
  /** What the child asks for; undefined: all that its agent holds. */
  readonly grants: readonly GrantInput[] | undefined;
  /** What a call proposes that runs a plan: the digest of the plan, and what the child holds of it. Absent: it runs an agent. */
  readonly proposal?: (input: unknown) => { readonly digest: string; readonly grants: readonly GrantInput[] };
  readonly maxTurns: number | undefined;
  readonly maxTotalTokens: number | undefined;
  readonly maxDurationMs: number | undefined;
  /** How many runs may be above the child. */
  readonly maxDepth: number;
  /** The child's input, from the parsed arguments. */
  readonly inputOf: (input: unknown) => string | readonly JsonObject[];
}

/** The same call of the same run always has the same child, so that an execution that comes again starts no second one. */
export const childRunId = (parentRunId: string, callId: string): string =>
  `run_${digestOf(['child_run', parentRunId, callId]).slice('sha256:'.length, 'sha256:'.length + 32)}`;

/** What the parent's log says of its child: what it was started with, whenever that is asked. */
export const startedChild = z.object({
  childRunId: z.string().describe('Run that was started.'),
  agent: z.string().describe('Its agent.'),
  agentVersion: z.string().describe("Version of the agent's definition."),
  policyVersion: z.string().describe('SHA-256 over the grants of the run.'),
  limits: runLimits.describe('Its limits.'),
  notGranted: z
    .array(z.string())
    .describe("Grants that the child's agent or the call asked for and the parent may not pass on."),
});
export type StartedChild = z.infer<typeof startedChild>;

export interface Above {
  readonly id: string;
  readonly agent: string;
}

/** `above`: the runs above the child, the topmost first. Throws `sub_agent_cycle` and `sub_agent_too_deep`. */
export function assertNesting(child: Pick<SubAgentSpec, 'agent' | 'maxDepth'>, above: readonly Above[]): void {
  const chain = [...above.map((run) => run.agent), child.agent].join(' > ');
  const same = above.find((run) => run.agent === child.agent);
  if (same !== undefined) {
    throw new HoldfastError(
      'sub_agent_cycle',
      `The agent ${child.agent} works above this call already, as run ${same.id}: ${chain}.`,
    );
  }
  if (above.length <= child.maxDepth) return;
  throw new HoldfastError(
    'sub_agent_too_deep',
    `A run of ${child.agent} would have ${above.length} runs above it; at most ${child.maxDepth} are allowed (maxDepth): ${chain}.`,
  );
}

const least = (...bounds: readonly (number | null | undefined)[]): number | null =>
  bounds.reduce<number | null>((a, b) => (b === null || b === undefined ? a : a === null ? b : Math.min(a, b)), null);

const left = (limit: number | null, used: number): number | null => (limit === null ? null : limit - used);

/**
 * The limits of a child: those of its agent and of the call, and never more than what is left to its parent. Throws
 * `limit_turns` and `limit_tokens` when nothing is left. Of time it says only what is the same in every execution; what is
 * left when the child is started is kept beside it.
 */
export function limitsOfChild(
  parent: { readonly limits: RunLimits; readonly turns: number; readonly totalTokens: number },
  agent: RunLimits,
  asked: Pick<SubAgentSpec, 'maxTurns' | 'maxTotalTokens' | 'maxDurationMs'>,
): RunLimits {
  const turns = left(parent.limits.maxTurns, parent.turns);
  const tokens = left(parent.limits.maxTotalTokens, parent.totalTokens);
  if (turns !== null && turns < 1)
    throw new HoldfastError('limit_turns', `No turn is left of the ${parent.limits.maxTurns} of this run (maxTurns).`);
  if (tokens !== null && tokens < 1) {
    throw new HoldfastError(
      'limit_tokens',
      `No token is left of the ${parent.limits.maxTotalTokens} of this run (maxTotalTokens).`,
    );
  }
  return {
    maxTurns: least(agent.maxTurns, asked.maxTurns, turns) ?? agent.maxTurns,
    maxTotalTokens: least(agent.maxTotalTokens, asked.maxTotalTokens, tokens),
    maxDurationMs: least(agent.maxDurationMs, asked.maxDurationMs, parent.limits.maxDurationMs),
    // The end of the run above it ends it, too.
    ...(agent.maxElapsedMs === undefined ? {} : { maxElapsedMs: agent.maxElapsedMs }),
  };
}
