import { Command } from 'commander';
import { z } from 'zod';
import { HoldfastError } from '../../../core/errors/errors.js';
import { type TaskDefinition, taskHashOf } from '../../../core/tasks/task-definition.js';
import { TESTS_DIR, testFilesOf } from '../../../core/tasks/task-verification.js';
import { json, jsonOption } from '../../options.js';
import { plain, print, printJson } from '../../print.js';
import { readTask } from './read-task.js';

const options = z.object({ json });

export const taskCheckCommand = (): Command =>
  new Command('check')
    .description('Say what is wrong with a task, field by field; exit code 1 if something is.')
    .argument('<task>', 'a definition file, a directory, or the name of a task that ships')
    .addOption(jsonOption())
    .action((place: string, raw: unknown) => {
      const { json: asJson } = options.parse(raw);
      const checked = check(place);
      if ('error' in checked) {
        const { error } = checked;
        if (asJson) printJson({ ok: false, ...error.view(), problems: error.fields });
        else
          for (const { pointer, detail } of error.fields)
            print(`wrong  ${plain(pointer || 'all of it')}: ${plain(detail)}`);
        if (!asJson) throw error.fields.length === 0 ? error : summary(place, error);
        process.exitCode = 1;
        return;
      }
      const { task } = checked;
      const advice = adviceOn(task);
      if (asJson)
        return printJson({ ok: true, name: task.name, version: task.version, hash: taskHashOf(task), advice });
      for (const line of advice) print(`note   ${line}`);
      print(`right  ${taskText(task)}`);
    });

function check(place: string): { readonly task: TaskDefinition } | { readonly error: HoldfastError } {
  try {
    return { task: readTask(place) };
  } catch (error) {
    if (error instanceof HoldfastError) return { error };
    throw error;
  }
}

/** Each problem was printed already. */
const summary = (place: string, { code, fields }: HoldfastError): HoldfastError =>
  new HoldfastError(code, `${place} has ${fields.length === 1 ? 'a problem' : `${fields.length} problems`}.`);

const taskText = (task: TaskDefinition): string => {
  const { name, version, verification, initialFiles } = task;
  const files = `${Object.keys(initialFiles).length} files, ${Object.keys(testFilesOf(verification)).length} of tests in ${TESTS_DIR}`;
  return `${name} ${version}: ${verification.tests.length} tests, ${files}, ${taskHashOf(task)}`;
};

/** What is allowed and seldom meant. */
function adviceOn({ solution, antiHardcoding, estimatedSteps, environment }: TaskDefinition): readonly string[] {
  return [
    ...(solution === null ? ['solution: without one no one can see that the tests can be passed'] : []),
    ...(antiHardcoding.hiddenTests
      ? []
      : ['antiHardcoding.hiddenTests: the agent can read the tests and write for them alone']),
    ...(estimatedSteps === null ? ['estimatedSteps: without them there is no reward for efficiency'] : []),
    ...(environment.security.networkMode === 'open'
      ? ['environment.security.networkMode: the agent reaches the network']
      : []),
  ];
}
