import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { canonical, digestOf, type JsonObject, type JsonValue, nameText, plainText } from '../json.js';
import { sized } from '../limits/allowance.js';
import type { ToolEnvironment } from '../tools/tool-environment.js';
import type { Evidence, GivenReward, Verdict } from './task-reward.js';

/** Beyond this no reward means anything, and sums stay exact enough. */
const REWARD_MAX = 1_000_000;
const SIGNALS_MAX = 50;

const amount = z.number().min(-REWARD_MAX).max(REWARD_MAX);

/** What a verifier or a person says of a run. */
export const giveReward = z
  .strictObject({
    reward: amount.describe('1 or more: the job was done; between 0 and 1: a part of it; 0 or less: it was not.'),
    signals: sized(SIGNALS_MAX, z.record(nameText, amount))
      .optional()
      .describe('What the reward is made of, by name: `{"tests": 1, "lint": 0.5}`.'),
    verificationPassed: z
      .boolean()
      .optional()
      .describe('Whether a verifier says that the job was done. Without: no one verified.'),
    reason: z.string().min(1).max(8192).optional(),
  })
  .meta({ id: 'GiveReward' });
export type GiveReward = z.input<typeof giveReward>;

/** What is committed to: the words of one who judged. */
export const judgement = z.object({
  reward: z.number(),
  signals: z.record(z.string(), z.number()),
  verificationPassed: z.boolean().nullable(),
  reason: z.string().nullable(),
});
export type RewardData = z.infer<typeof judgement>;

export const rewardView = judgement
  .extend({
    runId: z.string(),
    version: z.int().min(1).describe('1, 2, 3 …: the last one counts, those before stay.'),
    actor: z.string(),
    at: z.iso.datetime(),
    head: z.object({ seq: z.int(), hash: z.string() }).describe('Where the log of the run ended when it was given.'),
    prevHash: z.string().nullable().describe('`hash` of the version before; null: it is the first.'),
    hash: z.string(),
    intact: z.boolean().describe('Whether `hash`, `prevHash` and what is said still fit each other.'),
  })
  .meta({ id: 'Reward' });
export type RewardView = z.infer<typeof rewardView>;

export const rewardDataOf = (given: GiveReward): RewardData => ({
  reward: given.reward,
  signals: given.signals ?? {},
  verificationPassed: given.verificationPassed ?? null,
  reason: given.reason === undefined ? null : plainText(given.reason),
});

const wordsOf = ({ reward, signals, verificationPassed, reason }: RewardData): string =>
  canonical({ reward, signals, verificationPassed, reason });

export const isSameJudgement = (a: RewardData, b: RewardData): boolean => wordsOf(a) === wordsOf(b);

/** What is hashed of a version, beside its judgement. */
export interface RewardSeal {
  readonly runId: string;
  readonly tenant: string;
  readonly version: number;
  readonly actor: string;
  readonly at: string;
  readonly headSeq: number;
  readonly headHash: string;
  readonly prevHash: string | null;
}

/** Commits to a judgement as an event does to its payload, so that it can be erased and the chain of versions stays whole. */
export function rewardDataHash(runKey: string, version: number, data: RewardData): string {
  const salt = createHmac('sha256', Buffer.from(runKey, 'hex')).update(`reward:${version}`).digest();
  return `hmac-sha256:${createHmac('sha256', salt).update(canonical(data), 'utf8').digest('hex')}`;
}

/** SHA-256 over the named fields in canonical JSON: binds a version to the one before and to the log that it judges. */
export const rewardHash = (seal: RewardSeal, dataHash: string): string => {
  const { runId, tenant, version, actor, at, headSeq, headHash, prevHash } = seal;
  return digestOf({ v: 1, runId, tenant, version, actor, at, headSeq, headHash, prevHash, dataHash });
};

/** What a reward function knows of the run that it judges. */
export interface RewardFacts {
  readonly task: {
    readonly name: string;
    readonly version: string;
    readonly parameters: JsonObject;
    readonly seed: number;
    readonly metadata: JsonObject;
  };
  readonly runId: string;
  /** What the agent said in the end; null: a limit ended it. */
  readonly output: JsonValue;
  readonly evidence: Evidence;
  /** What the weighted signals give. */
  readonly verdict: Verdict;
  /** Where the tests ran. A command runs once, also when the function is executed again after a crash. */
  readonly environment: ToolEnvironment;
  readonly signal: AbortSignal;
}

/**
 * Gives the reward of a run in place of the weighted signals. Whether it is verified stays with the tests. It is executed again after a
 * crash until its outcome is kept. What it throws makes the result of the task an error.
 */
export type RewardFunction = (facts: RewardFacts) => GivenReward | Promise<GivenReward>;

const written = z.union([z.number(), z.object({ reward: z.number() }).transform(({ reward }) => reward)]);

/** What a test has written of how much of it passed, from 0 to 1: a number, or an object whose `reward` is one. Anything else is 0. */
export function shareOf(text: string): number {
  try {
    return Math.min(1, Math.max(0, written.safeParse(JSON.parse(text)).data ?? 0));
  } catch {
    return 0;
  }
}
