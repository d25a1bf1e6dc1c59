import type { CheckpointLine } from '../../core/evidence/checkpoint.js';
import type { CheckpointObjects } from '../../object-store/checkpoint-objects.js';
import { CheckpointFile } from '../../storage/evidence/checkpoints.js';

/** Where checkpoints are written outside the database. */
export interface CheckpointPlace {
  /** For messages. */
  readonly name: string;
  /** Writes a checkpoint of so many entries. */
  write(size: number, one: CheckpointLine): Promise<void>;
  /** The last that were written; where others may have put something between them, at least one that is signed, if there is one. */
  newest(isSigned: (note: string) => boolean): Promise<readonly string[]>;
  /** What is there to be verified. */
  lines(): AsyncIterable<CheckpointLine>;
}

/** On standard output what was written is not read again: of the last one this process knows itself. */
export function standardOutput(): CheckpointPlace {
  let last: readonly string[] = [];
  return {
    name: 'standard output',
    write: async (_size, one) => {
      await new Promise<void>((resolve, reject) => {
        process.stdout.write(`${JSON.stringify(one)}\n`, (error) => (error ? reject(error) : resolve()));
      });
      last = [one.note];
    },
    newest: async () => last,
    lines: async function* () {},
  };
}

export function inFile(path: string): CheckpointPlace {
  const file = new CheckpointFile(path);
  return {
    name: path,
    write: (_size, one) => file.append(one),
    newest: async () => (await file.tail()).map(({ note }) => note),
    lines: () => file.lines(),
  };
}

/** Objects that are verified, the newest: each commits to those before it. */
const OBJECTS_MAX = 10_000;

/** `name` is what the operator called the place. */
export const inBucket = (name: string, objects: CheckpointObjects): CheckpointPlace => ({
  name,
  write: (size, one) => objects.write(size, one),
  newest: async (isSigned) => (await objects.newest(isSigned)).map(({ note }) => note),
  lines: () => objects.lines(OBJECTS_MAX),
});
