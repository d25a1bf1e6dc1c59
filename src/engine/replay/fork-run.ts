import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import { digestOf, toJson } from '../../core/json.js';
import {
  type ForkRun,
  forkRun as forkShape,
  type RetryRun,
  retryPoint,
  retryRun as retryShape,
} from '../../core/replay/fork.js';
import type { RunView } from '../../core/runs/run.js';
import type { RunRow } from '../../storage/runs/run-row.js';
import { assertNotErased, findRun } from '../../storage/runs/runs.js';
import type { EngineContext } from '../engine-context.js';
import { makeFork } from './make-fork.js';

/** Makes a run that has the log of another one up to an event, with edits, and goes on live from there. */
export async function forkRun(
  context: EngineContext,
  id: string,
  request: ForkRun,
  caller: Caller,
  idempotencyKey?: string,
  signal?: AbortSignal,
): Promise<RunView> {
  const parsed = forkShape.safeParse(request);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const { at: asked, input, edits = [], ...onward } = parsed.data;
  const source = await sourceOf(context, id, caller);
  const at = seqOf(id, asked);
  const fingerprint = digestOf([id, toJson(parsed.data)]);
  const fork = { why: 'fork', source, at: () => at, input, edits, onward, fingerprint } as const;
  return makeFork(context, { ...fork, ...(signal && { signal }) }, caller, idempotencyKey);
}

/** Goes on from the last good point of a failed run, in a run of its own. Throws `run_not_failed`. */
export async function retryRun(
  context: EngineContext,
  id: string,
  request: RetryRun,
  caller: Caller,
  idempotencyKey?: string,
  signal?: AbortSignal,
): Promise<RunView> {
  const parsed = retryShape.safeParse(request);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const source = await sourceOf(context, id, caller);
  if (source.status !== 'failed') throw new HoldfastError('run_not_failed', `Run ${id} is ${source.status}.`);
  const fingerprint = digestOf(['retry', id, toJson(parsed.data)]);
  const fork = { why: 'retry', source, at: retryPoint, input: undefined, edits: [], onward: parsed.data } as const;
  return makeFork(context, { ...fork, fingerprint, ...(signal && { signal }) }, caller, idempotencyKey);
}

async function sourceOf(context: EngineContext, id: string, caller: Caller): Promise<RunRow> {
  const row = await findRun(context.stepContext.knex, caller.tenant, id);
  if (row === undefined) throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
  assertNotErased(row);
  return row;
}

function seqOf(runId: string, at: number | string): number {
  const text = String(at);
  const seq = text.startsWith(`${runId}:`) ? text.slice(runId.length + 1) : text;
  if (/^[1-9]\d{0,8}$/.test(seq)) return Number(seq);
  throw new HoldfastError(
    'fork_invalid',
    `${JSON.stringify(at)} is not an event of run ${runId}: give its number, or its id.`,
    {
      fields: [{ pointer: '/at', detail: `a whole number, or ${runId}:<number>` }],
    },
  );
}
