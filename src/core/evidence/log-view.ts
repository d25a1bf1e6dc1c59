import { z } from 'zod';
import { verifyReport } from '../log/verify-log.js';
import { forgottenEntryView, lossView, proofBundle } from './proof.js';

/** What the log over all runs is, for the caller that watches it. */
export const logView = z
  .object({
    entries: z.int().describe('How many entries the log has.'),
    checkpoint: z
      .object({
        size: z.int(),
        root: z.string().describe('SHA-256 of the tree over the entries, in hex.'),
        note: z.string().describe('The signed note (C2SP tlog-checkpoint).'),
      })
      .nullable()
      .describe('The newest that is signed; null: none is.'),
    keys: z.array(z.string()).describe('Public keys that have signed checkpoints of this log.'),
    handovers: z.array(z.string()).describe('Notes in which a key hands over to the next.'),
    signs: z.boolean().describe('Whether this server has a key to sign with.'),
    writesTo: z.string().describe('Where checkpoints are written outside the database.'),
    problem: z.string().nullable().describe('Why the log is not signed any more; null: nothing is wrong.'),
  })
  .meta({ id: 'Log' });
export type LogView = z.infer<typeof logView>;

const hashes = z.array(z.string().regex(/^[0-9a-f]{64}$/));

export const consistencyView = z.object({ earlier: z.int(), size: z.int(), proof: hashes }).meta({ id: 'Consistency' });
export type ConsistencyView = z.infer<typeof consistencyView>;

/** How far a run is anchored: what a checkpoint outside the database commits to. */
export const anchorReport = z
  .object({
    seq: z.int().describe('The last event that a signed checkpoint commits to; 0: none does.'),
    size: z.int().nullable().describe('Size of that checkpoint.'),
    key: z.string().nullable().describe('The public key that it is signed with.'),
    outside: z.boolean().describe('Whether it was read from outside the database.'),
    entered: z.int().describe('The last event that an entry of the log commits to, signed or not.'),
    why: z.string().nullable().describe('Why not all events are anchored; null: they are.'),
  })
  .meta({ id: 'Anchor' });
export type AnchorReport = z.infer<typeof anchorReport>;

/** What verifying a run found, and how far it is anchored. */
export const anchoredReport = verifyReport
  .extend({
    anchor: anchorReport,
    repairedBy: z.string().nullable().describe('The run that goes on for it since its broken log was repaired.'),
    artifacts: z
      .object({
        whole: z.int().describe('How many have the bytes that the log names.'),
        wrong: z.array(z.object({ name: z.string(), what: z.string() })).describe('The others; `ok` is false then.'),
      })
      .nullable()
      .describe(
        'Artifacts of the run; null: it has none, or none were read, as of many runs, of an erased run or beside a broken log.',
      ),
  })
  .meta({ id: 'AnchoredReport' });
export type AnchoredReport = z.infer<typeof anchoredReport>;

/** What verifying the whole log over all runs found. */
export const logReport = z
  .object({
    ok: z.boolean(),
    entries: z.int().describe('Entries from the first on that are what their hashes say.'),
    checkpoints: z.int().describe('Signed checkpoints that were compared with them.'),
    size: z.int().nullable().describe('Size of the greatest checkpoint that fits; null: there is none.'),
    key: z.string().nullable().describe('The public key that it is signed with.'),
    outside: z.boolean().describe('Whether it was read from outside the database.'),
    problems: z.array(z.object({ what: z.string(), runId: z.string().nullable() })).describe('At most 20.'),
  })
  .meta({ id: 'LogReport' });
export type LogReport = z.infer<typeof logReport>;

/** An entry of the log; what it says is told to its tenant alone. */
export const logEntryView = z
  .object({
    index: z.int(),
    leaf: z.string(),
    entry: z
      .union([proofBundle.shape.entry, lossView, forgottenEntryView])
      .nullable()
      .describe('Null: it is of another tenant.'),
  })
  .meta({ id: 'LogEntry' });
export type LogEntryView = z.infer<typeof logEntryView>;
