import { z } from 'zod';
import { VERDICTS } from '../interruptions/interruption.js';
import { runStatus } from '../runs/run.js';
import { CALL_EFFECTS } from './call-outcome.js';
import { broken } from './invariant.js';

const LISTED_MAX = 1000;

/** The body of `POST /api/v1/runs/{id}/repair`. */
export const repairRequest = z
  .strictObject({
    apply: z.boolean().default(false).describe('Make the run that goes on. Without it nothing is changed.'),
    accept: z
      .array(z.string().min(1).max(1000))
      .max(LISTED_MAX)
      .default([])
      .describe('Ids of the lost calls that may happen once more.'),
  })
  .meta({ id: 'RepairRequest' });
export type RepairRequest = z.input<typeof repairRequest>;

const lostEvent = z.object({
  seq: z.int(),
  kind: z.string(),
  at: z.string(),
  whole: z.boolean().describe('It fits its own hashes; nothing proves that it followed.'),
});
export type LostEvent = z.infer<typeof lostEvent>;

const lostCall = z.object({
  callId: z.string(),
  tool: z.string(),
  effect: z.enum(CALL_EFFECTS),
  outcome: z.enum(['output', 'error', 'refused']).nullable().describe('Null: no one knows whether it happened.'),
  unsafe: z.boolean().describe('It may have happened and would happen once more: it is to be accepted by its id.'),
});
export type LostCall = z.infer<typeof lostCall>;

const lostDecision = z.object({
  interruptionId: z.string(),
  verdict: z.enum(VERDICTS),
  actor: z.string(),
});
export type LostDecision = z.infer<typeof lostDecision>;

/** What a repair of a broken log keeps and loses, and the run that goes on. */
export const repairReport = z
  .object({
    runId: z.string(),
    status: runStatus,
    broken,
    valid: z.int().describe('Up to this event the log is whole; the repaired run takes them over. 0: none.'),
    lost: z.object({
      events: z.int().describe('How many events the run had after that, as far as its head and its rows say.'),
      readable: z.array(lostEvent).describe('Those of them that are still there, 100 at most.'),
      calls: z
        .array(lostCall)
        .describe(`Calls that the whole part does not know to be begun, unsafe ones first, ${LISTED_MAX} at most.`),
      decisions: z.array(lostDecision).describe(`Decisions that it does not know, ${LISTED_MAX} at most.`),
    }),
    repairedBy: z.string().nullable().describe('The run that goes on for it; null: none does.'),
  })
  .meta({ id: 'Repair' });
export type RepairReport = z.infer<typeof repairReport>;

/** Those that cannot be left out of `accept`. */
export const unaccepted = (calls: readonly LostCall[], accept: readonly string[]): LostCall[] =>
  calls.filter(({ callId, unsafe }) => unsafe && !accept.includes(callId));

/** At most so many, and what is dangerous first. */
export const listed = (calls: readonly LostCall[]): LostCall[] =>
  [...calls].sort((a, b) => Number(b.unsafe) - Number(a.unsafe)).slice(0, LISTED_MAX);
