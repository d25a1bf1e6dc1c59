import { HoldfastError } from '../../src/core/errors/errors.js';
import type { JsonValue } from '../../src/core/json.js';
import type { CallOutcome } from '../../src/core/log/call-outcome.js';
import type { BodyPlace, ProbeResult, ToolContext, ToolSpec } from '../../src/core/tools/tool.js';
import { withoutKnownSecrets, withoutKnownSecretsIn } from '../../src/models/secrets/known-secrets.js';
import { writesMade } from '../../src/storage/memory/evidence-rows.js';
import { boundOutput, boundText } from '../../src/tools/define/output-bound.js';
import type { StepContext } from '../context.js';
import { withDatabaseRetry } from '../database-retry.js';
import type { CallNotes } from './call-notes.js';
import type { EarlierCalls } from './earlier-calls.js';
import { type CodeOfRun, catchingLate, LateThrow, textOf } from './late-throws.js';

/** How a body ended. `timeout`: not in its time. `halted`: the run was stopped before. */
export type Ended = { readonly output: unknown } | { readonly error: unknown } | 'timeout' | 'halted';

/** Code that belongs to a call. */
const codeOf = (what: string, tool: string, { runId, callId }: ToolContext): CodeOfRun => ({
  ...{ what, runId, tool, callId },
});

/**
 * Runs a body until it ends, its time is over, or the run is stopped. A body that ignores its signal is left behind. One that held
 * the process, and came back after its time, did not end in it either.
 */
export async function runBody(
  { name, timeoutMs }: Pick<ToolSpec, 'name' | 'timeoutMs'>,
  body: (context: ToolContext) => Promise<unknown>,
  context: ToolContext,
  stop: AbortController,
  signal: AbortSignal,
): Promise<Ended> {
  // A signal that fired before someone listened never fires again.
  if (signal.aborted) return 'halted';
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  const over = new Promise<Ended>((resolve) => {
    timer = setTimeout(() => {
      stop.abort('timeout');
      resolve('timeout');
    }, timeoutMs);
    onAbort = () => resolve('halted');
    signal.addEventListener('abort', onAbort);
  });
  const began = performance.now();
  const done = (async (): Promise<Ended> => {
    const code = codeOf(`the tool ${name}`, name, context);
    const ended = await outcomeOf(() =>
      catchingLate(code, (inside) => body({ ...context, signal: inside }), context.signal),
    );
    if (signal.aborted && 'error' in ended) return 'halted';
    return performance.now() - began > timeoutMs ? 'timeout' : ended;
  })();
  try {
    const ended = await Promise.race([done, over]);
    if (typeof ended === 'object' && 'error' in ended && ended.error instanceof LateThrow) stop.abort('threw');
    return ended;
  } finally {
    clearTimeout(timer);
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort);
  }
}

async function outcomeOf(work: () => Promise<unknown>): Promise<Exclude<Ended, string>> {
  try {
    return { output: await work() };
  } catch (error) {
    return { error };
  }
}

export const errorOutcome = (spec: ToolSpec, error: unknown): CallOutcome => {
  const code = error instanceof HoldfastError ? error.code : 'tool_failed';
  const message = withoutKnownSecrets(textOf(error));
  if (code === 'capability_denied')
    return { type: 'refused', why: 'denied', message: message.slice(0, 4096).toWellFormed() };
  return { type: 'error', code, message: `${spec.name} failed: ${message}`.slice(0, 4096).toWellFormed() };
};

/** The text of an output without secrets. That of an object stays JSON: values are cleaned, and not their text. */
const withoutSecretsIn = (output: JsonValue, text: string): string =>
  typeof output === 'object' && output !== null
    ? JSON.stringify(withoutKnownSecretsIn(JSON.parse(text)))
    : withoutKnownSecrets(text);

export function outputOf(spec: ToolSpec, value: unknown): CallOutcome {
  const parsed = spec.parseOutput(value);
  if (!parsed.ok)
    return {
      type: 'error',
      code: 'tool_failed',
      message: withoutKnownSecrets(`${spec.name} returned something else than it declares: ${parsed.problem}`),
    };
  try {
    const output = withoutKnownSecretsIn(boundOutput(spec, parsed.output));
    if (parsed.text === undefined) return { type: 'output', output };
    return { type: 'output', output, text: withoutSecretsIn(output, boundText(spec, parsed.text)) };
  } catch (error) {
    return errorOutcome(spec, error);
  }
}

type PlaceForBody =
  /** `place`: where the body works; null: here. */
  { readonly type: 'found'; readonly place: BodyPlace | null } | { readonly type: 'lost'; readonly error: unknown };

/** Waits for a place before the intent is written: a call that waits for one has not begun. Null: it was stopped. */
export async function placeOf({ enter }: ToolSpec, signal: AbortSignal): Promise<PlaceForBody | null> {
  if (enter === undefined) return { type: 'found', place: null };
  try {
    return { type: 'found', place: await enter(signal) };
  } catch (error) {
    return signal.aborted ? null : { type: 'lost', error };
  }
}

/** Asks a tool whether a call of it happened. */
export async function probe(spec: ToolSpec, input: unknown, context: ToolContext): Promise<ProbeResult<unknown>> {
  const { name, probe: ask } = spec;
  if (spec.onUnknownEffect !== 'probe' || ask === null) return { happened: 'unknown' };
  try {
    const code = codeOf(`the probe of ${name}`, name, context);
    return await catchingLate(code, (signal) => ask(input, { ...context, signal }), context.signal);
  } catch {
    // A probe that fails has found out nothing; a person is asked.
    return { happened: 'unknown' };
  }
}

interface Written {
  readonly intent: { readonly runId: string; readonly callId: string };
  readonly earlier: EarlierCalls;
  readonly memory: { readonly spaces: ReadonlyMap<string, unknown> } | null;
}

/** The outcome with what all executions of the call have written into memory. One that is new has written what its notes say. */
export async function withWrites(
  ctx: StepContext,
  { intent, earlier, memory }: Written,
  outcome: CallOutcome,
  notes: CallNotes | null,
): Promise<CallOutcome> {
  if (memory === null || memory.spaces.size === 0 || outcome.type === 'refused') return outcome;
  const hasWritten = (await notes?.hasWritten()) ?? false;
  if (!hasWritten && earlier.isNew(intent.callId)) return outcome;
  const writes = await withDatabaseRetry(() => writesMade(ctx.knex, intent.runId, intent.callId));
  return writes === null ? outcome : { ...outcome, memory: { ...outcome.memory, writes } };
}
