import { z } from 'zod';

/** What verification found, and what that is worth. docs/rewards.md has the formulas in words. */

/** How a command of the verification ended. */
const commandEnd = z.object({
  exitCode: z.int().nullable().describe('Null: it was not run, because the time of the verification was over.'),
  timedOut: z.boolean(),
  outOfMemory: z.boolean(),
  stdout: z.string(),
  stderr: z.string(),
  omittedBytes: z.int().describe('How much more it wrote than is kept here.'),
});

const testEnd = commandEnd.extend({
  name: z.string(),
  weight: z.number(),
  share: z.number().min(0).max(1).describe('How much of it passed: 1 or 0, or what the test itself wrote.'),
});

/** Something that no honest solution has. */
const finding = z.object({
  kind: z.enum(['expected_output', 'canary']),
  place: z.string().describe('A file of the workspace, or `answer`.'),
  text: z.string().describe('The beginning of what was found there; of a canary its name.'),
});

const SIGNALS = ['test_pass', 'compilation', 'progress', 'efficiency', 'code_quality'] as const;
const weights = z.record(z.enum(SIGNALS), z.number());

/** What was found, before anybody judges it. */
const evidence = z.object({
  tests: z.array(testEnd),
  compile: commandEnd.nullable().describe('Null: the task has no such command.'),
  lint: commandEnd.nullable(),
  findings: z.array(finding),
  steps: z.int().describe('Answers of models that it took.'),
  estimatedSteps: z.object({ min: z.int(), max: z.int() }).nullable(),
});
export type Evidence = z.infer<typeof evidence>;

const signal = z.object({
  name: z.string(),
  value: z.number().nullable().describe('0 to 1; null: it was not measured.'),
  weight: z.number().describe('What it counts: where a signal was not measured, its weight goes to the others.'),
  why: z.string(),
});

/** What a reward function of the configuration gave. */
const givenReward = z.object({
  reward: z.number().min(-1_000_000).max(1_000_000),
  signals: z.record(z.string().min(1).max(200), z.number()).default({}),
  reason: z.string().min(1).max(8192).nullable().default(null),
});
export type GivenReward = z.input<typeof givenReward>;

const verdict = z.object({
  version: z.int(),
  weights,
  signals: z.array(signal),
  passed: z.boolean().describe('Whether every test passed, and nothing was found that is hard-coded.'),
  reward: z.number(),
  reason: z.string().nullable().describe('What is missing; null: nothing.'),
});
export type Verdict = z.infer<typeof verdict>;
