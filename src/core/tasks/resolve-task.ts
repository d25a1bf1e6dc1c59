import type { AgentEnvironment } from '../containers/environment.js';
import { HoldfastError } from '../errors/errors.js';
import type { JsonObject } from '../json.js';
import type { Allowance } from '../limits/allowance.js';
import { type TaskDefinition, taskHashOf } from './task-definition.js';
import { canaryText, chooseParameters, drawn, drawnNumbers, type ParameterValue } from './task-parameter.js';
import type { SignalWeights } from './task-reward.js';
import { fillTask } from './task-texts.js';
import { testFilesOf } from './task-verification.js';

/** What who submits a task says of it. */
interface TaskChoice {
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Decides everything random: a whole number from 0. Not for agents: canaries come from it. */
  readonly seed: number;
}

/** A task as one execution has it: no placeholder is left. */
export interface ResolvedTask extends Omit<TaskDefinition, 'parameters'> {
  /** Of the definition that it was made from. */
  readonly definitionHash: string;
  readonly seed: number;
  readonly parameters: Readonly<Record<string, ParameterValue>>;
  /** Texts by their names that must not turn up in what the agent says or writes. */
  readonly canaries: Readonly<Record<string, string>>;
}

/**
 * A task of a definition: the same choice gives the same task, always. An agent is shown `instruction` and `initialFiles`
 * alone. Throws `task_parameters_invalid`, which names every parameter that is wrong, and `payload_too_large` where the allowance does.
 */
export function resolveTask(
  definition: TaskDefinition,
  { parameters, seed }: TaskChoice,
  allowance: Allowance,
): ResolvedTask {
  if (!Number.isSafeInteger(seed) || seed < 0)
    throw refused([{ pointer: '/seed', detail: 'is no whole number from 0' }]);
  const chosen = chooseParameters(definition.parameters, parameters);
  if ('wrong' in chosen) throw refused(chosen.wrong);
  const { canaries, randomizedInputs } = definition.antiHardcoding;
  for (const input of Object.values(randomizedInputs)) allowance.work(drawnNumbers(input), 'Drawing the random inputs');
  const texts = new Map(canaries.map((name) => [name, canaryText(name, definition.name, seed)]));
  const values = new Map([
    ...[...chosen.values].map(([name, value]) => [name, String(value)] as const),
    ...Object.entries(randomizedInputs).map(([name, input]) => [name, drawn(input, name, seed)] as const),
    ...texts,
  ]);
  const filled = fillTask(definition, values, allowance);
  const visible = definition.antiHardcoding.hiddenTests ? [] : Object.entries(testFilesOf(filled.verification));
  return {
    ...filled,
    initialFiles: {
      ...filled.initialFiles,
      ...Object.fromEntries(visible.map(([path, file]) => [`tests/${path}`, file])),
    },
    definitionHash: taskHashOf(definition),
    seed,
    parameters: Object.fromEntries(chosen.values),
    canaries: Object.fromEntries(texts),
  };
}

function refused(fields: readonly { readonly pointer: string; readonly detail: string }[]): HoldfastError {
  const said = fields.slice(0, 5).map(({ pointer, detail }) => `${pointer}: ${detail}`);
  return new HoldfastError('task_parameters_invalid', `${said.join('; ')}.`, { fields });
}

/** The task that a run executes, as the run has it. */
export interface RunTask {
  readonly id: string;
  readonly definitionHash: string;
  readonly resolved: ResolvedTask;
  /** Where the agent works, and what is made again for the tests. */
  readonly environment: AgentEnvironment;
  readonly parameters: JsonObject;
  readonly weights: SignalWeights;
  /** Of the configuration; null: the weighted signals. */
  readonly rewardFunction: string | null;
}
