import { canonical } from '../json.js';
import { nanosOf } from '../money.js';
import { isOver, type RunStatus, type Usage } from '../runs/run.js';
import { type Column, type CopiedTable, type ExpectedCell, isSaid, type StoredRow } from './copied-table.js';
import type { AnswerFact, LoggedFacts } from './logged-facts.js';

const OVER_AT = ({ end }: LoggedFacts): ExpectedCell => (end === null ? undefined : { near: end.at });

/** A run that begins, or goes on after what it waited for, is ahead of its log, which has its segment a little later. */
function statusOf({ status, waits }: LoggedFacts): ExpectedCell {
  if (isOver(status)) return status;
  if (status === 'queued') return { oneOf: ['queued', 'running'] satisfies RunStatus[] };
  if (status === 'running') return { oneOf: ['running', 'queued'] satisfies RunStatus[] };
  return waits ? 'paused' : { oneOf: ['queued', 'running', 'paused'] satisfies RunStatus[] };
}

/** What is counted when a segment ends: one that can never go on leaves its last segment out. */
const counted =
  (...of: readonly ((sums: LoggedFacts['sums']) => number)[]) =>
  ({ counted, sums }: LoggedFacts): ExpectedCell => ({ oneOf: of.flatMap((one) => [one(counted), one(sums)]) });

const OF_CHARGES = 'its charges';
const OF_FAMILY = 'the runs below it';

/** A sum over other rows, which was read beside the row. Older builds kept fewer of them. */
const sumOf = (facts: LoggedFacts, row: StoredRow, name: string, of: string, more = 0): ExpectedCell => {
  const sum = row[name];
  if (sum === undefined || facts.created?.pinned === undefined) return undefined;
  return { sum: sum === null ? null : Number(sum) + more, of };
};

/** What it cost is summed up with the ends of its segments. */
const costOf = (_: unknown, facts: LoggedFacts, row: StoredRow): ExpectedCell =>
  isOver(facts.status) ? sumOf(facts, row, 'sum_charged', OF_CHARGES) : undefined;

/** A run below that was removed is in the sum, and cannot be added any more. */
const below =
  (column: string, taken: (usage: Usage) => number = () => 0) =>
  (_: unknown, facts: LoggedFacts, row: StoredRow): ExpectedCell => {
    if (facts.children.size !== row['sum_below']) return undefined;
    return sumOf(facts, row, `sum_${column}`, OF_FAMILY, taken(facts.taken));
  };

/** `holdfast.runs`, column by column. */
export const RUN_COLUMNS: { readonly [column: string]: Column<LoggedFacts> } = {
  id: { because: 'it names the log' },
  tenant: { because: 'the chain of the log begins with it' },
  parent_run_id: { log: ({ created }) => created?.parent?.runId ?? null },
  parent_call_id: { log: ({ created }) => created?.parent?.callId ?? null },
  ancestors: { log: ({ created }) => (created?.parent === undefined ? '[]' : canonicalOf(created.pinned?.ancestors)) },
  agent: { log: ({ created }) => created?.agent },
  agent_version: { log: ({ created }) => created?.agentVersion },
  agent_hash: { log: ({ created }) => created?.agentHash },
  scaffold: { log: ({ created }) => created?.pinned?.scaffold },
  status: { log: statusOf },
  priority: { log: ({ created }) => created?.pinned?.priority },
  input: { large: true, log: ({ created }) => created?.input },
  grants: { large: true, log: ({ created }) => created?.grants },
  limits: { large: true, log: ({ created }) => created?.limits },
  metadata: { large: true, log: ({ created }) => created?.metadata },
  output: {
    large: true,
    log: ({ end }) => end?.output ?? null,
  },
  error: { log: ({ end }) => end?.error ?? null },
  segment: { log: ({ segment }) => segment },
  // A turn that got no answer counts.
  turns: {
    log: counted(
      ({ turns }) => turns,
      ({ asked }) => asked,
    ),
  },
  input_tokens: { log: counted(({ usage }) => usage.inputTokens) },
  output_tokens: { log: counted(({ usage }) => usage.outputTokens) },
  total_tokens: { log: counted(({ usage }) => usage.totalTokens) },
  cost_nano_usd: { log: costOf },
  active_ms: { log: ({ activeMs }) => ({ atLeast: activeMs - CLOCK_MS }) },
  time_left_ms: { log: ({ created }) => (created?.parent === undefined ? null : created.pinned?.timeLeftMs) },
  child_input_tokens: { log: below('child_input_tokens', ({ inputTokens }) => inputTokens) },
  child_output_tokens: { log: below('child_output_tokens', ({ outputTokens }) => outputTokens) },
  child_total_tokens: { log: below('child_total_tokens', ({ totalTokens }) => totalTokens) },
  child_active_ms: { log: below('child_active_ms') },
  child_cost_nano_usd: { log: below('child_cost_nano_usd') },
  segment_started_at: {
    because: 'a worker has begun the segment, and its event is written with the first that follows',
  },
  cancel_requested_at: { log: ({ cancel }) => (cancel === null ? null : { near: cancel.at }) },
  cancel_reason: { log: ({ cancel }) => cancel?.reason ?? null },
  forked_from_run_id: { log: ({ forked }) => forked?.runId ?? null },
  forked_from_seq: { log: ({ forked }) => forked?.seq ?? null },
  recorded_seq: {
    log: ({ forked, rebuilt }) => rebuilt.at(-1) ?? (forked === null ? null : forked.copied + 2),
  },
  rebuilt_segment: { log: ({ rebuiltSegment }) => rebuiltSegment },
  model: { log: ({ forked }) => forked?.model ?? null },
  stream: { log: ({ created }) => created?.pinned?.stream },
  created_at: { log: ({ createdAt }) => ({ near: createdAt }) },
  updated_at: { log: OVER_AT },
  completed_at: { log: (facts) => OVER_AT(facts) ?? null },
  session_id: { log: ({ session }) => session?.sessionId ?? null },
  history_items: { log: ({ session }) => session?.items ?? 0 },
  erased_at: { log: () => null },
  task_id: { log: ({ created }) => created?.pinned?.taskId },
};

const canonicalOf = (value: readonly string[] | undefined): ExpectedCell =>
  value === undefined ? undefined : canonical(value);

/** The clocks of two processes that write one run. */
const CLOCK_MS = 5000;

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
  (said: (answer: Answer, row: StoredRow) => ExpectedCell) =>
  ({ answer }: ChargeFact, _: LoggedFacts, row: StoredRow): ExpectedCell =>
    isPriced(answer) ? said(answer, row) : undefined;

/** A provider that says neither says nothing. */
const tokens =
  (of: 'inputTokens' | 'outputTokens') =>
  ({ usage, cost }: Answer, row: StoredRow): ExpectedCell => {
    const isSilent = usage.inputTokens + usage.outputTokens === 0;
    return isSilent || (cost.usd === null && row['state'] === 'assumed') ? null : usage[of];
  };

/** Where budgets apply, and no one said what was used, the estimate stands. */
const cost = ({ cost: { usd } }: Answer, row: StoredRow): ExpectedCell => {
  if (usd !== null) return Number(nanosOf(usd));
  return row['state'] === 'assumed' ? { not: null } : null;
};

/** As the log calls who answered, and as prices and charges do. */
const modelOf = ({ model, route }: Answer): ExpectedCell => {
  const name = route?.model ?? model;
  return name === 'default' ? undefined : { oneOf: [name, `object/${name}`, `openai/${name}`] };
};

/** It was charged while the run went on; that of an answer before the answer was in the log. */
const chargedAt = ({ answer }: ChargeFact, { createdAt, end }: LoggedFacts): ExpectedCell =>
  createdAt === '' ? undefined : { from: createdAt, to: answer?.at ?? end?.at ?? null };

const dayOf = (_: unknown, __: unknown, row: StoredRow): ExpectedCell => {
  const at = Date.parse(String(row['charged_at']));
  return Number.isNaN(at) ? undefined : new Date(at).toISOString().slice(0, 10);
};

const SUMS = { because: 'the log has the tokens of the input and of the output alone' };
const GIVEN_BACK = { because: 'what is given back to budgets, which no one is shown' };
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
  ahead: ({ end, isAtRest }) => (end === null ? !isAtRest : end.kind !== 'run.completed'),
  columns,
};
