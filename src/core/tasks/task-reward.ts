import { z } from 'zod';
import { keptArtifacts } from '../artifacts/kept-artifacts.js';
import { plainText } from '../json.js';
import { BROKEN, type Judgement } from '../trajectories/trajectory-result.js';
import { ruleEnd } from './process-rules.js';

/** What verification found, and what that is worth. docs/tasks/rewards.md has the formulas in words. */

/** Raised when a formula below changes. */
export const REWARD_VERSION = 1;

/** How a command of the verification ended. */
export const commandEnd = z.object({
  exitCode: z.int().nullable().describe('Null: it was not run, because the time of the verification was over.'),
  timedOut: z.boolean(),
  outOfMemory: z.boolean(),
  stdout: z.string(),
  stderr: z.string(),
  omittedBytes: z.int().describe('How much more it wrote than is kept here.'),
});
export type CommandEnd = z.infer<typeof commandEnd>;

export const testEnd = commandEnd.extend({
  name: z.string(),
  weight: z.number(),
  share: z.number().min(0).max(1).describe('How much of it passed: 1 or 0, or what the test itself wrote.'),
  why: z.string().exactOptional().describe('Why it did not pass whole, where its exit code does not say it.'),
});
export type TestEnd = z.infer<typeof testEnd>;

/** Something that no honest solution has. */
export const finding = z.object({
  kind: z.enum(['expected_output', 'canary']),
  place: z
    .string()
    .describe('A file of the workspace, `answer`, or a turn, such as `turn 3`, also of a run that the run started.'),
  text: z.string().describe('What was found, in a sentence.'),
});
export type Finding = z.infer<typeof finding>;

export const SIGNALS = ['test_pass', 'compilation', 'progress', 'efficiency', 'code_quality'] as const;
type SignalName = (typeof SIGNALS)[number];
const weights = z.record(z.enum(SIGNALS), z.number());
export type SignalWeights = z.infer<typeof weights>;

export const DEFAULT_WEIGHTS: SignalWeights = {
  ...{ test_pass: 0.5, compilation: 0.1, progress: 0.2, efficiency: 0.1, code_quality: 0.1 },
};

/** What was found, before anybody judges it. */
export const evidence = z.object({
  tests: z.array(testEnd),
  compile: commandEnd.nullable().describe('Null: the task has no such command.'),
  lint: commandEnd.nullable(),
  findings: z.array(finding),
  broken: z
    .string()
    .exactOptional()
    .describe('What the agent broke of its container, so that nothing more could be judged: it counts as nothing.'),
  unseen: z
    .array(z.string())
    .exactOptional()
    .describe('What was not looked through for canaries and expected outputs: without it nothing is a success.'),
  process: z
    .array(ruleEnd)
    .exactOptional()
    .describe('How the [rules for the process](tasks/process.md) were kept, if the task has some.'),
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
export type Signal = z.infer<typeof signal>;

/** What a reward function of the configuration gives. */
export const givenReward = z.object({
  reward: z.number().min(-1_000_000).max(1_000_000),
  signals: z.record(z.string().min(1).max(200), z.number()).default({}),
  reason: z.string().min(1).max(8192).nullable().default(null),
});
export type GivenReward = z.input<typeof givenReward>;

export const verdict = z.object({
  version: z.int(),
  weights,
  signals: z.array(signal),
  passed: z.boolean().describe('Whether every test passed, and nothing was found that is hard-coded.'),
  reward: z.number(),
  reason: z.string().nullable().describe('What is missing; null: nothing.'),
});
export type Verdict = z.infer<typeof verdict>;

interface Measured {
  readonly value: number | null;
  readonly why: string;
}

const few = (value: number): number => Math.round(value * 1e6) / 1e6;
const percent = (value: number): string => `${few(value * 100)} %`;

/**
 * Judges evidence. Where no test passed even in part, something is hard-coded or a rule for the process is broken, the reward is 0: what compiles and is clean without
 * doing its job is worth nothing.
 */
export function verdictOf(found: Evidence, weights: SignalWeights): Verdict {
  const passing = found.tests.filter(({ share }) => share >= 1);
  const allPass = passing.length === found.tests.length;
  const measured = measure(found, allPass);
  const total = SIGNALS.reduce((sum, name) => sum + (measured[name].value === null ? 0 : (weights[name] ?? 0)), 0);
  const signals = SIGNALS.map((name): Signal => {
    const { value, why } = measured[name];
    return { name, value, weight: value === null || total === 0 ? 0 : few((weights[name] ?? 0) / total), why };
  });
  const isHonest = found.findings.length === 0 && found.broken === undefined && brokenIn(found).length === 0;
  const passed = allPass && isHonest && unseenIn(found).length === 0;
  const didSomething = found.tests.some(({ share }) => share > 0) && isHonest;
  const sum = SIGNALS.reduce((all, name) => all + (measured[name].value ?? 0) * (weights[name] ?? 0), 0);
  const reward = didSomething && total > 0 ? few(sum / total) : 0;
  return { version: REWARD_VERSION, weights, signals, passed, reward, reason: passed ? null : missingIn(found) };
}

function measure(found: Evidence, allPass: boolean): { readonly [name in SignalName]: Measured } {
  const { tests, compile, lint, steps, estimatedSteps } = found;
  const weight = tests.reduce((sum, test) => sum + test.weight, 0);
  const passed = tests.reduce((sum, test) => sum + (test.share >= 1 ? test.weight : 0), 0);
  const count = tests.filter(({ share }) => share >= 1).length;
  const shares = tests.reduce((sum, test) => sum + test.share, 0) / tests.length;
  return {
    test_pass: {
      value: few(passed / weight),
      why: `${count} of ${tests.length} tests passed, which are ${percent(passed / weight)} by their weights.`,
    },
    compilation: ofCommand(compile, 'It compiles.', 'It does not compile'),
    progress: { value: few(shares), why: `Of each test ${percent(shares)} passed on average, whatever its weight.` },
    efficiency: efficiencyOf(steps, estimatedSteps, allPass),
    code_quality: ofCommand(lint, 'It is clean.', 'It is not clean'),
  };
}

function ofCommand(end: CommandEnd | null, good: string, bad: string): Measured {
  if (end === null) return { value: null, why: 'Not measured: the task has no command for it.' };
  return end.exitCode === 0 && !end.timedOut ? { value: 1, why: good } : { value: 0, why: `${bad}: ${endOf(end)}.` };
}

const endOf = ({ exitCode, timedOut }: CommandEnd): string => {
  if (exitCode === null) return 'no time was left for it';
  return timedOut ? 'it did not end in its time' : `exit code ${exitCode}`;
};

function efficiencyOf(steps: number, expected: Evidence['estimatedSteps'], allPass: boolean): Measured {
  if (expected === null) return { value: null, why: 'Not measured: the task does not say how many steps it takes.' };
  const took = `It took ${steps} steps, of ${expected.min} to ${expected.max} that are expected`;
  if (!allPass) return { value: 0, why: `${took}; that says nothing while tests fail.` };
  return { value: few(Math.min(1, expected.min / Math.max(1, steps))), why: `${took}.` };
}

const NAMED_TESTS = 20;
const NAMED_FINDINGS = 5;

const said = (findings: readonly Finding[]): string =>
  findings
    .slice(0, NAMED_FINDINGS)
    .map(({ text }) => text)
    .join('; ');

/** Rules for the process that were broken. */
const brokenIn = ({ process }: Evidence) => (process ?? []).filter(({ kept }) => !kept);

const unseenIn = ({ unseen }: Evidence): readonly string[] => unseen ?? [];

const brokenRules = (found: Evidence): string =>
  brokenIn(found)
    .slice(0, NAMED_FINDINGS)
    .map(({ rule, why }) => `${rule} (${why})`)
    .join('; ');

function missingIn(found: Evidence): string {
  const { tests, findings, broken } = found;
  const unseen = unseenIn(found);
  if (broken !== undefined) return `${BROKEN}: ${broken}`;
  const failed = tests.filter(({ share }) => share < 1);
  const named = failed
    .slice(0, NAMED_TESTS)
    .map((test) => `${test.name} (${test.share > 0 ? percent(test.share) : (test.why ?? endOf(test))})`);
  const more = failed.length > NAMED_TESTS ? ` and ${failed.length - NAMED_TESTS} more` : '';
  return [
    ...(findings.length === 0 ? [] : [`Hard-coded: ${said(findings)}.`]),
    ...(brokenIn(found).length === 0 ? [] : [`Rules of the process: ${brokenRules(found)}.`]),
    ...(unseen.length === 0 ? [] : [`Not looked through: ${unseen.slice(0, NAMED_FINDINGS).join('; ')}.`]),
    ...(failed.length === 0
      ? []
      : [`${failed.length} of ${tests.length} tests did not pass: ${named.join(', ')}${more}.`]),
  ].join(' ');
}

const SIGNALS_MOST = 50;

/** What of a verification the log says. */
export const taskVerified = z.object({
  taskId: z.string().describe('Task.'),
  definitionHash: z.string().describe('Hash of its definition.'),
  evidence: evidence.describe(
    'What the verification found: `tests`, `compile`, `lint`, `findings`, `steps` and others.',
  ),
  verdict: verdict.describe(
    '`{version, weights, signals, passed, reward, reason}`, which formulas make of the evidence.',
  ),
  given: givenReward
    .required()
    .extend({ name: z.string() })
    .nullable()
    .describe('Reward by a reward function, which replaces that of the verdict; null = none.'),
  artifacts: keptArtifacts
    .exactOptional()
    .describe('[Artifacts](tasks/artifacts.md) of the attempt as `{items, leftOut, more}`, if its task keeps some.'),
});
export type TaskVerified = z.infer<typeof taskVerified>;

/** The same evidence judged by the formulas of today; by those of another version as it was. */
export const judgedAgain = (told: TaskVerified): TaskVerified =>
  told.verdict.version === REWARD_VERSION ? { ...told, verdict: verdictOf(told.evidence, told.verdict.weights) } : told;

/** What is said of the run: signals that were measured, each test that did not pass, and what a function gave in place of the sum. */
export function judgementOf({
  evidence: found,
  verdict: judged,
  given,
}: Pick<TaskVerified, 'evidence' | 'verdict' | 'given'>): Judgement {
  const measured = judged.signals.flatMap(({ name, value }) => (value === null ? [] : [[name, value] as const]));
  const failed = found.tests.flatMap(({ name, share }) => (share < 1 ? [[`test:${name}`, share] as const] : []));
  const all = [
    ...measured,
    ...(found.findings.length > 0 ? [['honesty', 0] as const] : []),
    ...(unseenIn(found).length > 0 ? [['looked_through', 0] as const] : []),
    ...brokenIn(found).map(({ rule }) => [`process:${rule}`.slice(0, 200), 0] as const),
    ...failed,
  ].slice(0, SIGNALS_MOST);
  return {
    reward: given?.reward ?? judged.reward,
    signals: { ...Object.fromEntries(all), ...given?.signals },
    verificationPassed: judged.passed,
    reason: plainText(given?.reason ?? judged.reason ?? '') || null,
  };
}

/** What was kept of an attempt that was not verified. */
export const leftArtifacts = keptArtifacts
  .exactOptional()
  .describe(
    '[Artifacts](tasks/artifacts.md) as `{items, leftOut, more}`, if the run is an attempt at a task that keeps some and was not verified.',
  );

const SHOWN = 80;
const shown = (line: string | undefined): string =>
  line === undefined ? 'nothing' : JSON.stringify(line.slice(0, SHOWN).toWellFormed());

const linesOf = (text: string): readonly string[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => line.trimEnd());

/** Compares what a command printed with what is expected, line by line. White space at ends of lines does not count. */
export function comparedOutput(
  { stdout, omittedBytes }: Pick<CommandEnd, 'stdout' | 'omittedBytes'>,
  expected: string,
): { readonly share: number; readonly why?: string } {
  const [printed, wanted] = [linesOf(stdout), linesOf(expected)];
  const length = Math.max(printed.length, wanted.length);
  for (let at = 0; at < length; at++) {
    if (printed[at] === wanted[at]) continue;
    return { share: 0, why: `line ${at + 1} is ${shown(printed[at])} where ${shown(wanted[at])} is expected` };
  }
  return omittedBytes === 0 ? { share: 1 } : { share: 0, why: 'it printed more than is expected' };
}
