import { CheckpointFile, type CheckpointLine } from '../storage/checkpoint-file.js';

/** Where checkpoints are written outside the database. */
export interface CheckpointPlace {
  /** For messages. */
  readonly name: string;
  /** The file, where they are kept in one that can be read again. */
  readonly file: CheckpointFile | null;
  write(one: CheckpointLine): Promise<void>;
  /** The last that were written. */
  newest(): Promise<readonly string[]>;
}

/** On standard output what was written is not read again: of the last one this process knows itself. */
function standardOutput(): CheckpointPlace {
  let last: readonly string[] = [];
  return {
    name: 'standard output',
    file: null,
    write: async (one) => {
      await new Promise<void>((resolve, reject) => {
        process.stdout.write(`${JSON.stringify(one)}\n`, (error) => (error ? reject(error) : resolve()));
      });
      last = [one.note];
    },
    newest: async () => last,
  };
}

/** `-` is standard output, everything else a file. */
export function checkpointPlace(where: string): CheckpointPlace {
  if (where === '-') return standardOutput();
  const file = new CheckpointFile(where);
  return {
    name: where,
    file,
    write: (one) => file.append(one),
    newest: async () => (await file.tail()).map(({ note }) => note),
  };
}
