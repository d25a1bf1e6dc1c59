import { z } from 'zod';
import { jsonValue } from '../json.js';
import type { Allowance } from '../limits/allowance.js';
import { dataSalt } from '../log/chain.js';
import type { RunEvent } from '../log/event.js';
import { type ForgottenEntry, LOSSES, type LogEntry, type LossEntry } from './log-entry.js';

const hash = z.string().regex(/^[0-9a-f]{64}$/);

/** An event as a proof has it: what its hash covers, and the payload with its salt where it is shown. */
const provenEvent = z.object({
  v: z.literal(1),
  runId: z.string(),
  tenant: z.string(),
  seq: z.int(),
  parentId: z.string().nullable(),
  kind: z.string(),
  at: z.string(),
  dataHash: z.string(),
  stateVersion: z.int(),
  stateHashBefore: z.string(),
  stateHashAfter: z.string(),
  prevHash: z.string(),
  hash: z.string(),
  data: jsonValue.exactOptional(),
  salt: hash.exactOptional().describe('With it, `dataHash` can be computed from `data`. It opens no other event.'),
});
type ProvenEvent = z.infer<typeof provenEvent>;

/** An entry of the log that says what a run has lost. */
export const lossView = z.object({
  index: z.int(),
  v: z.literal(1),
  loss: z.enum(LOSSES).describe('The payloads of the run were erased, or the run was removed with its log.'),
  runId: z.string(),
  tenant: z.string(),
  seq: z.int().describe('Where the log of the run ended then.'),
  hash: z.string(),
  actor: z.string(),
  reason: z.string(),
  previous: hash.nullable(),
});
export type LossView = z.infer<typeof lossView>;

/** An entry of the log that says that a document of memory was removed. */
export const forgottenEntryView = z.object({
  index: z.int(),
  v: z.literal(1),
  loss: z.literal('forgotten').describe('A document of memory was removed with its history.'),
  document: z.string().describe('Its id, which says nothing of what it said.'),
  space: z.string(),
  tenant: z.string(),
  version: z.int().describe('The version that it had.'),
  actor: z.string().describe('Who removed it; a run whose call did; or `retention`.'),
  reason: z.string(),
});
type ForgottenEntryView = z.infer<typeof forgottenEntryView>;

/** What someone needs, beside a public key that they trust, to check what a run did without asking anybody. */
export const proofBundle = z
  .object({
    format: z.literal('holdfast-proof-v1'),
    runId: z.string(),
    tenant: z.string(),
    events: z.array(provenEvent),
    entry: z.object({
      index: z.int(),
      v: z.literal(1),
      runId: z.string(),
      tenant: z.string(),
      seq: z.int(),
      hash: z.string(),
      stateHash: z.string(),
      complete: z.boolean(),
      previous: hash.nullable(),
    }),
    inclusion: z.array(hash).describe('From the leaf of the entry to the root of the checkpoint.'),
    checkpoint: z.string().describe('The signed note.'),
    keys: z.array(z.string()).describe('Public keys of the log. That they are here is no reason to trust them.'),
    handovers: z.array(z.string()).describe('Notes in which a key hands over to the next.'),
  })
  .meta({ id: 'Proof' });
export type ProofBundle = z.infer<typeof proofBundle>;

/** `runKey` null: payloads are withheld. Throws what the allowance throws: a proof is counted event by event. */
export function provenEventOf(event: RunEvent, runKey: string | null, allowance: Allowance): ProvenEvent {
  const proven = partOf(event, runKey);
  allowance.answer(JSON.stringify(proven).length, `The proof of run ${event.runId}`);
  return proven;
}

function partOf({ id: _id, data, ...fields }: RunEvent, runKey: string | null): ProvenEvent {
  if (runKey === null || data === null) return fields;
  return { ...fields, data: jsonValue.parse(data), salt: dataSalt(runKey, fields.seq).toString('hex') };
}

export const provenEntryOf = (entry: LogEntry & { readonly index: number }): ProofBundle['entry'] => {
  const { index, v, runId, tenant, seq, hash: head, stateHash, complete, previous } = entry;
  return { index, v, runId, tenant, seq, hash: head, stateHash, complete, previous };
};

export const forgottenViewOf = (entry: ForgottenEntry & { readonly index: number }): ForgottenEntryView => {
  const { index, v, loss, document, space, tenant, version, actor, reason } = entry;
  return { index, v, loss, document, space, tenant, version, actor, reason };
};

export const lossViewOf = (entry: LossEntry & { readonly index: number }): LossView => {
  const { index, v, loss, runId, tenant, seq, hash: head, actor, reason, previous } = entry;
  return { index, v, loss, runId, tenant, seq, hash: head, actor, reason, previous };
};
