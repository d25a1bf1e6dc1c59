import { z } from 'zod';

/** A checkpoint as it is written outside the database: a signed note, and when it was written. */
const checkpointLine = z.object({ at: z.string(), note: z.string() });
export type CheckpointLine = z.infer<typeof checkpointLine>;

/** Null: it is none. */
export function checkpointLineOf(text: string): CheckpointLine | null {
  try {
    return checkpointLine.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
