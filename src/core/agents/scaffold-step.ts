import { z } from 'zod';
import { jsonObject, jsonValue } from '../json.js';

/** What a scaffold makes of a call. */
export const stepResult = z.strictObject({
  actionTaken: jsonValue.describe('What was done, in the words of the scaffold.'),
  observation: jsonValue.describe('What the model reads of it.'),
  reward: z.number().nullable().describe('Null: it says nothing of what the call is worth.'),
  done: z.boolean().describe('Whether nothing is left to do.'),
  info: jsonObject.describe('Whatever else should be known of it.'),
});
export type StepResult = z.infer<typeof stepResult>;

/** What of a step the log keeps beside its observation, which is the outcome of the call. */
export const stepNote = z.object(stepResult.omit({ observation: true }).shape);
export type StepNote = z.infer<typeof stepNote>;

/** By what a scaffold is known in logs. */
export const scaffoldName = z.object({ name: z.string(), version: z.string() });
export type ScaffoldName = z.infer<typeof scaffoldName>;
