import { z } from 'zod';
import { answerCost } from '../budgets/charge.js';
import { patchOperation } from '../difference.js';
import { jsonValue } from '../json.js';
import type { RunEvent } from '../log/event.js';
import { nanosOf, usdOf, usdText } from '../money.js';
import { addUsage, NO_USAGE, runStatus, usage } from '../runs/run.js';

/** An event as a comparison shows it. */
const place = z.object({ seq: z.int(), kind: z.string(), data: jsonValue });

const rest = z
  .object({
    events: z.int(),
    turns: z.int(),
    calls: z.int().describe('Calls that ended.'),
    usage,
    costUsd: usdText.nullable().describe('What its model calls cost; null: a price is not known.'),
    status: runStatus,
  })
  .describe('What a run did from where the two part, and how it is now.');

/** Where two runs part, and what each did from there. */
export const runDiff = z
  .object({
    a: z.string(),
    b: z.string(),
    same: z.boolean(),
    start: z.array(patchOperation).describe('What they were started with: how `b` differs (RFC 6902).'),
    common: z.int().describe('So many events say the same, from the first.'),
    firstDifference: z
      .object({
        a: place.nullable().describe('Null: its log ends there.'),
        b: place.nullable(),
        difference: z.array(patchOperation).describe('How `b` differs, where both events are of one kind.'),
      })
      .nullable()
      .describe('The first events that say something else; null: there are none.'),
    rest: z.object({ a: rest, b: rest }),
  })
  .meta({ id: 'RunDiff' });
export type RunDiff = z.infer<typeof runDiff>;
export type DiffRest = Omit<z.infer<typeof rest>, 'status'>;

const answer = z.object({ usage, cost: answerCost.optional() });
const ended = z.object({ usage });

/** Adds up what the events of a run say of it. */
export class RestCount {
  #counted = { events: 0, turns: 0, calls: 0, usage: NO_USAGE };
  /** Null: a price is not known. */
  #nanos: bigint | null = 0n;

  add({ kind, data }: RunEvent): void {
    const { events, turns, calls, usage: used } = this.#counted;
    const answered = kind === 'model.responded' ? answer.safeParse(data).data : undefined;
    const below = kind === 'child.ended' ? ended.safeParse(data).data : undefined;
    this.#counted = {
      events: events + 1,
      turns: turns + (kind === 'model.responded' ? 1 : 0),
      calls: calls + (kind === 'call.finished' ? 1 : 0),
      usage: addUsage(used, answered?.usage ?? below?.usage ?? NO_USAGE),
    };
    if (answered === undefined) return;
    const usd = answered.cost?.usd ?? null;
    this.#nanos = this.#nanos === null || usd === null ? null : this.#nanos + nanosOf(usd);
  }

  get rest(): DiffRest {
    return { ...this.#counted, costUsd: this.#nanos === null ? null : usdOf(this.#nanos) };
  }
}
