import { z } from 'zod';
import { HoldfastError } from '../errors/errors.js';
import type { JsonObject } from '../json.js';
import type { ResolvedTask } from '../tasks/resolve-task.js';
import { literally } from '../tasks/task-texts.js';

/**
 * What a task says that Harbor cannot: kept as one text in `metadata.holdfast` of its `task.toml`, so that an import has it again. Its
 * fields are those of a definition, whose schema parses them.
 */

const anything = z.unknown();
const kept = z.looseObject({
  hasSolution: z.boolean(),
  verification: z.looseObject({ tests: z.array(z.looseObject({ command: z.array(z.string()) })) }),
  environment: z.looseObject({}),
  name: anything,
  version: anything,
  createdAt: anything,
  maxTurns: anything,
  estimatedSteps: anything,
  expectedOutputs: anything,
  antiHardcoding: anything,
  rewardWeights: anything,
  scaffold: anything,
  category: anything,
  metadata: anything,
});
export type KeptTask = z.output<typeof kept>;

/** Throws `task_inconvertible` where the text is none that an export wrote. */
export function keptTask(text: string | null): KeptTask | null {
  if (text === null) return null;
  try {
    return kept.parse(JSON.parse(text));
  } catch (cause) {
    throw new HoldfastError('task_inconvertible', 'task.toml metadata.holdfast is nothing that an export wrote.', {
      cause,
      hint: 'Remove it, or export the task again.',
    });
  }
}

/** The text of a task. What is filled in already is not to be filled in again. */
export function keptText(task: ResolvedTask): string {
  const { verification, expectedOutputs, antiHardcoding, canaries: _canaries, ...rest } = task;
  const { instruction: _i, initialFiles: _f, solution, tags: _t, timeoutSeconds: _s, difficulty: _d, ...more } = rest;
  const { definitionHash: _h, seed: _seed, parameters: _p, ...fields } = more;
  const { files: _files, tests, ...checks } = verification;
  const all = (texts: readonly string[]): readonly string[] => texts.map(literally);
  const said: JsonObject = JSON.parse(
    JSON.stringify({
      ...fields,
      hasSolution: solution !== null,
      expectedOutputs: expectedOutputs && all(expectedOutputs),
      antiHardcoding: { ...antiHardcoding, canaries: [], randomizedInputs: {} },
      verification: {
        ...checks,
        compile: checks.compile && all(checks.compile),
        lint: checks.lint && all(checks.lint),
        tests: tests.map(({ files: _own, command, ...test }) => ({
          ...test,
          ...(command !== undefined && { command: all(command) }),
        })),
      },
    }),
  );
  return JSON.stringify(said);
}
