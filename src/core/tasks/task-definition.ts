import { z } from 'zod';
import { taskArtifacts } from '../artifacts/kept-artifacts.js';
import { environmentSpec, holdsPrograms } from '../containers/environment-spec.js';
import { HoldfastError } from '../errors/errors.js';
import { fieldErrorsOf } from '../field-errors.js';
import { canonical, digestOf, jsonObject } from '../json.js';
import { processRules } from './process-rules.js';
import { clashes, pathProblem, taskFiles, taskText } from './task-file.js';
import { placeholderName, randomizedInput, taskParameter } from './task-parameter.js';
import { placeholderProblems } from './task-texts.js';
import { rewardFileProblems, suiteProblems, taskVerification, testFilesOf } from './task-verification.js';

const DEFINITION_LARGEST = 8_388_608;
const METADATA_LARGEST = 65_536;

export const slug = z
  .string()
  .max(128)
  .regex(/^[a-z0-9]+(?:[._-][a-z0-9]+)*$/, 'is no name of small letters and digits with "-", "_" or "." between them');

export const TASK_VERSION =
  /^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})(-[0-9A-Za-z.-]{1,64})?(\+[0-9A-Za-z.-]{1,64})?$/;

export const DIFFICULTIES = ['easy', 'medium', 'hard', 'expert'] as const;

const tooLarge = (bytes: number): string => `is larger than ${bytes} bytes`;

const part = z.number().min(0).max(1).default(0);

/** What is left out counts nothing. */
const rewardWeights = z
  .strictObject({ testPass: part, compilation: part, progress: part, efficiency: part, codeQuality: part })
  .refine(
    (weights) => Math.abs(Object.values(weights).reduce((sum, weight) => sum + weight, 0) - 1) < 1e-9,
    'add up to something else than 1',
  );

const antiHardcoding = z.strictObject({
  /** Whether the agent sees nothing of the tests. If not, their files are in its workspace, below `tests`. */
  hiddenTests: z.boolean().default(true),
  /** Names of random texts for files and tests that must not turn up in what the agent says or writes. */
  canaries: z.array(placeholderName).max(20).default([]),
  /** Inputs that differ from one execution to the next, by name. */
  randomizedInputs: z.record(placeholderName, randomizedInput).default({}),
  /** Whether files that the agent wrote are looked through for `expectedOutputs`. */
  scanForExpectedOutputs: z.boolean().default(true),
  /** Files where expected outputs belong, so that finding one there says nothing. */
  outputFiles: z
    .array(z.string().refine((path) => pathProblem(path) === null, 'is no path below the workspace'))
    .max(100)
    .default([]),
});

const solution = z
  .strictObject({
    /** For `sh`, in the workspace, after the files are there. */
    script: taskText(1_048_576).min(1).nullable().default(null),
    /** Below the workspace. */
    files: taskFiles.default({}),
  })
  .refine(({ script, files }) => script !== null || Object.keys(files).length > 0, 'has neither a script nor files');

const steps = z.int().min(1).max(100_000);

/** A definition that is kept. Its next attempt goes on by what builds took before this one. */
export const keptDefinition = z
  .strictObject({
    name: slug,
    version: z.string().regex(TASK_VERSION, 'is no version such as 1.0.0'),
    createdAt: z.iso.datetime({ offset: true }).nullable().default(null),
    instruction: taskText(262_144).min(1),
    category: slug,
    difficulty: z.enum(DIFFICULTIES),
    environment: environmentSpec.refine(({ secrets }) => secrets.length === 0, {
      path: ['secrets'],
      error: 'are not for tasks: what a task holds is stored and shown',
    }),
    /** Below the workspace. */
    initialFiles: taskFiles.default({}),
    verification: taskVerification,
    /** What a right solution prints or writes. */
    expectedOutputs: z.array(taskText(65_536).min(1)).min(1).max(100).nullable().default(null),
    /** For the agent. Verification has its own. */
    timeoutSeconds: z.int().min(1).max(604_800).default(1800),
    maxTurns: z.int().min(1).max(10_000).default(50),
    tags: z.array(taskText(100).min(1)).max(50).default([]),
    antiHardcoding: antiHardcoding.prefault({}),
    estimatedSteps: z
      .strictObject({ min: steps, max: steps })
      .refine(({ min, max }) => min <= max, { path: ['min'], error: 'is more than max' })
      .nullable()
      .default(null),
    /** How the agent has to work; absent: as it likes. */
    process: processRules.exactOptional(),
    /** What of an attempt is kept beside its log; absent: nothing. */
    artifacts: taskArtifacts.exactOptional(),
    parameters: z.record(placeholderName, taskParameter).default({}),
    /** The reference. No agent sees it. */
    solution: solution.nullable().default(null),
    /** Null: those of the engine. */
    rewardWeights: rewardWeights.nullable().default(null),
    /** Null: the agent's own. */
    scaffold: slug.nullable().default(null),
    metadata: jsonObject.default({}),
  })
  .superRefine((task, context) => {
    const refuse = (path: readonly PropertyKey[], message: string): void =>
      context.addIssue({ code: 'custom', path: [...path], message });
    if (!task.antiHardcoding.hiddenTests) {
      const visible = Object.keys(testFilesOf(task.verification)).map((path) => `tests/${path}`);
      for (const path of visible.filter((one) => Object.hasOwn(task.initialFiles, one)))
        refuse(['initialFiles', path], 'is where a file of the tests is, which are not hidden');
      for (const path of clashes([...Object.keys(task.initialFiles), ...visible]))
        refuse(['initialFiles', path], 'is a file, and a directory of the tests, which are not hidden');
    }
    for (const [index, { prints }] of task.verification.tests.entries())
      if (prints !== undefined && task.expectedOutputs?.[prints] === undefined)
        refuse(
          ['verification', 'tests', index, 'prints'],
          'is the number of none of expectedOutputs, which begin with 0',
        );
    for (const { path, message } of placeholderProblems(task)) refuse(path, message);
  });

/** A versioned template of what an agent is asked to do, where, and how it is found out whether it did. docs/tasks/definition.md describes each field. */
export const taskDefinition = keptDefinition.superRefine((task, context) => {
  const refuse = (path: readonly PropertyKey[], message: string): void =>
    context.addIssue({ code: 'custom', path: [...path], message });
  for (const { path, message } of rewardFileProblems(task)) refuse(path, message);
  for (const { path, message } of suiteProblems(task.verification)) refuse(path, message);
  const { workdir, mounts } = task.environment;
  const programs = 'has programs of the image, which run the tests: an agent that writes there replaces them';
  if (holdsPrograms(workdir)) refuse(['environment', 'workdir'], programs);
  for (const [index, { target, readOnly }] of mounts.entries())
    if (!readOnly && holdsPrograms(target)) refuse(['environment', 'mounts', index, 'target'], programs);
  const bytes = (what: unknown): number => Buffer.byteLength(canonical(what));
  if (bytes(task.metadata) > METADATA_LARGEST) refuse(['metadata'], tooLarge(METADATA_LARGEST));
  if (bytes(task) > DEFINITION_LARGEST) refuse([], tooLarge(DEFINITION_LARGEST));
});

export type TaskInput = z.input<typeof taskDefinition>;
export type TaskDefinition = z.output<typeof taskDefinition>;

/** Reads a definition. Throws `task_invalid`, which names every field that is wrong. */
export function parseTask(value: unknown): TaskDefinition {
  const parsed = taskDefinition.safeParse(value);
  if (parsed.success) return parsed.data;
  const fields = fieldErrorsOf(parsed.error);
  const said = fields.map(({ pointer, detail }) => `${pointer === '' ? 'The definition' : pointer}: ${detail}`);
  throw new HoldfastError('task_invalid', `${said.slice(0, 5).join('; ')}.`, { fields });
}

/** By it two definitions are known to ask the same. When they were made says nothing of it. */
export const taskHashOf = ({ createdAt: _made, ...asked }: TaskDefinition): string => digestOf(asked);
