import { canonical } from '../json.js';
import { isOver, type RunStatus, type Usage } from '../runs/run.js';
import type { Column, Said, StoredRow } from './copied-table.js';
import type { LoggedFacts } from './logged-facts.js';

const OVER_AT = ({ end }: LoggedFacts): Said => (end === null ? undefined : { near: end.at });

/** A run that begins, or goes on after what it waited for, is ahead of its log, which has its segment a little later. */
function statusOf({ status, waits }: LoggedFacts): Said {
  if (isOver(status)) return status;
  if (status === 'queued') return { oneOf: ['queued', 'running'] satisfies RunStatus[] };
  if (status === 'running') return { oneOf: ['running', 'queued'] satisfies RunStatus[] };
  return waits ? 'paused' : { oneOf: ['queued', 'running', 'paused'] satisfies RunStatus[] };
}

/** What is counted when a segment ends: one that can never go on leaves its last segment out. */
const counted =
  (...of: readonly ((sums: LoggedFacts['sums']) => number)[]) =>
  ({ counted, sums }: LoggedFacts): Said => ({ oneOf: of.flatMap((one) => [one(counted), one(sums)]) });

const OF_CHARGES = 'its charges';
const OF_FAMILY = 'the runs below it';

/** A sum over other rows, which was read beside the row. Older builds kept fewer of them. */
const sumOf = (facts: LoggedFacts, row: StoredRow, name: string, of: string, more = 0): Said => {
  const sum = row[name];
  if (sum === undefined || facts.created?.pinned === undefined) return undefined;
  return { sum: sum === null ? null : Number(sum) + more, of };
};

/** What it cost is summed up with the ends of its segments. */
const costOf = (_: unknown, facts: LoggedFacts, row: StoredRow): Said =>
  isOver(facts.status) ? sumOf(facts, row, 'sum_charged', OF_CHARGES) : undefined;

/** A run below that was removed is in the sum, and cannot be added any more. */
const below =
  (column: string, taken: (usage: Usage) => number = () => 0) =>
  (_: unknown, facts: LoggedFacts, row: StoredRow): Said => {
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

const canonicalOf = (value: readonly string[] | undefined): Said =>
  value === undefined ? undefined : canonical(value);

/** The clocks of two processes that write one run. */
const CLOCK_MS = 5000;
