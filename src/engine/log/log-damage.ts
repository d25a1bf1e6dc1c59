import type { Caller } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { leafOf } from '../../core/evidence/log-entry.js';
import { dataHash, eventHash } from '../../core/log/chain.js';
import { LogCheck, type LoggedEvent } from '../../core/log/check-log.js';
import { EVENT_DATA, type EventDraft } from '../../core/log/event.js';
import type { Broken } from '../../core/log/invariant.js';
import { type LostCall, type LostEvent, listed, type RepairReport } from '../../core/log/repair.js';
import { type ForkPlan, planFork } from '../../core/replay/fork.js';
import { eventsAt } from '../../storage/evidence/log-check.js';
import { entriesOfRun } from '../../storage/evidence/log-entries.js';
import { type ClaimRow, readClaim } from '../../storage/evidence/log-pages.js';
import { readKeyedEvents } from '../../storage/log/keyed-events.js';
import { callsBeside, countOutside, decisionsBeside, repairOf } from '../../storage/retention/lost-rows.js';
import type { RunRow } from '../../storage/runs/run-row.js';
import { assertNotErased, findRun } from '../../storage/runs/runs.js';
import type { EngineContext } from '../engine-context.js';
import { logPages } from '../evidence/log-reading.js';
import { withAnchor } from '../evidence/verify-anchor.js';
import { verifyRun } from '../evidence/verify-runs.js';

/**
 * What entries of the log over all runs say against a log whose chain is whole up to an event: the first event that is missing or
 * another one, and the last before the first that is another one. An entry that was changed itself says nothing.
 */
async function againstEntries(
  context: EngineContext,
  runId: string,
  chained: number,
): Promise<{ readonly broken: Broken | null; readonly valid: number }> {
  const { knex } = context.stepContext;
  const entries = (await entriesOfRun(knex, runId)).filter((entry) => entry.leaf === leafOf(entry));
  const at = new Map((await eventsAt(knex, entries)).map((event) => [event.seq, event]));
  let before = 0;
  for (const { index, seq, hash, stateHash } of entries) {
    const event = at.get(seq);
    const other = event !== undefined && (event.hash !== hash || event.stateHash !== stateHash);
    const what = `entry ${index} of the log of all runs commits to ${other ? 'another event here' : 'this event, which is missing'}`;
    const broken: Broken = { seq, invariant: 'log_entry', what };
    if (other && seq <= chained) return { broken, valid: before };
    if (event === undefined && seq > chained) return { broken, valid: chained };
    before = seq;
  }
  return { broken: null, valid: chained };
}

const READABLE_MAX = 100;
const DECISIONS_MAX = 1000;

/** What is broken of a log, and what is left of it. */
export interface Damage {
  readonly run: RunRow;
  readonly report: RepairReport;
  /** All of them, also those that the report leaves out. */
  readonly calls: readonly LostCall[];
}

/**
 * Finds the last event up to which a log is whole, by its chain and by the entries of the log over all runs, and what came after
 * it. Throws `run_unknown`, `run_erased`, `log_whole`, and the reason of the signal when it fires.
 */
export async function damageOf(
  context: EngineContext,
  id: string,
  caller: Caller,
  signal?: AbortSignal,
): Promise<Damage> {
  const { knex } = context.stepContext;
  const run = await findRun(knex, caller.tenant, id);
  const claim = run && (await readClaim(knex, caller.tenant, id));
  if (run === undefined || claim === undefined)
    throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
  assertNotErased(run);
  const own = await verifyRun(context, id, caller, {}, signal);
  const chain = await goThrough(context, claim, signal);
  const entries = await againstEntries(context, id, chain.valid);
  const { valid } = entries;
  const broken = valid < chain.valid ? entries.broken : (chain.broken ?? own.broken ?? entries.broken);
  if (broken === null) throw await nothingBroken(context, id, own);
  const plan = planFork(await readKeyedEvents(knex, id, valid, signal), valid, []);
  const after = await readLost(context, claim, valid, signal);
  const calls = await lostCalls(context, id, plan, after);
  const known = new Set(plan.events.flatMap((one) => (one.kind === 'interruption.decided' ? [one.data.id] : [])));
  const report: RepairReport = {
    ...{ runId: id, status: run.status, broken, valid },
    lost: {
      events: Math.max((claim.seq ?? 0) - valid, await countOutside(knex, id, valid)),
      ...{ readable: [...after.events], calls: listed(calls) },
      decisions: await decisionsBeside(knex, id, known, DECISIONS_MAX),
    },
    repairedBy: await repairOf(knex, id),
  };
  return { run, report, calls };
}

async function nothingBroken(
  context: EngineContext,
  id: string,
  own: Awaited<ReturnType<typeof verifyRun>>,
): Promise<HoldfastError> {
  const { broken } = await withAnchor(context, own);
  if (broken === null) return new HoldfastError('log_whole', `The log of run ${id} verifies.`);
  return new HoldfastError(
    'log_whole',
    `The log of run ${id} is whole by itself; what is broken is the log over all runs: ${broken.what}`,
    { hint: 'No new run mends that log: docs/evidence/verify.md says what each finding means.' },
  );
}

interface Chain {
  readonly valid: number;
  readonly broken: Broken | null;
}

/** How far the chain is whole by itself. Rows that stand before the first event are none of it. */
async function goThrough(
  { stepContext }: EngineContext,
  { id, tenant, key }: ClaimRow,
  signal?: AbortSignal,
): Promise<Chain> {
  const check = LogCheck.fromStart(id, tenant, key);
  for await (const page of logPages(stepContext.knex, id, 0, signal)) {
    for (const event of page) {
      const broken = check.next(event);
      if (broken !== null) return { valid: check.head.seq, broken };
    }
  }
  return { valid: check.head.seq, broken: null };
}

interface After {
  readonly events: readonly LostEvent[];
  /** Calls that events say to be begun which still fit their own hashes. */
  readonly begun: ReadonlyMap<string, Omit<LostCall, 'unsafe'>>;
}

async function readLost(
  { stepContext }: EngineContext,
  { id, key }: ClaimRow,
  valid: number,
  signal?: AbortSignal,
): Promise<After> {
  const events: LostEvent[] = [];
  const begun = new Map<string, Omit<LostCall, 'unsafe'>>();
  for await (const page of logPages(stepContext.knex, id, valid, signal)) {
    for (const event of page) {
      const whole = fitsItself(event, key);
      const { seq, kind, at } = event;
      if (events.length < READABLE_MAX) events.push({ seq, kind, at, whole });
      if (whole) noteCall(begun, event);
    }
  }
  return { events, begun };
}

function fitsItself(event: LoggedEvent, key: string | null): boolean {
  if (event.hash !== eventHash(event) || key === null || typeof event.dataText !== 'string') return false;
  return dataHash(key, event.seq, event.dataText) === event.dataHash;
}

function noteCall(begun: Map<string, Omit<LostCall, 'unsafe'>>, { kind, data }: LoggedEvent): void {
  const started = kind === 'call.started' ? EVENT_DATA[kind].safeParse(data).data : undefined;
  if (started !== undefined) begun.set(started.callId, { ...started, outcome: null });
  const finished = kind === 'call.finished' ? EVENT_DATA[kind].safeParse(data).data : undefined;
  const call = begun.get(finished?.callId ?? '');
  if (finished !== undefined && call !== undefined) begun.set(call.callId, { ...call, outcome: finished.outcome.type });
}

/** What was begun and the repaired run does not know: by the rows of the run, and by what is left of its log. */
async function lostCalls(
  context: EngineContext,
  id: string,
  { begun, events }: ForkPlan,
  after: After,
): Promise<LostCall[]> {
  const known = new Set([...begun.keys(), ...events.flatMap(endedCall)]);
  const rows = await callsBeside(context.stepContext.knex, id, known);
  const kept = new Set(rows.map(({ callId }) => callId));
  const logged = [...after.begun.values()].filter(({ callId }) => !known.has(callId) && !kept.has(callId));
  return [...rows, ...logged].map((call) => ({
    ...call,
    unsafe: call.effect === 'unsafe' && call.outcome !== 'refused',
  }));
}

const endedCall = (one: EventDraft): string[] => (one.kind === 'call.finished' ? [one.data.callId] : []);
