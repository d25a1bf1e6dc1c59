import { Command, Option } from 'commander';
import { z } from 'zod';
import { readSettings } from '../../../config.js';
import { VALIDATION_VERDICTS, type ValidatedTask } from '../../../core/tasks/validation.js';
import { DEFAULT_DOCKER_HOST } from '../../../engine/containers/open-containers.js';
import { json, jsonOption, whole } from '../../options.js';
import { plain, print, printJson } from '../../print.js';
import { readTask } from './read-task.js';

const options = z.object({
  json,
  repeat: z.number(),
  atOnce: z.number(),
  seed: z.number(),
  image: z.string().optional(),
});

export const taskValidateCommand = (): Command =>
  new Command('validate')
    .description('Try tasks with their reference solution and with nothing; exit code 1 if one is not right.')
    .argument('<task...>', 'definition files, directories, or names of tasks that ship')
    .addOption(
      new Option('--repeat <n>', 'how often each is tried, which finds tests that are flaky')
        .argParser(whole(1, 100))
        .default(1),
    )
    .addOption(new Option('--at-once <n>', 'attempts at once').argParser(whole(1, 64)).default(4))
    .addOption(
      new Option('--seed <n>', 'what is random in the tasks follows from it')
        .argParser(whole(0, 999_999_999))
        .default(7),
    )
    .option('--image <image>', 'in place of those of the definitions')
    .addOption(jsonOption())
    .action(async (places: readonly string[], raw: unknown) => {
      const { json: asJson, image = null, ...asked } = options.parse(raw);
      const tasks = places.map((place) => readTask(place));
      const stop = new AbortController();
      const end = (): void => stop.abort(new Error('The validation was ended by a signal.'));
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, end);
      // Loaded when needed: few commands have an engine of their own.
      const { validateTasks } = await import('../../../engine/standalone/validate-tasks.js');
      const { dockerHost: host, dockerCertPath } = readSettings();
      const engine = { dockerHost: host ?? DEFAULT_DOCKER_HOST, dockerCertPath };
      const onTask = (task: ValidatedTask): void => (asJson ? undefined : printTask(task));
      try {
        const found = await validateTasks(tasks, { ...asked, image, ...engine, signal: stop.signal, onTask });
        const counts = Object.fromEntries(
          VALIDATION_VERDICTS.map((verdict) => [verdict, found.filter((one) => one.verdict === verdict).length]),
        );
        if (asJson) printJson({ counts, tasks: found });
        else print(VALIDATION_VERDICTS.map((verdict) => `${counts[verdict]} ${verdict}`).join(', '));
        if (found.some(({ verdict }) => verdict !== 'right')) process.exitCode = 1;
      } finally {
        for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, end);
      }
    });

function printTask({ name, version, verdict, problems, solved, idle }: ValidatedTask): void {
  const rewards = idle.rewards.map((reward) => reward ?? 'none').join(' ');
  print(
    `${verdict.padEnd(6)} ${plain(name)} ${plain(version)}: solution ${solved.passed} of ${solved.attempts}, reward for nothing ${rewards}`,
  );
  for (const problem of problems) print(`       ${plain(problem)}`);
}
