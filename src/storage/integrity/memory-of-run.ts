import type { Knex } from 'knex';
import { isAtWork, isCutOff } from '../../core/integrity/copied-rows.js';
import type { LoggedFacts } from '../../core/integrity/logged-facts.js';
import {
  changeName,
  type FalseMemory,
  falseChange,
  falseWrites,
  type LoggedCall,
} from '../../core/integrity/memory-rows.js';
import { areWritesOf, type ChangeText, type WriteText } from '../../core/memory/memory-evidence.js';
import { CHANGE_TEXT, SAME_PLACE, WRITE_TEXT } from '../memory/evidence-rows.js';
import { falseDocuments, foundOfRun, PLACES_OF_RUN } from './memory-checks.js';

interface Made {
  readonly call: string;
  readonly callId: string;
  readonly write: WriteText;
}

interface Change {
  readonly row: ChangeText;
  readonly document: string | null;
  readonly remade: boolean;
}

/** Which rows of memory do not say what the log of a run, which was read as a whole, says that its calls wrote. */
export async function falseMemoryOfRun(db: Knex, runId: string, facts: LoggedFacts): Promise<readonly FalseMemory[]> {
  const made = await madeBy(db, runId);
  const ids = [...new Set(made.flatMap(({ write }) => (write.document === null ? [] : [write.document])))];
  const changes = await changesOfRun(db, runId, ids, made);
  return [
    ...falseCalls(facts, made),
    ...changes.flatMap((change) => falseOfRun(runId, facts, made, change)),
    ...missing(made, changes),
    ...(await falseLosses(db, facts, made, changes)),
    ...(await falseDocuments(db, await foundOfRun(db, runId, ids))),
  ];
}

async function madeBy(db: Knex, runId: string): Promise<readonly Made[]> {
  const { rows }: { rows: { call: string; write: string }[] } = await db.raw(
    `select w.call_key as call, ${WRITE_TEXT} as write from holdfast.memory_writes w where w.run_id = ?`,
    [runId],
  );
  return rows.map(({ call, write }) => ({
    ...{ call, callId: call.slice(call.indexOf(':') + 1) },
    // What the database wrote as JSON, from columns that are named there.
    write: JSON.parse(write) as WriteText,
  }));
}

/** Changes that say that they are of the run, and those that its writes made. */
async function changesOfRun(
  db: Knex,
  runId: string,
  ids: readonly string[],
  made: readonly Made[],
): Promise<readonly Change[]> {
  const { rows }: { rows: { change: string; document: string | null; remade: boolean }[] } = await db.raw(
    `select ${CHANGE_TEXT} as change, d.id as document, d.remade is not null as remade from ${PLACES_OF_RUN} d0
       join holdfast.memory_documents d
         on d.tenant = d0.tenant and d.space = d0.space and d.owner = d0.owner and d.key = d0.key
       join holdfast.memory_changes c on ${SAME_PLACE} and (c.run_id = ? or c.version = any(?::int[]))`,
    [[...ids], runId, runId, [...new Set(made.map(({ write }) => Number(write.version)))]],
  );
  return rows.map(({ change, document, remade }) => ({ row: JSON.parse(change) as ChangeText, document, remade }));
}

/** Calls whose writes are not those that the log has. One that the log does not know may be of an execution that died. */
function falseCalls(facts: LoggedFacts, made: readonly Made[]): readonly FalseMemory[] {
  const found: FalseMemory[] = [];
  for (const { note } of facts.memory.values()) {
    const said = note?.writes;
    if (said === undefined) continue;
    const writes = made.filter(({ call }) => call === said.call).map(({ write }) => write);
    if (!areWritesOf(said, writes)) found.push(falseWrites(said.call));
  }
  const ahead = isAtWork(facts) || isCutOff(facts);
  for (const { call, callId, write } of made) {
    const ended = facts.memory.get(callId);
    const isKnown = ended === undefined ? facts.calls.has(callId) || ahead : ended.refused || hasNoEvidence(write);
    if (!isKnown && ended?.note?.writes?.call !== call) found.push(falseWrites(call));
  }
  return [...new Map(found.map((one) => [one.row, one])).values()];
}

/** A write of an older build. */
const hasNoEvidence = ({ document, change }: WriteText): boolean => document === null && change === null;

/** A change that says to be of another run is compared where a write of this one made it. */
function falseOfRun(
  runId: string,
  facts: LoggedFacts,
  made: readonly Made[],
  { row, document, remade }: Change,
): readonly FalseMemory[] {
  const own = made.find(({ write }) => isWriteOf(write, row.version, document));
  if (own === undefined && row.run_id !== runId) return [];
  const callId = own?.callId ?? row.call_id ?? '';
  const writes = made.filter((one) => one.callId === callId).map(({ write }) => write);
  const call = callIn(facts, callId);
  // Writes that are not those of the log are said once, of their call.
  if (call.is === 'ended' && call.note?.writes !== undefined && !areWritesOf(call.note.writes, writes)) return [];
  return falseChange({ row, call, writes, document, remade });
}

const isWriteOf = (write: WriteText, version: string | null, document: string | null): boolean =>
  write.change !== null && write.document === document && write.version === version;

function callIn(facts: LoggedFacts, callId: string): LoggedCall {
  const ended = facts.memory.get(callId);
  if (ended !== undefined) return { is: 'ended', ...ended };
  if (facts.calls.has(callId) || isAtWork(facts) || isCutOff(facts)) return { is: 'open' };
  return { is: 'ended', refused: false, note: null };
}

/** A call that the log knows to have written in a build that enters what is removed. */
const isEntered = (facts: LoggedFacts, { call, callId }: Made): boolean => {
  const said = facts.memory.get(callId)?.note?.writes;
  return said?.call === call && said.entered === true;
};

/**
 * Documents that are gone, or that a call has forgotten, where no entry of the log over all runs says so. Whether the log has the entry
 * as it was signed is for the one who reads its tree.
 */
async function falseLosses(
  db: Knex,
  facts: LoggedFacts,
  made: readonly Made[],
  changes: readonly Change[],
): Promise<readonly FalseMemory[]> {
  const there = new Set(changes.map(({ document }) => document));
  const gone = made.filter(
    (one) =>
      one.write.document !== null &&
      isEntered(facts, one) &&
      (one.write.change === null || !there.has(one.write.document)),
  );
  if (gone.length === 0) return [];
  const ids = [...new Set(gone.map(({ write }) => write.document))];
  const left = new Set<string>(await db('holdfast.memory_documents').whereIn('id', ids).pluck('id'));
  const entries: { document: string; version: number }[] = await db('holdfast.log_entries')
    .whereIn('document', ids)
    .select('document', 'seq as version');
  const versions = new Map(entries.map(({ document, version }) => [document, version]));
  const found = gone.flatMap(({ call, callId, write }): readonly FalseMemory[] => {
    const version = versions.get(write.document ?? '');
    const row = write.document ?? '';
    const of = (what: string): FalseMemory => ({ table: 'memory_documents', row, column: null, what });
    if (write.change === null)
      return version === undefined ? [of(`the call ${callId} has forgotten it, and ${NO_ENTRY}`)] : [];
    // A document that is there without its changes is said by these.
    if (left.has(row)) return [];
    if (version === undefined) return [of(`it is not there, and ${NO_ENTRY}`)];
    return Number(write.version) > version
      ? [of(`it was removed at version ${version}, and the call ${call} wrote a later one`)]
      : [];
  });
  return [...new Map(found.map((one) => [`${one.row} ${one.what}`, one])).values()];
}

const NO_ENTRY = 'no entry of the log over all runs says who removed it';

/** Changes that a document has lost. */
function missing(made: readonly Made[], changes: readonly Change[]): readonly FalseMemory[] {
  return made.flatMap(({ write }) => {
    if (write.change === null) return [];
    const of = changes.filter(({ document }) => document === write.document);
    const [any] = of;
    if (any === undefined || of.some(({ row }) => row.version === write.version)) return [];
    const row = changeName({ ...any.row, version: write.version });
    return [{ table: 'memory_changes' as const, row, column: null, what: 'the row is missing' }];
  });
}
