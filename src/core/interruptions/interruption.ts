import { z } from 'zod';
import { patchOperation } from '../difference.js';
import { integrity } from '../integrity.js';
import { idText, jsonObject, jsonValue } from '../json.js';
import { usdText } from '../money.js';
import { cutValues } from '../page.js';
import { waitSpec } from './wait.js';

export const INTERRUPTION_KINDS = ['approval', 'question', 'child_run', 'timer', 'event', 'budget'] as const;
export const INTERRUPTION_STATUSES = ['pending', 'approved', 'rejected', 'answered', 'expired', 'cancelled'] as const;
export const VERDICTS = ['approve', 'reject', 'answer', 'expire', 'cancel'] as const;

export type InterruptionStatus = (typeof INTERRUPTION_STATUSES)[number];
export type Verdict = (typeof VERDICTS)[number];

/**
 * Why a run waits: for an approval, because of the tool's own rule, a grant that says `ask`, or an unsafe call that was
 * begun before a crash and may have happened; because a call that was begun said so, with the kind of its wait; or because a
 * budget has no room for the next model call.
 */
export const interruptionReason = z.enum([
  ...(['tool_rule', 'grant_ask', 'unknown_effect'] as const),
  ...(['question', 'timer', 'event', 'child_run', 'budget'] as const),
]);
export type InterruptionReason = z.infer<typeof interruptionReason>;

const KIND_OF: Record<InterruptionReason, (typeof INTERRUPTION_KINDS)[number]> = {
  ...({ tool_rule: 'approval', grant_ask: 'approval', unknown_effect: 'approval' } as const),
  ...({ question: 'question', timer: 'timer', event: 'event', child_run: 'child_run', budget: 'budget' } as const),
};
export const kindFor = (reason: InterruptionReason): (typeof INTERRUPTION_KINDS)[number] => KIND_OF[reason];
/**
 * What an approval that is to hold for later calls covers: `true` for calls that need exactly what this one needs, or
 * capabilities written like grants.
 */
export const always = z.union([
  z.literal(true),
  z.strictObject({ scope: z.array(z.string().min(1).max(8192)).min(1).max(100) }),
]);
export type Always = z.infer<typeof always>;

/** Arguments that an approver put in place of those that the model gave. */
export const argumentEdit = z
  .object({
    arguments: jsonObject,
    difference: z.array(patchOperation).describe('JSON Patch (RFC 6902) from the arguments of the interruption.'),
    digest: z.string().describe('Of the call that runs. The digest of the interruption is that of the call as asked.'),
  })
  .meta({ id: 'Edit' });
export type ArgumentEdit = z.infer<typeof argumentEdit>;

export const decisionView = z
  .object({
    id: z.string(),
    verdict: z.enum(VERDICTS),
    actor: z.string(),
    message: z.string().nullable(),
    value: jsonValue,
    edit: argumentEdit.nullable(),
    always: always.nullable().describe('Whether it is to hold for later calls, and for which.'),
    decidedAt: z.iso.datetime(),
  })
  .meta({ id: 'Decision' });
export type DecisionView = z.infer<typeof decisionView>;

export const interruptionView = z
  .object({
    id: z.string(),
    runId: z.string(),
    agent: z.string(),
    kind: z.enum(INTERRUPTION_KINDS),
    status: z.enum(INTERRUPTION_STATUSES),
    callId: z.string().nullable(),
    tool: z.string().nullable(),
    arguments: jsonValue.describe('As the model gave them.'),
    capabilities: z.array(z.string()).describe('What the call needs, normalised.'),
    reason: z.object({ code: interruptionReason, text: z.string() }),
    wait: waitSpec.nullable().describe('What the call, or the run, waits for; null for approvals.'),
    verdicts: z.array(z.enum(['approve', 'reject', 'answer'])).describe('The verdicts that a person may give.'),
    unfit: z
      .string()
      .nullable()
      .describe(
        'Why an approval would be refused as the tool is now (`call_unfit`); null: nothing is known against it.',
      ),
    digest: z.string().describe('Binds a decision to run, call, tool, version, arguments and policy.'),
    requiredApprovals: z.int().describe('How many different people must approve. One rejection settles.'),
    separateRequester: z.boolean().describe('Whether who asked for the run may not approve.'),
    decisions: z.array(decisionView).describe('Oldest first. While it is pending: the approvals so far.'),
    requestedAt: z.iso.datetime(),
    expiresAt: z.iso.datetime().nullable(),
    integrity: integrity.describe(
      'Rows that do not say what the log says, at most 20: such an interruption cannot be decided.',
    ),
  })
  .meta({ id: 'Interruption' });
export type InterruptionView = z.infer<typeof interruptionView>;

export const listedInterruption = interruptionView.extend({ cut: cutValues }).meta({ id: 'ListedInterruption' });
export type ListedInterruption = z.infer<typeof listedInterruption>;

const digest = z.string().max(100).optional().describe('If given, must be the digest of the interruption.');
const message = z.string().min(1).max(8192).optional();

/** Bodies of the three ways to decide about `/api/v1/interruptions/{id}`. */
export const approveBody = z
  .strictObject({
    arguments: jsonObject
      .optional()
      .describe('What the tool gets, and the model reads, in place of its own arguments.'),
    always: always.optional().describe('Approves later calls of the tool in this run too: `true` or a scope.'),
    budget: z
      .strictObject({ usd: usdText.describe('The new limit.') })
      .optional()
      .describe('Of an interruption of kind budget, and only there: how much may be spent.'),
    message,
    digest,
  })
  .meta({ id: 'Approve' });
export const rejectBody = z.strictObject({ message, digest }).meta({ id: 'Reject' });
export const answerBody = z.strictObject({ value: jsonValue, message, digest }).meta({ id: 'Answer' });

export type ApproveRequest = z.infer<typeof approveBody>;

/** A decision with its verdict, as a program gives it. */
export const decisionRequest = z.discriminatedUnion('verdict', [
  approveBody.extend({ verdict: z.literal('approve') }),
  rejectBody.extend({ verdict: z.literal('reject') }),
  answerBody.extend({ verdict: z.literal('answer') }),
]);

/** A decision as a person gives it. */
export type DecisionRequest =
  | ({ readonly verdict: 'approve' } & ApproveRequest)
  | ({ readonly verdict: 'reject' } & z.infer<typeof rejectBody>)
  | ({ readonly verdict: 'answer' } & z.infer<typeof answerBody>);

const STATUS_OF: Record<Verdict, InterruptionStatus> = {
  approve: 'approved',
  reject: 'rejected',
  answer: 'answered',
  expire: 'expired',
  cancel: 'cancelled',
};
export const statusAfter = (verdict: Verdict): InterruptionStatus => STATUS_OF[verdict];

export const DECIDED_MOST = 100;

/** Decisions about several interruptions, each bound to what was read. */
export const decideMany = z
  .strictObject({
    verdict: z.enum(['approve', 'reject']),
    items: z
      .array(z.strictObject({ id: idText, digest: z.string().min(1).max(100) }))
      .min(1)
      .max(DECIDED_MOST)
      .describe('Each with the digest of the interruption that was read.'),
    message: z.string().min(1).max(8192).optional().describe('Of each of the decisions.'),
  })
  .meta({ id: 'DecideMany' });
export type DecideMany = z.infer<typeof decideMany>;

export const decidedMany = z
  .object({
    items: z.array(
      z.object({
        id: z.string(),
        status: z
          .enum(INTERRUPTION_STATUSES)
          .nullable()
          .describe('`pending`: others must approve as well. Null: the decision was refused.'),
        error: z.object({ code: z.string(), detail: z.string() }).nullable(),
      }),
    ),
  })
  .meta({ id: 'DecidedMany' });
export type DecidedMany = z.infer<typeof decidedMany>;
