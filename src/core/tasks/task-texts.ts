import type { Allowance } from '../limits/allowance.js';
import type { TaskFile, TaskFiles } from './task-file.js';
import type { RandomizedInput } from './task-parameter.js';
import { firstOf, type TaskParameter } from './task-parameter.js';
import type { TaskVerification } from './task-verification.js';

/**
 * Placeholders in the texts of a task: `{{name}}`, also with spaces inside. A backslash before one takes it for text: `\{{name}}`
 * becomes `{{name}}`. Other braces are left alone.
 */

const PLACEHOLDER = /(\\?)\{\{[ \t]*([A-Za-z_][A-Za-z0-9_]*)[ \t]*\}\}/g;

/** The names of a text, each once. */
export const placeholdersIn = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(PLACEHOLDER)].flatMap(([, escaped, name = '']) => (escaped === '' ? [name] : []))),
];

/** A text with its placeholders filled in. What is filled in is not read again. A name without a value stays as it is. */
export const fillIn = (text: string, values: ReadonlyMap<string, string>): string =>
  text.replaceAll(PLACEHOLDER, (whole, escaped: string, name: string) =>
    escaped === '' ? (values.get(name) ?? whole) : whole.slice(1),
  );

/** How long a text is when its placeholders are filled in, without filling them in. */
export function filledLength(text: string, values: ReadonlyMap<string, string>): number {
  let length = text.length;
  for (const [whole, escaped, name = ''] of text.matchAll(PLACEHOLDER))
    length += escaped === '' ? (values.get(name)?.length ?? whole.length) - whole.length : -1;
  return length;
}

/** A text that is filled in to what it was, whatever it says. */
export const literally = (text: string): string => text.replaceAll(PLACEHOLDER, '\\$&');

/** The texts of a task in which placeholders are filled in. */
interface Templated {
  readonly instruction: string;
  readonly initialFiles: TaskFiles;
  readonly verification: TaskVerification;
  readonly expectedOutputs: readonly string[] | null;
  readonly solution: { readonly script: string | null; readonly files: TaskFiles } | null;
  readonly parameters: Readonly<Record<string, TaskParameter>>;
  readonly antiHardcoding: {
    readonly canaries: readonly string[];
    readonly randomizedInputs: Readonly<Record<string, RandomizedInput>>;
  };
}

type Path = readonly PropertyKey[];
type Change = (text: string, path: Path) => string;

function filesBy(change: Change, files: TaskFiles, path: Path): Record<string, TaskFile> {
  return Object.fromEntries(
    Object.entries(files).map(([name, file]) => [
      name,
      'text' in file ? { ...file, text: change(file.text, [...path, name]) } : file,
    ]),
  );
}

const listBy = (change: Change, texts: readonly string[], path: Path): string[] =>
  texts.map((text, index) => change(text, [...path, index]));

/** A task with each of these texts changed. */
function changeTexts<T extends Templated>(task: T, change: Change): T {
  const { verification, expectedOutputs, solution } = task;
  const within = (...path: PropertyKey[]): Path => ['verification', ...path];
  return {
    ...task,
    instruction: change(task.instruction, ['instruction']),
    initialFiles: filesBy(change, task.initialFiles, ['initialFiles']),
    verification: {
      ...verification,
      files: filesBy(change, verification.files, within('files')),
      tests: verification.tests.map((test, index) => ({
        ...test,
        ...(test.command !== undefined && {
          command: listBy(change, test.command, within('tests', index, 'command')),
        }),
        files: filesBy(change, test.files, within('tests', index, 'files')),
      })),
      compile: verification.compile && listBy(change, verification.compile, within('compile')),
      lint: verification.lint && listBy(change, verification.lint, within('lint')),
    },
    expectedOutputs: expectedOutputs && listBy(change, expectedOutputs, ['expectedOutputs']),
    solution: solution && {
      script: solution.script === null ? null : change(solution.script, ['solution', 'script']),
      files: filesBy(change, solution.files, ['solution', 'files']),
    },
  };
}

/** A task with its placeholders filled in. Its size is reckoned before: throws `payload_too_large`. */
export function fillTask<T extends Templated>(task: T, values: ReadonlyMap<string, string>, allowance: Allowance): T {
  return changeTexts(task, (text) => {
    allowance.make(filledLength(text, values), 'The task with its parameters filled in');
    return fillIn(text, values);
  });
}

interface PlaceholderProblem {
  readonly path: Path;
  readonly message: string;
}

/** More are not told. */
const PROBLEMS_MOST = 100;

/** Names that stand for two things, placeholders that no one fills in, and what is filled in nowhere. */
export function placeholderProblems(task: Templated): readonly PlaceholderProblem[] {
  const { canaries, randomizedInputs } = task.antiHardcoding;
  const declared: (readonly [string, Path])[] = [
    ...Object.keys(task.parameters).map((name) => [name, ['parameters', name]] as const),
    ...Object.keys(randomizedInputs).map((name) => [name, ['antiHardcoding', 'randomizedInputs', name]] as const),
    ...canaries.map((name, index) => [name, ['antiHardcoding', 'canaries', index]] as const),
  ];
  const problems: PlaceholderProblem[] = [];
  const isTold = (): boolean => problems.length < PROBLEMS_MOST;
  const known = new Set<string>();
  for (const [name, path] of declared) {
    if (known.has(name)) problems.push({ path, message: `"${name}" is the name of something else, too` });
    known.add(name);
  }
  const used = new Set<string>();
  changeTexts(task, (text, path) => {
    for (const name of placeholdersIn(text)) {
      used.add(name);
      if (!isTold()) break;
      if (!known.has(name)) problems.push({ path, message: unknown(name, known) });
      else if (path[0] === 'instruction' && canaries.includes(name))
        problems.push({ path, message: `tells the agent the canary {{${name}}}` });
    }
    return text;
  });
  for (const [name, path] of declared)
    if (isTold() && !used.has(name))
      problems.push({ path, message: `is used nowhere; write {{${name}}} where it belongs` });
  return problems;
}

const unknown = (name: string, known: ReadonlySet<string>): string => {
  const all = known.size === 0 ? 'the task declares none' : `the task declares ${firstOf([...known])}`;
  return `holds {{${name}}}, but ${all}; write \\{{${name}}} where the text itself is meant`;
};
