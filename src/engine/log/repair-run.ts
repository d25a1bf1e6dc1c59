import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import { digestOf } from '../../core/json.js';
import {
  type LostCall,
  type RepairReport,
  type RepairRequest,
  repairRequest,
  unaccepted,
} from '../../core/log/repair.js';
import { isOver } from '../../core/runs/run.js';
import { REPAIRED, repairOf } from '../../storage/retention/lost-rows.js';
import type { EngineContext } from '../engine-context.js';
import { makeFork } from '../replay/make-fork.js';
import { AlreadyStarted } from '../runs/start-run.js';
import { stopBroken } from '../workers/stop-broken.js';
import { type Damage, damageOf } from './log-damage.js';

const NAMED_MAX = 20;

/**
 * Says what is broken of a log and what is lost by it; with `apply`, makes a run that goes on from the last event up to which it is whole.
 * The broken log stays as it is: a run that is not over is stopped first. However often and wherever it is repeated, one run
 * goes on. Throws `run_unknown`, `run_erased`, `log_whole`, `log_lost`, `repair_repeats`, `run_not_over`, `invalid_request`, and as
 * `forkRun` does.
 */
export async function repairRun(
  context: EngineContext,
  id: string,
  request: RepairRequest,
  caller: Caller,
  signal?: AbortSignal,
): Promise<RepairReport> {
  const parsed = repairRequest.safeParse(request);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const { apply, accept } = parsed.data;
  const seen = await damageOf(context, id, caller, signal);
  if (!apply || seen.report.repairedBy !== null) return seen.report;
  assertRepairable(seen, accept);
  if (!isOver(seen.run.status)) await stopBroken(context, id, caller);
  // What it did until it was stopped counts too.
  const damage = isOver(seen.run.status) ? seen : await damageOf(context, id, caller, signal);
  assertRepairable(damage, accept);
  return { ...damage.report, repairedBy: await repairNext(context, damage, accept, caller, signal) };
}

function assertRepairable({ report, calls }: Damage, accept: readonly string[]): void {
  const { runId, valid, broken } = report;
  if (valid === 0)
    throw new HoldfastError(
      'log_lost',
      `Event ${broken.seq} of run ${runId} is broken (${broken.what}), and none before it is whole.`,
    );
  const lost = new Set(calls.map(({ callId }) => callId));
  const wrong = accept.findIndex((id) => !lost.has(id));
  if (wrong >= 0) {
    const detail = `expected the id of a lost call of run ${runId}, received ${JSON.stringify(accept[wrong])}`;
    throw new HoldfastError('invalid_request', `/accept/${wrong}: ${detail}.`, {
      fields: [{ pointer: `/accept/${wrong}`, detail }],
    });
  }
  const open = unaccepted(calls, accept);
  if (open.length === 0) return;
  throw new HoldfastError(
    'repair_repeats',
    `After event ${valid} of run ${runId} ${named(open)} may have happened, and may be made again.`,
  );
}

const named = (calls: readonly LostCall[]): string => {
  const names = calls.slice(0, NAMED_MAX).map(({ tool, callId }) => `${tool} (${callId})`);
  const more = calls.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
};

async function repairNext(
  context: EngineContext,
  { run, report: { broken, valid, lost } }: Damage,
  accept: readonly string[],
  caller: Caller,
  signal?: AbortSignal,
): Promise<string> {
  const { seq, invariant } = broken;
  const made = await makeFork(
    context,
    {
      ...{ why: 'repair', key: REPAIRED, source: run, at: () => valid, upTo: valid },
      ...{
        input: undefined,
        edits: [],
        onward: {},
        fingerprint: digestOf(['repair', run.id]),
        ...(signal && { signal }),
      },
      repair: { seq, invariant, lostEvents: lost.events, accepted: [...accept], actor: caller.actor },
      under: async (trx) => {
        const before = await repairOf(trx, run.id);
        if (before !== null) throw new AlreadyStarted(before);
      },
    },
    caller,
  );
  return made.id;
}
