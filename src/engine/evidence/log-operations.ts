import { counted } from '../../../steps/exports/counted-work.js';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { ConsistencyView, LogEntryView, LogView } from '../../core/evidence/log-view.js';
import { consistencyRecipe, inclusionRecipe } from '../../core/evidence/merkle.js';
import {
  forgottenViewOf,
  lossViewOf,
  type ProofBundle,
  provenEntryOf,
  provenEventOf,
} from '../../core/evidence/proof.js';
import { Allowance } from '../../core/limits/allowance.js';
import type { RunEvent } from '../../core/log/event.js';
import type { Page } from '../../core/page.js';
import { holdsSecret } from '../../models/secrets/known-secrets.js';
import { entriesOfRun, type IndexedAny, listEntryRows } from '../../storage/evidence/log-entries.js';
import { logSize, readTree } from '../../storage/evidence/log-rows.js';
import { readEvents, readHead } from '../../storage/log/read-events.js';
import { hasDied } from '../../storage/queue/work-notes.js';
import { findRun } from '../../storage/runs/runs.js';
import { maintenanceWork, ofAll } from '../concurrency/repeated-work.js';
import type { EngineContext } from '../engine-context.js';
import type { Apart } from './anchor.js';
import { fewAtATime } from './log-reading.js';

const TOGETHER = ofAll('sign');

/**
 * Enters and signs what runs have done. Runs are entered together, unless a process died with that lately: then each by itself, so that
 * the one that is to blame is left out, and the others are signed. Throws `work_crashes` where processes died with signing itself.
 */
export async function signLog(context: EngineContext, sign: (apart: Apart | null) => Promise<void>): Promise<void> {
  const { stepContext } = context;
  if (!(await hasDied(stepContext.knex, TOGETHER))) return counted(stepContext, TOGETHER, () => sign(null));
  await sign({
    enter: (runId, work) => maintenanceWork(context, ofAll(`enter ${runId}`), work),
    sign: (work) => counted(stepContext, ofAll('sign what was entered'), work),
  });
}

/** Before the process ends. What fails is done by the next one. */
export const signAtEnd = (context: EngineContext): Promise<void> =>
  signLog(context, (apart) => context.anchor.last(apart)).catch((error: unknown) =>
    context.log.warn(
      { component: 'evidence', event: 'not_signed_at_end', error: String(error) },
      'the log of all runs was not signed at the end',
    ),
  );

const EVENTS_AT_ONCE = 500;

export const getLog = (context: EngineContext): Promise<LogView> => context.anchor.view();

export async function checkpointNow(context: EngineContext): Promise<LogView> {
  await signLog(context, (apart) => context.anchor.all(apart));
  return context.anchor.view();
}

/** Of entries of other tenants, only the leaf is told. */
export async function listLogEntries(
  context: EngineContext,
  { after, limit }: { readonly after: number; readonly limit: number },
  caller: Caller,
): Promise<Page<LogEntryView>> {
  const { rows, more } = await listEntryRows(context.stepContext.knex, { after, limit });
  const items = rows.map((one) => ({
    index: one.index,
    leaf: one.leaf,
    entry: one.tenant === caller.tenant ? entryViewOf(one) : null,
  }));
  return { items, nextCursor: more ? String(after + items.length) : null };
}

function entryViewOf(one: IndexedAny): LogEntryView['entry'] {
  if ('document' in one) return forgottenViewOf(one);
  return 'loss' in one ? lossViewOf(one) : provenEntryOf(one);
}

export async function getConsistency(
  context: EngineContext,
  { earlier, size }: { readonly earlier: number; readonly size: number },
): Promise<ConsistencyView> {
  const entries = await logSize(context.stepContext.knex);
  if (earlier > size || size > entries) {
    const detail = `expected sizes that rise, up to ${entries}`;
    throw new HoldfastError('invalid_request', `The log has no such part: ${detail}.`, {
      fields: [{ pointer: '/size', detail }],
    });
  }
  return { earlier, size, proof: [...(await readTree(context.stepContext.knex, consistencyRecipe(earlier, size)))] };
}

export async function exportProof(
  context: EngineContext,
  id: string,
  { payloads, signal }: { readonly payloads: boolean; readonly signal?: AbortSignal },
  caller: Caller,
): Promise<ProofBundle> {
  const { knex } = context.stepContext;
  const run = await findRun(knex, caller.tenant, id);
  const head = await readHead(knex, id);
  if (run === undefined || head === undefined)
    throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
  const newest = await context.anchor.newest();
  const size = newest?.checkpoint.size ?? 0;
  const entry = (await entriesOfRun(knex, id)).findLast(({ index }) => index < size);
  if (newest === null || entry === undefined) throw notAnchored(context, id);
  const events: ProofBundle['events'] = [];
  // What is read is counted as it comes; the answer counts itself once more when it is written.
  const allowance = new Allowance();
  for await (const few of wholeLog(context, id, signal))
    for (const event of few)
      events.push(provenEventOf(event, payloads && !holdsSecret(event) ? head.runKey : null, allowance));
  return {
    format: 'holdfast-proof-v1',
    runId: id,
    tenant: run.tenant,
    events,
    entry: provenEntryOf(entry),
    inclusion: [...(await readTree(knex, inclusionRecipe(entry.index, size)))],
    checkpoint: newest.checkpoint.note,
    keys: context.anchor.keys.trusted.map(({ text }) => text),
    handovers: [...context.anchor.keys.handovers],
  };
}

const notAnchored = (context: EngineContext, id: string): HoldfastError =>
  new HoldfastError('run_not_anchored', `No signed checkpoint commits to an event of run ${id}.`, {
    hint:
      context.anchor.keys.signing === null
        ? 'This server has no signing key: set HOLDFAST_SIGNING_KEY_FILE; see docs/evidence/keys.md.'
        : 'Wait some seconds, or sign what has happened up to now with `holdfast checkpoint --now`.',
  });

async function* wholeLog(
  context: EngineContext,
  id: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly RunEvent[], void> {
  for (let after = 0; ; ) {
    const { rows, more } = await readEvents(context.stepContext.knex, id, after, EVENTS_AT_ONCE);
    yield* fewAtATime(rows, signal);
    after = rows.at(-1)?.seq ?? after;
    if (!more) return;
  }
}
