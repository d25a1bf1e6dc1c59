import { HoldfastError } from '../../core/errors/errors.js';
import { leafOf } from '../../core/evidence/log-entry.js';
import type { AnchoredReport, AnchorReport } from '../../core/evidence/log-view.js';
import { inclusionRecipe, inOneRecipe, verifyInclusion } from '../../core/evidence/merkle.js';
import { falseLosses, type StoredLosses } from '../../core/integrity/loss-rows.js';
import { TERMINAL_KINDS } from '../../core/log/event.js';
import type { Broken } from '../../core/log/invariant.js';
import { rowsBroken, type VerifyReport } from '../../core/log/verify-log.js';
import { type CommittedEvent, eventsAt, storedLosses } from '../../storage/evidence/log-check.js';
import {
  type EntriesOfRun,
  entriesOfRuns,
  type IndexedAny,
  type IndexedEntry,
  type IndexedLoss,
} from '../../storage/evidence/log-entries.js';
import { logSize, readTree } from '../../storage/evidence/log-rows.js';
import { readHeads } from '../../storage/log/read-events.js';
import { repairOf } from '../../storage/retention/lost-rows.js';
import type { EngineContext } from '../engine-context.js';
import type { Newest } from './anchor.js';

/** Adds to what a run's own log says what the log over all runs says of it. Throws `run_unknown` when the run was removed meanwhile. */
export async function withAnchor(context: EngineContext, report: VerifyReport): Promise<AnchoredReport> {
  const [anchored] = await withAnchors(context, [report]);
  if (anchored === undefined) throw new HoldfastError('run_unknown', `The run ${report.runId} was removed meanwhile.`);
  return anchored;
}

/** The same of many runs, in as many statements as of one. Those that were removed meanwhile are left out. */
export async function withAnchors(context: EngineContext, reports: readonly VerifyReport[]): Promise<AnchoredReport[]> {
  const { knex } = context.stepContext;
  const ids = reports.map(({ runId }) => runId);
  const heads = await readHeads(knex, ids);
  const seen = await readSeen(context, ids);
  const anchored: AnchoredReport[] = [];
  for (const report of reports) {
    const head = heads.get(report.runId) ?? UNKNOWN;
    const { anchor, broken } = verifyAnchor(context, seen, report.runId, head);
    // What is wrong with the log itself says more than a row beside it.
    const chain = report.broken?.invariant === 'copied_rows' ? null : report.broken;
    const lost = report.from === 1 ? falseLosses(seen.losses.get(report.runId) ?? NO_LOSSES) : [];
    const rows = [...report.rows, ...lost].slice(0, ROWS_MAX);
    const beside = whyUnexplained(seen, report) ?? whyForgotten(seen, report) ?? rowsBroken(report.events, lost);
    const found = chain ?? broken ?? report.broken ?? beside;
    const repairedBy = found === null ? null : await repairOf(knex, report.runId);
    anchored.push({ ...report, ok: found === null, broken: found, rows, anchor, repairedBy, artifacts: null });
  }
  const broken = anchored.flatMap(({ ok, runId }) => (ok ? [] : [runId]));
  // Of a run that was removed after its log was read, the events are missing that entries commit to.
  const there = new Set(broken.length === 0 ? [] : await knex('holdfast.runs').whereIn('id', broken).pluck('id'));
  return anchored.filter(({ ok, runId }) => ok || there.has(runId));
}

const UNKNOWN = { seq: 0, moved: true };
const NO_LOSSES: StoredLosses = { runId: '', hasKey: false, entries: [], erased: null, removed: null };
const ROWS_MAX = 20;

/** What the log over all runs says of some of them, and what its newest checkpoint says of it. */
interface Seen {
  readonly newest: Newest | null;
  /** How many entries the log has. */
  readonly size: number;
  readonly entries: ReadonlyMap<string, EntriesOfRun>;
  readonly losses: ReadonlyMap<string, StoredLosses>;
  readonly eventOf: (entry: IndexedEntry | IndexedLoss) => CommittedEvent | undefined;
  /** Ways up the tree that was signed, by the index of their entry. */
  readonly proofs: ReadonlyMap<number, readonly string[]>;
}

async function readSeen(context: EngineContext, ids: readonly string[]): Promise<Seen> {
  const { knex } = context.stepContext;
  const entries = await entriesOfRuns(knex, ids);
  const newest = await context.anchor.newest();
  const size = newest === null ? 0 : await logSize(knex);
  const events = new Map(
    (
      await eventsAt(
        knex,
        [...entries.values()].flatMap((of) => [...of.entries, ...of.losses]),
      )
    ).map((event) => [`${event.runId}:${event.seq}`, event]),
  );
  const signed = [...entries.values()].flatMap((of) => [
    ...of.entries.filter((entry) => entry === signedOf(of.entries, newest)),
    ...[...of.losses, ...of.forgotten].filter(({ index }) => index < (newest?.checkpoint.size ?? 0)),
  ]);
  const proofs = await proofsOf(context, [...new Set(signed.map(({ index }) => index))], newest?.checkpoint.size ?? 0);
  const losses = new Map((await storedLosses(knex, ids)).map((one) => [one.runId, one]));
  return { newest, size, entries, losses, eventOf: ({ runId, seq }) => events.get(`${runId}:${seq}`), proofs };
}

const signedOf = (entries: readonly IndexedEntry[], newest: Newest | null): IndexedEntry | undefined =>
  entries.findLast(({ index }) => index < (newest?.checkpoint.size ?? 0));

/** Where a part of the tree is missing, entry by entry: those that are not below it have their proof. */
async function proofsOf(
  { stepContext }: EngineContext,
  indexes: readonly number[],
  size: number,
): Promise<ReadonlyMap<number, readonly string[]>> {
  const all = inOneRecipe(indexes.map((index) => inclusionRecipe(index, size)));
  const proofs = await readTree(stepContext.knex, all).catch(() => null);
  if (proofs !== null) return new Map(indexes.map((index, place) => [index, proofs[place] ?? []]));
  const each = new Map<number, readonly string[]>();
  for (const index of indexes)
    each.set(index, await readTree(stepContext.knex, inclusionRecipe(index, size)).catch(() => []));
  return each;
}

interface Anchored {
  readonly anchor: AnchorReport;
  readonly broken: Broken | null;
}

/** Compares the log of a run with what the log over all runs says of it, and says how far a checkpoint commits to it. */
function verifyAnchor(
  context: EngineContext,
  seen: Seen,
  runId: string,
  { seq: events, moved }: { readonly seq: number; readonly moved: boolean },
): Anchored {
  const { newest } = seen;
  const entries = seen.entries.get(runId)?.entries ?? [];
  const signed = signedOf(entries, newest);
  let broken: Broken | null = null;
  for (const [place, entry] of entries.entries()) {
    const goesOn = entries[place + 1] !== undefined || events > entry.seq;
    broken ??= whyBroken(entry, entries[place - 1], seen.eventOf(entry), goesOn);
  }
  if (newest !== null) broken ??= whyCut(seen.size, events, newest);
  if (newest !== null && signed !== undefined) broken ??= whyNotIncluded(seen, signed, newest);
  if (!moved && !entries.some(({ seq }) => seq === events))
    broken ??= {
      seq: events,
      invariant: 'log_entry',
      what: 'this event was entered into the log of all runs, which has no such entry',
    };
  const entered = entries.at(-1)?.seq ?? 0;
  const seq = broken === null ? (signed?.seq ?? 0) : 0;
  const why = seq >= events ? null : whyNot(context, { entered, events, signed: newest !== null });
  const by = seq === 0 ? null : newest;
  return {
    anchor: {
      ...{ seq, size: by?.checkpoint.size ?? null, key: by?.checkpoint.signedBy.text ?? null },
      ...{ outside: by?.outside ?? false, entered, why },
    },
    broken,
  };
}

function whyBroken(
  entry: IndexedEntry,
  before: IndexedEntry | undefined,
  event: CommittedEvent | undefined,
  goesOn: boolean,
): Broken | null {
  const { index, seq } = entry;
  const broken = (what: string): Broken => ({
    seq,
    invariant: 'log_entry',
    what: `entry ${index} of the log of all runs ${what}`,
  });
  if (entry.leaf !== leafOf(entry)) return broken('was changed');
  if (entry.previous !== (before?.leaf ?? null) || (before !== undefined && before.index >= index))
    return broken('does not follow from the entry before of this run');
  if (event === undefined) return broken('commits to this event, which is missing');
  if (event.hash !== entry.hash || event.stateHash !== entry.stateHash) return broken('commits to another event here');
  if (entry.complete !== TERMINAL_KINDS.has(event.kind))
    return broken('says something else of whether the run is over');
  return entry.complete && goesOn ? broken('says that the run was over here') : null;
}

/** Payloads may be gone only where an entry says who erased them, and the signed tree has that entry as far as it goes. */
function whyUnexplained(seen: Seen, { runId, events, payloads }: VerifyReport): Broken | null {
  if (payloads !== 'erased') return null;
  const because = (why: string): Broken => ({
    ...{ seq: events, invariant: 'log_entry' },
    what: `the payloads of this run cannot be read any more, and ${why}`,
  });
  const entry = seen.entries.get(runId)?.losses.find(({ loss }) => loss === 'erased');
  if (entry === undefined) return because('no entry of the log of all runs says who erased them');
  const { index, leaf, hash } = entry;
  if (leaf !== leafOf(entry)) return because(`entry ${index} of the log of all runs, which says who, was changed`);
  if (seen.eventOf(entry)?.hash !== hash) return because(`entry ${index} of the log of all runs is of another log`);
  return seen.newest === null || index >= seen.newest.checkpoint.size ? null : whyNotIncluded(seen, entry, seen.newest);
}

/** An entry that says that a document of memory was removed must be in the signed tree, as far as that goes. */
function whyForgotten(seen: Seen, { runId, events }: VerifyReport): Broken | null {
  for (const entry of seen.entries.get(runId)?.forgotten ?? []) {
    const { index, leaf } = entry;
    const what = `entry ${index} of the log of all runs, which says who removed a document of memory, was changed`;
    if (leaf !== leafOf(entry)) return { seq: events, invariant: 'log_entry', what };
    if (seen.newest === null || index >= seen.newest.checkpoint.size) continue;
    const broken = whyNotIncluded(seen, entry, seen.newest);
    if (broken !== null) return broken;
  }
  return null;
}

function whyCut(entries: number, seq: number, { checkpoint: { size } }: Newest): Broken | null {
  const what = `a checkpoint of ${size} entries was signed, and the log of all runs has ${entries}`;
  return entries < size ? { seq, invariant: 'log_entry', what } : null;
}

function whyNotIncluded({ proofs }: Seen, entry: IndexedAny, { checkpoint }: Newest): Broken | null {
  const { size, root } = checkpoint;
  const { index } = entry;
  const seq = 'document' in entry ? 0 : entry.seq;
  const invariant = 'log_entry' as const;
  return verifyInclusion(proofs.get(index) ?? [], { index, size, leaf: leafOf(entry), root })
    ? null
    : { seq, invariant, what: `entry ${index} is not in the log of all runs as it was signed at ${size} entries` };
}

function whyNot(
  context: EngineContext,
  { entered, events, signed }: { entered: number; events: number; signed: boolean },
): string {
  if (!signed && context.anchor.keys.signing === null)
    return 'no checkpoint is signed, and this server has no key to sign one';
  return entered < events
    ? 'what came last waits for its entry in the log'
    : 'the newest entries wait for a checkpoint';
}
