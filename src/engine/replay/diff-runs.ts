import type { Knex } from 'knex';
import type { Caller } from '../../core/caller.js';
import { differenceOf } from '../../core/difference.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { canonical, type JsonObject, type JsonValue } from '../../core/json.js';
import type { Allowance } from '../../core/limits/allowance.js';
import { EventNormalizer, isCompared } from '../../core/log/compare-events.js';
import type { RunEvent } from '../../core/log/event.js';
import { RestCount, type RunDiff } from '../../core/replay/run-diff.js';
import type { RunRow } from '../../storage/runs/run-row.js';
import { findRun } from '../../storage/runs/runs.js';
import type { EngineContext } from '../engine-context.js';
import { allowanceOfRequest } from '../engine-context.js';
import { logPages } from '../evidence/log-reading.js';

/** Where two runs part: goes through both logs side by side, in bounded memory. */
export async function diffRuns(
  context: EngineContext,
  a: string,
  b: string,
  caller: Caller,
  signal?: AbortSignal,
): Promise<RunDiff> {
  const { knex } = context.stepContext;
  const rows = [await rowOf(knex, a, caller), await rowOf(knex, b, caller)] as const;
  const sides = [new Side(knex, rows[0], signal), new Side(knex, rows[1], signal)] as const;
  try {
    const [first, second] = sides;
    const allowance = allowanceOfRequest();
    const parted = await partingOf(first, second, allowance);
    const start = differenceOf(first.start, second.start, allowance);
    const same = parted.firstDifference === null && start.length === 0;
    return { a, b, same, start, ...parted, rest: { a: await first.rest(), b: await second.rest() } };
  } finally {
    for (const side of sides) await side.close();
  }
}

async function rowOf(db: Knex, id: string, caller: Caller): Promise<RunRow> {
  const row = await findRun(db, caller.tenant, id);
  if (row === undefined) throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
  return row;
}

async function partingOf(a: Side, b: Side, allowance: Allowance): Promise<Pick<RunDiff, 'common' | 'firstDifference'>> {
  // Ids that a provider makes up are in what a model is asked next, and only there.
  let asked = true;
  for (let common = 0; ; common++) {
    const [left, right] = [await a.next(), await b.next()];
    if (left === null && right === null) return { common, firstDifference: null };
    const [says, said] = [left && a.likeness.of(left, asked), right && b.likeness.of(right, asked)];
    if (left?.kind !== right?.kind || canonical(says) !== canonical(said)) {
      for (const [side, event] of [[a, left] as const, [b, right] as const]) if (event !== null) side.count(event);
      const difference = left?.kind === right?.kind ? differenceOf(says, said, allowance) : [];
      return { common, firstDifference: { a: placeOf(left), b: placeOf(right), difference } };
    }
    asked &&= left?.kind !== 'model.responded' || canonical(outputOf(left)) === canonical(outputOf(right));
  }
}

const placeOf = (event: RunEvent | null) =>
  event === null ? null : { seq: event.seq, kind: event.kind, data: event.data };

const outputOf = (event: RunEvent | null): JsonValue => (event?.data as JsonObject | null)?.['output'] ?? null;

/** The log of one of the two. */
class Side {
  readonly #row: RunRow;
  readonly #events: AsyncGenerator<RunEvent, void>;
  readonly #count = new RestCount();
  readonly likeness: EventNormalizer;
  /** What the run was started with, but for whose call started it. */
  start: JsonObject = {};

  constructor(db: Knex, row: RunRow, signal: AbortSignal | undefined) {
    this.#row = row;
    this.#events = eventsOf(db, row.id, signal);
    this.likeness = new EventNormalizer(row.id);
  }

  /** The next event that is compared; null: there is none. */
  async next(): Promise<RunEvent | null> {
    for (;;) {
      const { value, done } = await this.#events.next();
      if (done === true) return null;
      if (value.kind === 'run.created') {
        const { parent: _, requestedBy: __, ...start } = (value.data ?? {}) as JsonObject;
        this.start = start;
      }
      if (isCompared(value)) return value;
    }
  }

  count(event: RunEvent): void {
    this.#count.add(event);
  }

  /** Counts what is left of the log. */
  async rest(): Promise<RunDiff['rest']['a']> {
    for await (const event of this.#events) if (isCompared(event)) this.#count.add(event);
    return { ...this.#count.rest, status: this.#row.status };
  }

  async close(): Promise<void> {
    await this.#events.return();
  }
}

async function* eventsOf(db: Knex, runId: string, signal: AbortSignal | undefined): AsyncGenerator<RunEvent, void> {
  for await (const few of logPages(db, runId, 0, signal)) yield* few;
}
