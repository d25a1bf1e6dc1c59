import { z } from 'zod';
import { type StepNote, stepNote } from '../agents/scaffold.js';
import { usageParts } from '../budgets/price.js';
import { workspaceChanges } from '../containers/workspace-changes.js';
import { isObject, type JsonObject, jsonObject, jsonValue } from '../json.js';
import { type CallOutcome, callOutcome } from '../log/call-outcome.js';
import { capabilityCheck } from '../log/event.js';
import { usdText } from '../money.js';
import { route } from '../routing/route.js';
import { errorView, usage } from '../runs/run.js';

const trajectoryCall = z.object({
  callId: z.string(),
  tool: z.string(),
  arguments: jsonValue,
  decision: z.enum(['allow', 'ask', 'deny', 'invalid']),
  checks: z.array(capabilityCheck),
  childRunId: z
    .string()
    .exactOptional()
    .describe('The run that the call started, if it is a sub-agent: the id of its trajectory.'),
});
export type TrajectoryCall = z.infer<typeof trajectoryCall>;

/** What the world of the run was before the step. */
const stepState = z
  .object({
    hash: z.string(),
    version: z.int(),
    inputItems: z.int().describe('How many items the model was shown.'),
    files: z
      .array(z.object({ path: z.string(), digest: z.string() }))
      .describe(
        'Files that calls have written so far, the last 100, with the SHA-256 of their content: those of `write_file`, and the [changed files](containers/file-changes.md) of an environment.',
      ),
    workingDirectory: z.string().nullable().describe('Null: the run has no environment.'),
    environmentNames: z.array(z.string()).describe('Names of environment variables, never their values.'),
    exitCode: z.int().nullable().describe('Of the last command; null: there was none.'),
    custom: jsonObject.nullable(),
  })
  .describe('Before the step.');

/** One step: what the model saw, said and asked for, and what came of it. A call that it never answered is the last step of a run. */
export const trajectoryStep = z
  .object({
    step: z.int().min(1),
    copied: z.boolean().describe('Whether a fork took the answer over from its source: nothing to learn twice.'),
    state: stepState,
    action: z.object({
      type: z
        .enum(['tool', 'message', 'none'])
        .describe('`tool`: it asks for calls, and may say something with them; `none`: the model gave no answer.'),
      agent: z.string(),
      model: z.string(),
      route: route.exactOptional(),
      finishReason: z
        .string()
        .exactOptional()
        .describe('Why the answer ended, as the model said it: `stop`, `tool_calls`, `length`, `content_filter`.'),
      text: z.string().nullable(),
      reasoning: z.string().nullable(),
      calls: z.array(trajectoryCall).describe('All that one answer asked for, in its order.'),
    }),
    observation: z.array(
      z.object({
        callId: z.string(),
        outcome: callOutcome,
        step: stepNote.exactOptional().describe('What the scaffold of the agent said of it.'),
        workspace: workspaceChanges
          .exactOptional()
          .describe('What it changed of the files, if the [environment](containers/file-changes.md) asks for that.'),
      }),
    ),
    reward: z
      .number()
      .nullable()
      .describe(
        'On the last step that of the run, if someone gave one; else what the scaffold gave its calls; null: nothing.',
      ),
    rewardSoFar: z
      .number()
      .nullable()
      .exactOptional()
      .describe(
        'Sum of what the scaffold gave the calls up to this step; on the last step the reward of the run, if there is one; null: nothing. Absent in older exports.',
      ),
    done: z.boolean(),
    info: z.object({
      error: errorView.nullable().describe('Why the model gave no answer; null if it gave one, or was stopped.'),
      usage,
      tokens: usageParts
        .pick({ cachedInputTokens: true, cacheWriteTokens: true, reasoningTokens: true })
        .nullable()
        .describe('Parts of `usage`; null: the provider did not say, or a fork took the answer over.'),
      costUsd: usdText.nullable().describe('What the answer cost; null: no price is known.'),
      attempts: z.int().describe('How many times the model was asked in this run, as far as it was charged.'),
      latencyMs: z.int().nullable().describe('From the request to the answer; null: it was not requested in this log.'),
      worker: z
        .string()
        .nullable()
        .describe('The worker that wrote the answer into the log; null: the process that took a request did.'),
      events: z.object({ from: z.int(), to: z.int() }),
      startedAt: z.string(),
      endedAt: z.string(),
      durationMs: z
        .int()
        .exactOptional()
        .describe('From `startedAt` to `endedAt`, with what calls of the step waited for. Absent in older exports.'),
    }),
  })
  .meta({ id: 'TrajectoryStep' });
export type TrajectoryStep = z.infer<typeof trajectoryStep>;

const texts = (items: unknown, field: 'content' | 'rawContent', types: readonly string[]): string[] =>
  isObject(items) && Array.isArray(items[field])
    ? items[field].flatMap((part: unknown) =>
        isObject(part) && types.includes(String(part['type'])) && typeof part['text'] === 'string'
          ? [part['text']]
          : [],
      )
    : [];

/** The text of the messages, or of the reasoning, among the items of a response; null: there is none. */
export function said(output: readonly JsonObject[], type: 'message' | 'reasoning'): string | null {
  const parts = output
    .filter(
      (item) =>
        item['type'] === type || (type === 'message' && item['type'] === undefined && item['role'] === 'assistant'),
    )
    .flatMap((item) =>
      type === 'message'
        ? texts(item, 'content', ['output_text'])
        : [...texts(item, 'content', ['input_text']), ...texts(item, 'rawContent', ['reasoning_text'])],
    );
  return parts.length === 0 ? null : parts.join('\n');
}

/** What of a run's environment its trajectory shows: never what its variables hold. */
export interface SeenEnvironment {
  readonly workdir: string;
  readonly names: readonly string[];
}

type Shown = Pick<TrajectoryStep['state'], 'workingDirectory' | 'environmentNames' | 'exitCode' | 'custom'>;

/** The environment before a step. `exitCode`: of the last command. */
export const shownEnvironment = (seen: SeenEnvironment | null, exitCode: number | null): Shown => ({
  ...{ workingDirectory: seen?.workdir ?? null, environmentNames: [...(seen?.names ?? [])] },
  ...{ exitCode, custom: null },
});

const command = z.looseObject({ exitCode: z.int() });

/**
 * Returns the exit code of the last command after one more call has ended. A scaffold that makes a text of the result says the
 * code in the `info` of its step. Calls without a code change nothing.
 */
export function exitCodeAfter(
  before: number | null,
  seen: SeenEnvironment | null,
  outcome: CallOutcome,
  step: StepNote | null | undefined,
): number | null {
  if (seen === null || outcome.type !== 'output') return before;
  const { data } = command.safeParse(outcome.output);
  return (data ?? command.safeParse(step?.info).data)?.exitCode ?? before;
}
