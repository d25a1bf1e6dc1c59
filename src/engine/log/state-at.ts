import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { genesis } from '../../core/log/chain.js';
import { LogCheck } from '../../core/log/check-log.js';
import type { StateAt } from '../../core/log/state.js';
import { readClaim } from '../../storage/evidence/log-pages.js';
import { soundPlace } from '../../storage/log/fold-snapshots.js';
import type { EngineContext } from '../engine-context.js';
import { logPages } from '../evidence/log-reading.js';

/**
 * The state of a run after one of its events (undefined: the last), folded from the last place before it whose state is kept. What
 * is folded is verified. Throws `run_unknown`, `invalid_request`, `log_broken`, `run_erased`.
 */
export async function stateAt(
  context: EngineContext,
  id: string,
  at: number | undefined,
  caller: Caller,
  signal?: AbortSignal,
): Promise<StateAt> {
  const { knex } = context.stepContext;
  const row = await readClaim(knex, caller.tenant, id);
  if (row === undefined) throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
  const last = row.seq ?? 0;
  const to = at ?? last;
  if (to > last) {
    const detail = `at most ${last}, the last event`;
    throw new HoldfastError(
      'invalid_request',
      `/query/at: the log of run ${id} has no event ${to}; expected ${detail}.`,
      {
        fields: [{ pointer: '/query/at', detail }],
      },
    );
  }
  const from = (await soundPlace(knex, row, to)) ?? genesis(id, row.tenant);
  if (row.key === null && from.seq !== to)
    throw new HoldfastError('run_erased', `The payloads of run ${id} were erased: its state at event ${to} is gone.`, {
      hint: 'The log still has the hash of the state: read the event.',
    });
  const check = new LogCheck({ head: from, runKey: row.key });
  pages: for await (const page of logPages(knex, id, from.seq, signal)) {
    for (const event of page) {
      if (check.head.seq === to) break pages;
      const wrong = check.next(event);
      if (wrong === null) continue;
      throw new HoldfastError(
        'log_broken',
        `The log of run ${id} is broken before event ${to}: event ${wrong.seq}, ${wrong.invariant}: ${wrong.what}`,
        { hint: `The state is known up to event ${check.head.seq}.` },
      );
    }
  }
  const { seq, state, stateHash, hash } = check.head;
  if (seq !== to)
    throw new HoldfastError('log_broken', `The log of run ${id} ends with event ${seq}, and its head says ${last}.`);
  return { runId: id, seq, folded: seq - from.seq, state, stateHash, hash };
}
