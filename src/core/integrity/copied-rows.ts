import { nextDayOf } from '../budgets/budget.js';
import { shown } from '../integrity.js';
import { statusAfter } from '../interruptions/interruption.js';
import { canonical, digestOf } from '../json.js';
import { verdictsFor } from '../runs/ending.js';
import { type CopiedTable, type ExpectedCell, isSaid, type StoredRow, saidText } from './copied-table.js';
import type { CallFact, DecisionFact, InterruptionFact, LoggedFacts, StandingFact } from './logged-facts.js';
import { type FalseLoss, LOSS_TABLES } from './loss-rows.js';
import { type FalseMemory, MEMORY_TABLES } from './memory-rows.js';
import { charges, RUN_COLUMNS } from './row-copies.js';

const near = (at: string | null): ExpectedCell => (at === null ? undefined : { near: at });
const OF_THE_LOG = { because: 'it names the log' };
const OF_THE_RUN = { log: (_: unknown, __: LoggedFacts, row: StoredRow) => row['tenant_of_run'] } as const;

/** Rows that are written with their event, and named by an id. */
const BY_ID = { key: ['id'], required: () => true, ahead: () => false } as const;
const OF_A_RUN = { id: { because: 'it names the row' }, run_id: OF_THE_LOG, tenant: OF_THE_RUN } as const;

const runs: CopiedTable<LoggedFacts> = {
  key: [],
  facts: (facts) => new Map([['', facts]]),
  required: () => true,
  ahead: () => false,
  columns: RUN_COLUMNS,
};

/** The definition that a run says it ran. */
const agents: CopiedTable<string> = {
  key: [],
  facts: ({ created }) => new Map(created === null ? [] : [['', created.agentHash]]),
  required: () => true,
  ahead: () => false,
  columns: {
    tenant: { because: 'agents are of no tenant' },
    name: { log: (_, { created }) => created?.agent },
    definition_hash: { log: (hash) => hash },
    version: { log: (_, { created }) => created?.agentVersion },
    definition: { large: true, log: (hash) => hash },
    created_at: { because: 'an engine has seen the definition first then, maybe long before the run' },
  },
};

const interruptions: CopiedTable<InterruptionFact> = {
  ...BY_ID,
  facts: ({ interruptions: known }) => known,
  columns: {
    ...OF_A_RUN,
    agent: { log: ({ asked }) => asked.agent },
    segment: { log: ({ segment }, facts) => ({ oneOf: range(Math.min(segment + 1, facts.segment), facts.segment) }) },
    kind: { log: ({ asked }) => asked.kind },
    status: { log: ({ decided }) => (decided === null ? 'pending' : statusAfter(decided.verdict)) },
    call_id: { log: ({ asked }) => asked.callId },
    tool: { log: ({ asked }) => asked.tool },
    arguments: { large: true, log: ({ call }) => call?.arguments },
    reason: { log: ({ asked }) => asked.reason },
    reason_text: { large: true, log: ({ asked }) => asked.text },
    verdicts: { log: ({ asked }) => canonical(verdictsFor(asked.reason)) },
    digest: { log: ({ asked }) => asked.digest },
    required_approvals: { log: ({ asked }) => asked.requiredApprovals ?? 1 },
    separate_requester: { log: ({ asked }) => asked.separateRequester ?? { oneOf: [false, null] } },
    tool_version: { log: ({ call }) => (call === undefined ? undefined : { oneOf: [call.toolVersion, ''] }) },
    capabilities: {
      large: true,
      log: ({ call }) => (call === undefined ? undefined : { oneOf: [call.capabilities, digestOf([])] }),
    },
    requested_at: { log: ({ at }) => near(at) },
    expires_at: { log: expiryOf },
    settled_at: { log: ({ decided }) => (decided === null ? null : near(decided.at)) },
    wait: { log: ({ asked }, _, row) => waitOf(asked.wait, row['wait'] ?? null) },
    event_name: { log: ({ asked: { wait } }) => (wait?.kind === 'event' ? nameOf(wait.name, wait.key) : null) },
    // What a fork took over was decided elsewhere, and counts there.
    origin_run_id: { log: ({ at }) => (at === null ? { not: null } : null) },
  },
};

const range = (from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from) + 1 }, (_, index) => from + index);

const nameOf = (name: string, key: string | null): string => (key === null ? name : `${name} ${key}`);

function expiryOf({ asked: { expiresInMs, wait }, at }: InterruptionFact): ExpectedCell {
  if (at === null) return undefined;
  if (wait?.kind === 'budget' && expiresInMs === null) return nextDay(wait);
  if (wait?.kind !== 'timer') return expiresInMs === null ? null : near(after(at, expiresInMs));
  if (wait.until !== null) return near(wait.until);
  return undefined;
}

/** A run that waits for a budget of no day, and never expires, has no time. */
function nextDay(budget: Parameters<typeof nextDayOf>[0]): ExpectedCell {
  const at = nextDayOf(budget);
  return at === null ? null : near(at);
}

const after = (at: string, ms: number): string => new Date(Date.parse(at) + ms).toISOString();

/** Which of the waits of its call it is, the log does not say. */
function waitOf(wait: InterruptionFact['asked']['wait'], stored: StoredRow[string]): ExpectedCell {
  if (wait === undefined) return null;
  const ordinal = /"ordinal":([1-9]\d*)/.exec(String(stored))?.[1];
  return canonical({ ordinal: Number(ordinal ?? 1), spec: wait });
}

const decisions: CopiedTable<DecisionFact> = {
  ...BY_ID,
  facts: ({ decisions: known }) => known,
  columns: {
    id: { because: 'it names the row' },
    interruption_id: { log: ({ interruption }) => interruption },
    run_id: { log: (_, __, row) => row['run_of_row'] },
    tenant: OF_THE_RUN,
    verdict: { log: ({ verdict }) => verdict },
    actor: { log: ({ actor }) => actor },
    message: { large: true, log: ({ message }) => message },
    value: { large: true, log: ({ value }) => value },
    decided_at: { log: ({ at }) => near(at) },
    vote: { log: ({ vote }) => vote },
    edit: { large: true, log: ({ edit }) => edit },
    always: { large: true, log: ({ always }) => always },
  },
};

const standing: CopiedTable<StandingFact> = {
  ...BY_ID,
  facts: ({ standing: known }) => known,
  columns: {
    ...OF_A_RUN,
    interruption_id: { log: ({ made }) => made.interruption },
    agent: { log: ({ made }) => made.agent },
    tool: { log: ({ made }) => made.tool },
    tool_version: { log: ({ made }) => made.toolVersion },
    scope: { log: ({ made }) => canonical(made.scope) },
    exact: { log: ({ made }) => made.exact },
    actor: { log: ({ made }) => made.actor },
    made_at: { log: ({ at }) => near(at) },
    revoked_at: { log: ({ revoked }) => (revoked === null ? null : near(revoked.at)) },
    revoked_by: { log: ({ revoked }) => revoked?.actor ?? null },
  },
};

/** A call that ends with its run, or that a fork took over in the middle of its work, ends without its row. */
function outcomeOf({ outcomes }: CallFact, facts: LoggedFacts): ExpectedCell {
  if (outcomes !== null) return { oneOf: [...outcomes, null] };
  // What a fork took over in the middle of its work may have ended there.
  return facts.isAtRest && facts.forked === null ? null : undefined;
}

/** Whether an execution may have done what the log does not have yet. */
export const isAtWork = ({ end, isAtRest }: LoggedFacts): boolean => end === null && !isAtRest;

const HOLDER = { because: 'which execution on which worker holds the call changes when one is lost' };

/**
 * An execution that dies leaves rows of calls that it could not log. Where a later one does not go on with these calls, the log never
 * knows them: the segment was rebuilt, or the run was ended from outside. An unsafe call is logged before it begins.
 */
export const isCutOff = ({ end, rebuilt }: LoggedFacts): boolean =>
  end !== null && (rebuilt.length > 0 || end.kind !== 'run.completed');

const calls: CopiedTable<CallFact> = {
  key: ['call_id'],
  facts: ({ calls: known }) => known,
  // A call that never ran has none, nor has one that an agent works on as a tool.
  required: ({ ran }) => ran,
  ahead: (facts, row) => isAtWork(facts) || (isCutOff(facts) && row['effect'] !== 'unsafe'),
  columns: {
    run_id: OF_THE_LOG,
    call_id: { because: 'it names the row' },
    tenant: OF_THE_RUN,
    tool: { log: ({ tool }) => tool },
    tool_version: { log: ({ toolVersion }) => toolVersion },
    effect: { log: ({ effect }) => effect },
    digest: { log: ({ digest }) => digest },
    execution: HOLDER,
    worker: HOLDER,
    epoch: HOLDER,
    outcome: { large: true, log: outcomeOf },
    started_at: { because: 'no event has the moment in which the row was written' },
    finished_at: { because: 'the event of the outcome is written later, with others' },
    waits: { because: 'how often the call has waited: its interruptions say it' },
    waiting: { because: 'what the call waits for: its interruption says it, with the digest of the memo' },
    resumed: { because: 'the decision under which it went on: its row says it; the log has the digest of the memo' },
    origin_run_id: { log: (_, { forked }) => (forked === null ? null : undefined) },
    approved_in: { log: (_, { forked }) => (forked === null ? null : undefined) },
  },
};

const pins: CopiedTable<string> = {
  key: ['server'],
  facts: ({ lists }) => lists,
  required: () => true,
  ahead: ({ end }) => end === null,
  columns: {
    run_id: OF_THE_LOG,
    server: { because: 'it names the row' },
    tenant: OF_THE_RUN,
    digest: { log: (digest) => digest },
    segment: { because: 'the event of the list is written with others of the segment' },
    created_at: { because: 'the event of the list is written later, with others' },
  },
};

/** The state that the last segment ended with, under the number of the one that goes on from it. */
const snapshots: CopiedTable<string> = {
  key: ['segment'],
  facts: ({ segment, keptState }) => new Map(keptState === null ? [] : [[String(segment), keptState]]),
  required: () => false,
  ahead: ({ keptState }) => keptState === null,
  columns: {
    run_id: OF_THE_LOG,
    segment: { because: 'it names the row' },
    tenant: OF_THE_RUN,
    sdk: { because: 'how the state is kept, which its digest covers' },
    digest: { log: (digest) => digest },
    state: { large: true, log: (digest) => digest },
    created_at: { because: 'a state that was made again from the log is written later' },
  },
};

/** The tool lists that it was given: the log has their digests. */
const lists: CopiedTable<string> = {
  key: ['digest'],
  facts: ({ lists: known }) => new Map([...known.values()].map((digest) => [digest, digest])),
  required: () => true,
  ahead: ({ end }) => end === null,
  columns: {
    tenant: OF_THE_RUN,
    digest: { because: 'it names the row' },
    definitions: { large: true, log: (digest) => digest },
    created_at: { because: 'another run may have been given the list before' },
  },
};

/** Every table whose rows say again what a log says. */
export const COPIES = {
  ...{ runs, agents, interruptions, decisions, standing_decisions: standing, calls, charges },
  ...{ mcp_pins: pins, mcp_lists: lists, snapshots },
} as const;
export type CopyName = keyof typeof COPIES;
export const COPY_NAMES = Object.keys(COPIES) as readonly CopyName[];

/** Every table whose rows `verify` compares with logs. */
export const COMPARED_TABLES = [...COPY_NAMES, ...MEMORY_TABLES, ...LOSS_TABLES] as const;

/** The rows of a run that say again what its log says. */
export type StoredCopies = { readonly [name in CopyName]: readonly StoredRow[] };

/** No rows, for those who compare some of them. */
export const NO_COPIES: StoredCopies = {
  ...{ runs: [], agents: [], interruptions: [], decisions: [], standing_decisions: [], calls: [], charges: [] },
  ...{ mcp_pins: [], mcp_lists: [], snapshots: [] },
};

/** A row that does not say what the log says. */
export interface FalseRow {
  readonly table: CopyName;
  readonly row: string;
  /** Null: the row as a whole. */
  readonly column: string | null;
  readonly what: string;
}

/** What `verify` finds beside the log. */
export type FoundRow = FalseRow | FalseMemory | FalseLoss;

/** Which rows do not say what the log says, at most so many. `only`: no other columns are compared, and no row of another table is missed. */
export function falseRows(
  facts: LoggedFacts,
  runId: string,
  stored: StoredCopies,
  limit: number,
  only: { readonly [name in CopyName]?: readonly string[] } | null = null,
): FalseRow[] {
  const found: FalseRow[] = [];
  for (const name of COPY_NAMES) {
    const whole = COPIES[name] as CopiedTable<unknown>;
    const columns = only?.[name]?.map((column) => [column, whole.columns[column]] as const);
    const table = columns === undefined ? whole : { ...whole, columns: Object.fromEntries(columns) as never };
    const asked = only === null || columns !== undefined ? table : { ...table, required: () => false };
    for (const one of differences(name, asked, facts, runId, stored[name])) {
      if (found.length >= limit) return found;
      found.push(one);
    }
  }
  return found;
}

function* differences(
  table: CopyName,
  { key, facts: factsOf, places, required, ahead, columns }: CopiedTable<unknown>,
  facts: LoggedFacts,
  runId: string,
  rows: readonly StoredRow[],
): Generator<FalseRow> {
  const known = factsOf(facts);
  const seen = new Set<string>();
  const nameOf = (id: string) => (id === '' ? runId : id);
  const placed = places?.(rows, facts);
  for (const row of rows) {
    const id = key.map((column) => String(row[column])).join(' ');
    const place = placed === undefined ? id : (placed.get(row) ?? '');
    seen.add(place);
    const fact = placed !== undefined && place === '' ? undefined : known.get(place);
    if (fact === undefined) {
      if (!ahead(facts, row)) yield { table, row: nameOf(id), column: null, what: 'the log knows no such row' };
      continue;
    }
    for (const [column, rule] of Object.entries(columns)) {
      if ('because' in rule) continue;
      const said = rule.log(fact, facts, row);
      const cell = row[column] ?? null;
      if (!isSaid(cell, said))
        yield { table, row: nameOf(id), column, what: `it is ${shown(cell)}, and ${saidText(said)}` };
    }
  }
  for (const [id, fact] of known)
    if (!seen.has(id) && required(fact)) yield { table, row: nameOf(id), column: null, what: 'the row is missing' };
}
