import { TERMINAL_KINDS } from '../core/event.js';
import type { Broken } from '../core/invariant.js';
import { leafOf } from '../core/log-entry.js';
import type { AnchoredReport, AnchorReport } from '../core/log-view.js';
import { inclusionRecipe, verifyInclusion } from '../core/merkle.js';
import type { VerifyReport } from '../core/verify-log.js';
import { eventsAt } from '../storage/log-check.js';
import { entriesOfRun, type IndexedEntry, logSize } from '../storage/log-entries.js';
import { readTree } from '../storage/log-tree.js';
import { repairOf } from '../storage/lost-rows.js';
import { readHead } from '../storage/read-events.js';
import type { Newest } from './anchor.js';
import type { Parts } from './parts.js';

interface Anchored {
  readonly anchor: AnchorReport;
  readonly broken: Broken | null;
}

/** Adds to what a run's own log says what the log over all runs says of it. */
export async function withAnchor(parts: Parts, report: VerifyReport): Promise<AnchoredReport> {
  const head = await readHead(parts.world.knex, report.runId);
  const { anchor, broken } = await verifyAnchor(parts, report.runId, head ?? { seq: 0, moved: true });
  const found = report.broken ?? broken;
  const repairedBy = found === null ? null : await repairOf(parts.world.knex, report.runId);
  return { ...report, ok: found === null, broken: found, anchor, repairedBy };
}

/** Compares the log of a run with what the log over all runs says of it, and says how far a checkpoint commits to it. */
async function verifyAnchor(
  parts: Parts,
  runId: string,
  { seq: events, moved }: { readonly seq: number; readonly moved: boolean },
): Promise<Anchored> {
  const { knex } = parts.world;
  const entries = await entriesOfRun(knex, runId);
  const newest = await parts.anchor.newest();
  const signed = entries.findLast(({ index }) => index < (newest?.checkpoint.size ?? 0));
  const seqs = entries.map(({ seq }) => seq);
  const at = new Map((await eventsAt(knex, runId, seqs)).map((event) => [event.seq, event]));
  let broken: Broken | null = null;
  for (const [place, entry] of entries.entries()) {
    const goesOn = entries[place + 1] !== undefined || events > entry.seq;
    broken ??= whyBroken(entry, entries[place - 1], at.get(entry.seq), goesOn);
  }
  if (newest !== null) broken ??= await whyCut(parts, events, newest);
  if (newest !== null && signed !== undefined) broken ??= await whyNotIncluded(parts, signed, newest);
  if (!moved && !seqs.includes(events))
    broken ??= {
      seq: events,
      invariant: 'log_entry',
      what: 'this event was entered into the log of all runs, which has no such entry',
    };
  const entered = entries.at(-1)?.seq ?? 0;
  const seq = broken === null ? (signed?.seq ?? 0) : 0;
  const why = seq >= events ? null : whyNot(parts, { entered, events, signed: newest !== null });
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
  event: { readonly hash: string; readonly stateHash: string; readonly kind: string } | undefined,
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

async function whyCut(parts: Parts, seq: number, { checkpoint: { size } }: Newest): Promise<Broken | null> {
  const entries = await logSize(parts.world.knex);
  const what = `a checkpoint of ${size} entries was signed, and the log of all runs has ${entries}`;
  return entries < size ? { seq, invariant: 'log_entry', what } : null;
}

async function whyNotIncluded(parts: Parts, entry: IndexedEntry, { checkpoint }: Newest): Promise<Broken | null> {
  const { size, root } = checkpoint;
  const { index, seq } = entry;
  const invariant = 'log_entry' as const;
  const proof = await readTree(parts.world.knex, inclusionRecipe(index, size)).catch(() => []);
  return verifyInclusion(proof, { index, size, leaf: leafOf(entry), root })
    ? null
    : { seq, invariant, what: `entry ${index} is not in the log of all runs as it was signed at ${size} entries` };
}

function whyNot(
  parts: Parts,
  { entered, events, signed }: { entered: number; events: number; signed: boolean },
): string {
  if (!signed && parts.anchor.keys.signing === null)
    return 'no checkpoint is signed, and this server has no key to sign one';
  return entered < events
    ? 'what came last waits for its entry in the log'
    : 'the newest entries wait for a checkpoint';
}
