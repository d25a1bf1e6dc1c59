import { z } from 'zod';
import { integrity } from '../integrity.js';
import { jsonObject } from '../json.js';
import { stateOp } from '../tools/agent-state.js';
import { memoryKey } from '../tools/memory-change.js';
import { MEMORY_SCOPES, spaceName } from '../tools/memory-space.js';
import { memoryRef, trustLabel } from '../tools/tool-memory.js';

/** Whose document of a space: the run, session, subject or agent that it belongs to. */
const owner = z.string().max(200).default('').describe('The run, session, subject or agent; empty: the tenant.');

export const spacePath = z.strictObject({ space: spaceName });
export const documentName = z.strictObject({ owner, key: memoryKey.describe('Key of the document.') });
export type DocumentName = z.infer<typeof documentName>;

export const forgetDocument = documentName.extend({
  reason: z.string().trim().min(1).max(1000).exactOptional().describe('Why; kept, so it should name no person.'),
});
export type ForgetDocument = z.infer<typeof forgetDocument>;

export const memorySpaceView = z
  .object({
    space: z.string(),
    scope: z.enum(MEMORY_SCOPES),
    documents: z.int().describe('Documents of the tenant in it.'),
    changedAt: z.iso.datetime().nullable().describe('When one of them was changed last; null: there is none.'),
    withoutVector: z
      .int()
      .exactOptional()
      .describe('In a space with an embedding model: documents that a worker is to make a vector of.'),
  })
  .meta({ id: 'MemorySpace' });
export type MemorySpaceView = z.infer<typeof memorySpaceView>;

export const memoryEntry = z
  .object({
    ...{ space: z.string(), owner: z.string(), key: z.string() },
    version: z.int().describe('Grows by one with each change.'),
    labels: z.array(trustLabel).describe('Not empty: something in it came from outside.'),
    ...{ createdAt: z.iso.datetime(), changedAt: z.iso.datetime() },
    expiresAt: z.iso.datetime().nullable().describe('When it goes by the retention of its space; null: never.'),
    distance: z
      .number()
      .exactOptional()
      .describe('In a list with `near`: the cosine distance, from 0 (the same meaning) to 2.'),
    integrity,
  })
  .meta({ id: 'MemoryEntry' });
export type MemoryEntry = z.infer<typeof memoryEntry>;

const memoryHistory = z
  .object({
    version: z.int().describe('The version that the change made.'),
    base: z.int().describe('The version that it was made for.'),
    changes: z.array(stateOp),
    ...{ runId: z.string(), callId: z.string() },
    event: z.int().describe('Number of the `call.started` of the call in the log of the run.'),
    agent: z.string(),
    actors: z.array(z.string()).describe('Who asked for the run.'),
    derivedFrom: z.array(memoryRef).describe('Documents that the run had read before.'),
    labels: z.array(trustLabel).describe('Of what the run had read by then.'),
    at: z.iso.datetime(),
  })
  .meta({ id: 'MemoryHistory' });

export const memoryDocumentView = memoryEntry
  .extend({
    value: jsonObject,
    history: z.array(memoryHistory).describe('Its changes in order, after the version `after`.'),
    more: z.boolean().describe('Whether there are more changes after these.'),
  })
  .meta({ id: 'MemoryDocument' });
export type MemoryDocumentView = z.infer<typeof memoryDocumentView>;

export const forgottenView = z
  .object({ space: z.string(), owner: z.string(), key: z.string(), version: z.int() })
  .meta({ id: 'ForgottenDocument' });
export type ForgottenView = z.infer<typeof forgottenView>;
