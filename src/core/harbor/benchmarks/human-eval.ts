import type { JsonObject } from '../../json.js';
import type { TaskInput } from '../../tasks/task-definition.js';
import { literally } from '../../tasks/task-texts.js';
import { slugOf } from '../harbor-config.js';
import {
  type BenchmarkLine,
  Importing,
  type ImportOptions,
  type ImportReport,
  NotFitting,
  neededText,
  noteUnread,
  objectsIn,
  PYTHON_IMAGE,
  textIn,
} from './imported.js';

/** Functions in Python to be completed, as HumanEval has them: one JSON object in each line. */

const READ = new Set(['task_id', 'prompt', 'entry_point', 'canonical_solution', 'test']);
const NAME = /^[A-Za-z_]\w*$/;

export const isHumanEval = (value: JsonObject): boolean =>
  textIn(value, 'task_id') !== null && textIn(value, 'prompt') !== null && textIn(value, 'test') !== null;

export function importHumanEval(lines: readonly BenchmarkLine[], { image }: ImportOptions): ImportReport {
  const importing = new Importing();
  for (const [line, value] of objectsIn(lines, importing))
    importing.take(textIn(value, 'task_id') ?? line, (note) => taskOf(value, image ?? PYTHON_IMAGE, note));
  return importing.report();
}

function taskOf(value: JsonObject, image: string, note: (text: string) => void): TaskInput {
  const id = neededText(value, 'task_id');
  const prompt = neededText(value, 'prompt');
  const entry = neededText(value, 'entry_point');
  const checks = neededText(value, 'test');
  const solution = textIn(value, 'canonical_solution');
  if (!NAME.test(entry)) throw new NotFitting(`its field entry_point is no name of a function: ${entry.slice(0, 60)}`);
  if (!/^def check\(/m.test(checks)) throw new NotFitting('its field test defines no function check');
  noteUnread(value, READ, note);
  note('difficulty: not said; medium here');
  if (solution === null) note('canonical_solution: not there, so that the task has no reference solution');
  const whole = solution === null ? null : `${prompt}${solution}`;
  return {
    ...{ name: slugOf(id), version: '1.0.0', category: 'code-generation', difficulty: 'medium', tags: ['python'] },
    instruction: literally(
      `Complete the function \`${entry}\` in \`solution.py\`. Keep its name and its parameters.\n\n\`\`\`python\n${prompt.trimEnd()}\n\`\`\`\n`,
    ),
    environment: { image },
    initialFiles: { 'solution.py': literally(prompt) },
    verification: {
      files: { 'test_solution.py': literally(testFile(whole ?? prompt, entry, checks)) },
      tests: [{ name: 'check', runner: 'unittest', suite: ['test_solution.py'], tests: 1 }],
    },
    solution: whole === null ? null : { files: { 'solution.py': literally(whole) } },
    metadata: { source: { format: 'humaneval', taskId: id, entryPoint: entry } },
  };
}

/**
 * The checks call functions of the prompt beside the one that is asked for. They get those of the benchmark, and never those of the
 * agent.
 */
const testFile = (reference: string, entry: string, checks: string): string =>
  `${reference.trimEnd()}\n\n\n${checks.trim()}\n\n\nimport unittest\n\nimport solution\n\n\nclass Check(unittest.TestCase):\n    def test_check(self):\n        check(solution.${entry})\n`;
