import { isInterruption } from '../../src/core/interruptions/wait.js';
import type { CallOutcome } from '../../src/core/log/call-outcome.js';
import { seededRandom } from '../../src/core/seeded-random.js';
import type { ToolContext, ToolSpec } from '../../src/core/tools/tool.js';
import { noEnvironment } from '../../src/core/tools/tool-environment.js';
import { noMemory } from '../../src/core/tools/tool-memory.js';
import { CallNotes, type FoundState } from './call-notes.js';
import { errorOutcome, outputOf, runBody } from './run-body.js';

/** A recorded call whose tool says that the same input always gives the same output. */
export interface RepeatableCall {
  readonly callId: string;
  readonly agent: string;
  readonly spec: ToolSpec;
  readonly input: unknown;
  /** Throws for what the run does not hold. */
  readonly require: (capability: string) => void;
  /** The state of the run; null: its agent has none. */
  readonly state: FoundState | null;
  /** Null: nothing is noted of memory. */
  readonly memory: object | null;
  /** Finds the number of its `call.started` in the log. */
  readonly position: () => Promise<number>;
}

/** The one that holds calls against a log does not wait longer for one of them, whatever its tool allows. */
const LONGEST_MS = 10_000;

/**
 * Executes the body of a pure, deterministic call by itself, within its grants and its limit of time, and gives what came of it; nothing
 * is kept of it. Its clock gives what it gave in `recorded`. Null: nothing that can be compared, as it took too long, was given up or wants to wait.
 */
export async function executeAgain(
  { callId, agent, spec, input, require, state, memory, position }: RepeatableCall,
  run: { readonly id: string; readonly tenant: string },
  now: () => number,
  signal: AbortSignal,
  recorded: CallOutcome | null = null,
): Promise<CallOutcome | null> {
  const stop = new AbortController();
  const times = recorded === null || recorded.type === 'refused' ? [] : recorded.times;
  const notes = new CallNotes(spec, { agent, state, memory }, now, times);
  const key = `${run.id}:${callId}`;
  const context: ToolContext = {
    ...{ runId: run.id, callId, tenant: run.tenant, agent, idempotencyKey: key, signal: stop.signal },
    ...{ now: notes.now, logicalTime: position, state: notes.state },
    ...{ random: seededRandom(key), require, environment: noEnvironment('A replay'), memory: noMemory('A replay') },
  };
  const execute = (inside: ToolContext): Promise<unknown> => spec.execute(input, inside);
  const bounds = { name: spec.name, timeoutMs: Math.min(spec.timeoutMs, LONGEST_MS) };
  const ended = await runBody(bounds, execute, context, stop, signal);
  if (typeof ended === 'string') return null;
  if ('error' in ended) return notes.in(errorOutcome(spec, ended.error));
  return isInterruption(ended.output) ? null : notes.in(outputOf(spec, ended.output));
}
