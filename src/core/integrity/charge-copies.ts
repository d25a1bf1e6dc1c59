import { nanosOf } from '../money.js';
import { type Column, type CopiedTable, isSaid, type Said, type StoredRow } from './copied-table.js';
import type { AnswerFact, LoggedFacts } from './logged-facts.js';

/** A charge is of an answer in the log, or (`answer` null) of an attempt that the log has no answer of. */
export interface ChargeFact {
  readonly answer: AnswerFact | null;
}

const OTHER: ChargeFact = { answer: null };
const OTHERS = 'others';

type Answer = AnswerFact & { readonly cost: NonNullable<AnswerFact['cost']> };

/** Logs of older builds do not say what an answer cost. */
const isPriced = (answer: AnswerFact | null): answer is Answer => answer?.cost !== undefined;

const ofAnswer =
  (said: (answer: Answer, row: StoredRow) => Said) =>
  ({ answer }: ChargeFact, _: LoggedFacts, row: StoredRow): Said =>
    isPriced(answer) ? said(answer, row) : undefined;

/** A provider that says neither says nothing. */
const tokens =
  (of: 'inputTokens' | 'outputTokens') =>
  ({ usage, cost }: Answer, row: StoredRow): Said => {
    const isSilent = usage.inputTokens + usage.outputTokens === 0;
    return isSilent || (cost.usd === null && row['state'] === 'assumed') ? null : usage[of];
  };

/** Where budgets apply, and nobody said what was used, the estimate stands. */
const cost = ({ cost: { usd } }: Answer, row: StoredRow): Said => {
  if (usd !== null) return Number(nanosOf(usd));
  return row['state'] === 'assumed' ? { not: null } : null;
};

/** As the log calls who answered, and as prices and charges do. */
const modelOf = ({ model, route }: Answer): Said => {
  const name = route?.model ?? model;
  return name === 'default' ? undefined : { oneOf: [name, `object/${name}`, `openai/${name}`] };
};

/** It was charged while the run went on; that of an answer before the answer was in the log. */
const chargedAt = ({ answer }: ChargeFact, { createdAt, end }: LoggedFacts): Said =>
  createdAt === '' ? undefined : { from: createdAt, to: answer?.at ?? end?.at ?? null };

const dayOf = (_: unknown, __: unknown, row: StoredRow): Said => {
  const at = Date.parse(String(row['charged_at']));
  return Number.isNaN(at) ? undefined : new Date(at).toISOString().slice(0, 10);
};

const SUMS = { because: 'the log has the tokens of the input and of the output alone' };
const GIVEN_BACK = { because: 'what is given back to budgets, which nobody is shown' };
const WHICH = { because: 'the log does not say which attempt gave an answer' };

const columns: { readonly [column: string]: Column<ChargeFact> } = {
  run_id: { because: 'it names the log' },
  turn: { because: 'it names the row' },
  execution: WHICH,
  attempt: WHICH,
  tenant: { log: (_, __, row) => row['tenant_of_run'] },
  agent: { log: (_, { created }) => created?.agent },
  model: { log: ofAnswer(modelOf) },
  input_tokens: { log: ofAnswer(tokens('inputTokens')) },
  cached_input_tokens: SUMS,
  cache_write_tokens: SUMS,
  output_tokens: { log: ofAnswer(tokens('outputTokens')) },
  reasoning_tokens: SUMS,
  nano_usd: { log: ofAnswer(cost) },
  price_source: { log: ofAnswer(({ cost: { price } }) => price?.source ?? null) },
  price_version: { log: ofAnswer(({ cost: { price } }) => price?.version ?? null) },
  state: { log: ofAnswer(({ cost: { usd } }) => (usd === null ? { oneOf: ['unpriced', 'assumed'] } : 'settled')) },
  day: { log: dayOf },
  charged_at: { log: chargedAt },
  reserved_nano_usd: GIVEN_BACK,
  budgets: GIVEN_BACK,
};

/** How many columns of a row are not what the log says of an answer. */
const faults = (answer: AnswerFact, facts: LoggedFacts, row: StoredRow): number =>
  Object.entries(columns).filter(
    ([column, rule]) => 'log' in rule && !isSaid(row[column] ?? null, rule.log({ answer }, facts, row)),
  ).length;

/**
 * The log does not say which attempt gave an answer. Of the charges of a turn the one that is most like the answer is that of it; the
 * others are of attempts that gave none, or that were lost, or of agents that a callback ran.
 */
function placesOf(rows: readonly StoredRow[], facts: LoggedFacts): ReadonlyMap<StoredRow, string> {
  const best = new Map<number, { readonly row: StoredRow; readonly faults: number }>();
  for (const row of rows) {
    const turn = Number(row['turn']);
    const answer = facts.answers.get(turn);
    if (answer === undefined) continue;
    const one = { row, faults: faults(answer, facts, row) };
    if (one.faults < (best.get(turn)?.faults ?? Number.POSITIVE_INFINITY)) best.set(turn, one);
  }
  const places = new Map(rows.map((row) => [row, OTHERS]));
  for (const [turn, { row }] of best) places.set(row, `turn ${turn}`);
  // A turn that the log does not know: whether there may be one, `ahead` says.
  for (const row of rows) if (Number(row['turn']) > facts.sums.asked) places.delete(row);
  return places;
}

/** What model calls cost, against the answers in the log. */
export const charges: CopiedTable<ChargeFact> = {
  key: ['turn', 'execution', 'attempt'],
  facts: ({ answers }) =>
    new Map([
      ...[...answers].map(([turn, answer]): [string, ChargeFact] => [`turn ${turn}`, { answer }]),
      [OTHERS, OTHER],
    ]),
  places: placesOf,
  required: ({ answer }) => isPriced(answer),
  // Who died before the log knew of its request, or waits for the answer.
  ahead: ({ end }) => end?.kind !== 'run.completed',
  columns,
};
