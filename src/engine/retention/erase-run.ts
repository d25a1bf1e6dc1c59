import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import { plainText } from '../../core/json.js';
import {
  type CopyElsewhere,
  type EraseRun,
  type ErasureView,
  eraseRun as eraseShape,
} from '../../core/retention/erasure.js';
import { exportsWith } from '../../storage/exports/exported-runs.js';
import { copiesOf, type Erasing, familyToErase, findErasure } from '../../storage/retention/erasures.js';
import { findRun } from '../../storage/runs/runs.js';
import type { EngineContext } from '../engine-context.js';
import { assertOver, eraseLocked, type Gone } from './erase-locked.js';

const FAMILY_AT_ONCE = 100;
const EXPORTS_NAMED = 100;
/** A run is over a moment before its last segment is. */
const ENDS_WITHIN_MS = 5000;
const LOOK_EVERY_MS = 100;

/**
 * Erases the content of a run that is over; its log stays whole without it. With `family`, also of those below it and of forks,
 * each in a transaction of its own and the run itself last: who repeats the request after a crash goes on where it ended.
 * Repeating it is no error.
 */
export async function eraseRun(
  context: EngineContext,
  id: string,
  request: EraseRun,
  caller: Caller,
): Promise<ErasureView> {
  const parsed = eraseShape.safeParse(request);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const { knex } = context.stepContext;
  const seen = await findRun(knex, caller.tenant, id);
  if (seen === undefined) throw unknown(id);
  assertOver(seen);
  const by = { actor: caller.actor, reason: plainText(parsed.data.reason) };
  const erased: string[] = [];
  const copies: CopyElsewhere[] = [];
  const exports = new Set<string>();
  const erase = async (one: string): Promise<void> => {
    const done = await eraseOne(context, one, by);
    if (done === null) return;
    erased.push(one);
    copies.push(...done.copies);
    for (const one of done.exports) exports.add(one);
  };
  if (parsed.data.family) {
    for (;;) {
      const below = await familyToErase(knex, id, FAMILY_AT_ONCE);
      for (const one of below) await erase(one);
      if (below.length < FAMILY_AT_ONCE) break;
    }
  }
  await erase(id);
  const kept = await findErasure(knex, id);
  if (kept === undefined) throw unknown(id);
  const { actor, reason, erased_at: erasedAt } = kept;
  const gone = new Set(erased);
  const left = erased.length === 0 ? await copiesOf(knex, seen) : copies.filter(({ runId }) => !gone.has(runId));
  for (const one of await exportsWith(knex, id)) exports.add(one);
  const named = [...exports].slice(0, EXPORTS_NAMED);
  return { runId: id, erasedAt: erasedAt.toISOString(), actor, reason, erased, copies: left, exports: named };
}

const unknown = (id: string): HoldfastError =>
  new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);

/** Null: it was erased before, or is gone. Throws `run_not_over`. */
async function eraseOne(context: EngineContext, id: string, by: Erasing): Promise<Exclude<Gone, string> | null> {
  for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
    const outcome = await context.stepContext.knex.transaction((trx) => eraseLocked(trx, id, by));
    if (outcome === 'before') return null;
    if (outcome !== 'ending') {
      context.changes.announce(id);
      return outcome;
    }
    if (waitedMs >= ENDS_WITHIN_MS)
      throw new HoldfastError(
        'run_not_over',
        `Run ${id} is over, and its last segment is not: a worker still has it.`,
        {
          hint: 'Try again in a moment. If its worker has died, another one takes it over; one must run for that.',
        },
      );
    await sleep(LOOK_EVERY_MS);
  }
}
