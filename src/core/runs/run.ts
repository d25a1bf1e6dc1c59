import { z } from 'zod';
import { sessionId } from '../agents/session.js';
import { askedBudget, runBudget } from '../budgets/budget.js';
import { integrity } from '../integrity.js';
import { type JsonObject, jsonObject, jsonValue, nameText } from '../json.js';
import { usdText } from '../money.js';
import { cutValues } from '../page.js';
import { subjectNames } from '../retention/erasure.js';

export const RUN_STATUSES = ['queued', 'running', 'paused', 'completed', 'failed', 'cancelled'] as const;
export const runStatus = z.enum(RUN_STATUSES);
export type RunStatus = z.infer<typeof runStatus>;

export const OVER: ReadonlySet<RunStatus> = new Set(['completed', 'failed', 'cancelled']);
export const isOver = (status: RunStatus): boolean => OVER.has(status);

/** The message of a run that ended because its segment could never go on. */
export const strandedText = (segment: number, why: string): string =>
  `Segment ${segment} cannot go on: ${why}`.slice(0, 4096).toWellFormed();

const STRANDED = /^Segment \d+ cannot go on: /;

export const isStranded = (message: string): boolean => STRANDED.test(message);

export const errorView = z
  .object({ code: z.string(), message: z.string(), hint: z.string() })
  .meta({ id: 'RunError', description: 'Why a run failed: a code of docs/errors.md, what happened, and the way out.' });

export const usage = z
  .object({ inputTokens: z.int().min(0), outputTokens: z.int().min(0), totalTokens: z.int().min(0) })
  .meta({ id: 'Usage' });
export type Usage = z.infer<typeof usage>;

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
export const addUsage = (a: Usage, b: Usage): Usage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  totalTokens: a.totalTokens + b.totalTokens,
});

/** Limits of a run. Each counts over all its segments; reaching one ends the run with a named error. */
export const runLimits = z
  .object({
    maxTurns: z.int().min(1).max(10_000),
    maxTotalTokens: z.int().min(1).nullable(),
    /** Milliseconds in which the run is neither queued nor paused. */
    maxDurationMs: z.int().min(1).nullable(),
    /** Milliseconds from its start, also those in which it is queued or paused; not there: as long as it takes. */
    maxElapsedMs: z.int().min(1).exactOptional(),
    /** What its model calls may cost; not there: as much as they do. */
    budget: runBudget.exactOptional(),
  })
  .meta({ id: 'RunLimits' });
export type RunLimits = z.infer<typeof runLimits>;

/** The input of an agent: a text, or the items of a conversation in the format of the Agents SDK. */
export const runInput = z.union([z.string(), z.array(jsonObject).min(1).max(10_000)]);

export const startRun = z
  .strictObject({
    agent: z.string().min(1).max(200).describe('Name of an agent of the configuration.'),
    input: runInput,
    sessionId: sessionId.optional(),
    grants: z
      .array(
        z.union([
          z.string().max(4096),
          z.strictObject({ capability: z.string().max(4096), effect: z.enum(['allow', 'ask', 'deny']) }),
        ]),
      )
      .max(1000)
      .optional()
      .describe('Narrows what the agent is granted, for this run only. A run can never hold more than its agent.'),
    maxTurns: runLimits.shape.maxTurns.optional(),
    maxTotalTokens: z.int().min(1).optional(),
    maxDurationMs: z.int().min(1).optional(),
    maxElapsedMs: z
      .int()
      .min(1)
      .optional()
      .describe(
        'So many milliseconds after its start it is cancelled, also where it waits. A plan with `undo` undoes what it did instead.',
      ),
    budget: askedBudget.optional().describe('What its model calls, and those of its sub-agents, may cost.'),
    priority: z.int().min(1).max(1_000_000).optional().describe('Lower starts earlier. Without one: 1000.'),
    stream: z
      .boolean()
      .optional()
      .describe('Whether its models answer in pieces, which the event stream shows live. Without: as the agent says.'),
    context: jsonObject
      .optional()
      .describe(
        'What tools and callbacks of the Agents SDK get as `RunContext.context`; 256 KiB at most. Its agent must declare it.',
      ),
    metadata: jsonObject.optional().describe('Kept with the run as it is; 16 KiB at most.'),
    subjects: subjectNames.optional().describe('Whom the run is about: all of one of them can be erased.'),
  })
  .meta({ id: 'StartRun' });
export type StartRun = z.input<typeof startRun>;

export const runView = z
  .object({
    id: z.string(),
    tenant: z.string(),
    parentRunId: z.string().nullable(),
    sessionId: z.string().nullable(),
    agent: z.string(),
    agentVersion: z.string(),
    status: runStatus,
    input: jsonValue,
    output: jsonValue,
    error: errorView.nullable(),
    interruptions: z.array(z.string()).describe('Ids of the interruptions that are pending.'),
    segment: z.int(),
    turns: z.int(),
    usage,
    costUsd: usdText
      .nullable()
      .describe('What its model calls cost, and those of its sub-agents that are over. Null: a price is not known.'),
    limits: runLimits,
    metadata: jsonObject,
    forkedFrom: z
      .object({ runId: z.string(), seq: z.int() })
      .nullable()
      .describe('The run and the event of it that this one was forked from, or tried again from.'),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
    completedAt: z.iso.datetime().nullable(),
    erasedAt: z.iso.datetime().nullable().describe('When its content was erased; null: it is there.'),
    integrity,
  })
  .meta({ id: 'Run' });
export type RunView = z.infer<typeof runView>;

export const listedRun = runView.extend({ cut: cutValues }).meta({ id: 'ListedRun' });
export type ListedRun = z.infer<typeof listedRun>;

/** The DBOS workflow of one segment. Permanent: the name is in the database. */
export const SEGMENT_WORKFLOW = 'holdfast.segment';

const TAGS_MAX = 50;

const tag = nameText.max(100);
const label = nameText.nullable().catch(null);
const seedLabel = z.int().nullable().catch(null);

/** What a run says of itself in its metadata that lists are narrowed by. What has another shape is no label. */
export function labelsOf(metadata: JsonObject): {
  readonly taskId: string | null;
  readonly tags: string[];
  readonly seed: number | null;
} {
  const { taskId = null, tags, seed = null } = metadata;
  const named = (Array.isArray(tags) ? tags : []).flatMap((one: unknown) => tag.safeParse(one).data ?? []);
  return {
    taskId: label.parse(taskId),
    tags: [...new Set(named)].slice(0, TAGS_MAX),
    seed: seedLabel.parse(seed),
  };
}

/** The plan of a run, which people approved before the run began. */
export const approvedPlan = z.object({
  runId: z.string().describe('The run that it was approved for. In a fork it is another one, and allows nothing.'),
  digest: z.string().describe('SHA-256 over the plan and its input as canonical JSON.'),
  by: z.array(z.string()).describe('Who approved it.'),
});
export type ApprovedPlan = z.infer<typeof approvedPlan>;
