import {
  areWritesOf,
  CHANGE_COLUMNS,
  type ChangeText,
  changedColumns,
  DOCUMENT_COLUMNS,
  type DocumentText,
  type WriteText,
} from '../memory/memory-evidence.js';
import type { MemoryNote } from '../tools/tool-memory.js';

/** Rows of memory that do not say what the logs of runs say. */

export const MEMORY_TABLES = ['memory_documents', 'memory_changes', 'memory_writes'] as const;
export type MemoryTable = (typeof MEMORY_TABLES)[number];

/** A row of memory that someone has changed. */
export interface FalseMemory {
  readonly table: MemoryTable;
  readonly row: string;
  /** Null: the row as a whole. */
  readonly column: string | null;
  readonly what: string;
}

/** What the log of a run says of a call that may have written. */
export type LoggedCall =
  /** `note` null: its outcome has nothing of memory. */
  | { readonly is: 'ended'; readonly refused: boolean; readonly note: MemoryNote | null }
  /** It has not ended by the log, or never will. */
  | { readonly is: 'open' }
  | { readonly is: 'broken'; readonly what: string }
  /** Retention has removed the run with its log. */
  | { readonly is: 'removed' }
  | { readonly is: 'erased' }
  | { readonly is: 'unknown' };

/** A change with what is kept of it. */
export interface FoundChange {
  readonly row: ChangeText;
  readonly call: LoggedCall;
  /** All writes of its call. */
  readonly writes: readonly WriteText[];
  /** The id of its document as the row of that has it. */
  readonly document: string | null;
  /** Whether the document was made again after an erasure: then it stood elsewhere after each change. */
  readonly remade: boolean;
}

type Named = Pick<DocumentText, 'space' | 'owner' | 'key'>;
export const documentName = ({ space, owner, key }: Named): string =>
  [space, owner, key].filter((part) => part !== '').join('/');
export const changeName = (row: Named & { readonly version: string | number | null }): string =>
  `${documentName(row)}@${row.version}`;

/** The write that made a change; undefined: none is kept. */
export const writeOf = ({ row, writes, document }: FoundChange): WriteText | undefined =>
  writes.find((one) => one.change !== null && one.version === row.version && one.document === document) ??
  writes.find((one) => one.change !== null && one.version === row.version && !isOther(row, one));

/** Whether a write is of a change that another row has. */
const isOther = (row: ChangeText, { change }: WriteText): boolean =>
  changedColumns(CHANGE_COLUMNS, row, change).some((column) => ['space', 'owner', 'key'].includes(column));

/** What of a change is not what the log of its run says. */
export function falseChange(found: FoundChange): readonly FalseMemory[] {
  const { row, call, writes } = found;
  const of = (column: string | null, what: string): FalseMemory => ({
    ...{ table: 'memory_changes', row: changeName(row), column, what },
  });
  if (call.is === 'removed') return [];
  if (call.is === 'unknown') return [of('run_id', `there is no run ${row.run_id}, and none was removed`)];
  if (call.is === 'erased') return [of('run_id', `the run ${row.run_id} was erased`)];
  if (call.is === 'broken') return [of(null, `the log of run ${row.run_id} does not prove it: ${call.what}`)];
  const write = writeOf(found);
  const said = call.is === 'ended' ? (call.note?.writes ?? null) : null;
  if (call.is === 'ended' && said === null) {
    if (call.refused || hasWritten(call.note, row)) return [];
    return [of(null, `the log of run ${row.run_id} has no such write of the call ${row.call_id}`)];
  }
  if (said !== null && !areWritesOf(said, writes)) return [falseWrites(said.call)];
  if (write === undefined)
    return said === null ? [] : [of(null, `it is none of the writes of the call ${row.call_id}, as its log has them`)];
  const changed = changedColumns(CHANGE_COLUMNS, row, write.change);
  return changed
    .filter((column) => column !== 'frontiers' || !found.remade)
    .map((column) => of(column, 'it is not what the run wrote'));
}

export const falseWrites = (call: string): FalseMemory => ({
  ...{ table: 'memory_writes', row: call, column: null },
  what: 'the writes of the call are not those that its log has',
});

/** Whether a log of an older build says that the call wrote this version. */
const hasWritten = (note: MemoryNote | null, { space, key, version }: ChangeText): boolean =>
  note?.wrote?.some((ref) => ref.space === space && ref.key === key && String(ref.version) === version) ?? false;

/** What of a document is not what it was after the write that changed it last. */
export function falseDocument(row: DocumentText, state: string, salt: string): readonly FalseMemory[] {
  const changed = changedColumns(DOCUMENT_COLUMNS, row, state, salt);
  const columns = changed.length === DOCUMENT_COLUMNS.length ? ['salt'] : changed;
  return columns.map((column) => ({
    ...{ table: 'memory_documents', row: documentName(row), column },
    what: 'it is not what it was after the last write',
  }));
}
