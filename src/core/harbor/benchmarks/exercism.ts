import { z } from 'zod';
import { jsonOrNull } from '../../json.js';
import type { TaskInput } from '../../tasks/task-definition.js';
import type { TaskFile, TaskFiles } from '../../tasks/task-file.js';
import { literally } from '../../tasks/task-texts.js';
import { slugOf } from '../harbor-config.js';
import { Importing, type ImportOptions, type ImportReport, NotFitting, PYTHON_IMAGE } from './imported.js';

/** Exercises as Exercism's tracks have them: a directory with `.meta/config.json`, instructions, a stub and tests. */

export const EXERCISE_CONFIG = '.meta/config.json';
const paths = z.array(z.string()).default([]);
const exerciseConfig = z.object({
  files: z.object({ solution: paths, test: paths, example: paths, exemplar: paths, editor: paths }),
});
const trackConfig = z.object({
  slug: z.string(),
  exercises: z.object({ practice: z.array(z.object({ slug: z.string(), difficulty: z.number().optional() })) }),
});

export interface Exercise {
  readonly slug: string;
  readonly files: ReadonlyMap<string, TaskFile>;
}

/** `track`: the content of its config.json; null: exercises without their track. */
export function importExercism(
  exercises: readonly Exercise[],
  track: string | null,
  { image }: ImportOptions,
): ImportReport {
  const importing = new Importing();
  const difficulties = difficultiesIn(track);
  for (const exercise of exercises)
    importing.take(exercise.slug, (note) => {
      const difficulty = difficulties.get(exercise.slug) ?? null;
      if (difficulty === null) note('difficulty: not said; medium here');
      return { ...taskOf(exercise, image ?? PYTHON_IMAGE, note), difficulty: difficulty ?? 'medium' };
    });
  return importing.report();
}

/** From 1 to 10 in a track. */
const difficultyOf = (level: number): TaskInput['difficulty'] =>
  level <= 3 ? 'easy' : level <= 6 ? 'medium' : level <= 8 ? 'hard' : 'expert';

function difficultiesIn(track: string | null): ReadonlyMap<string, TaskInput['difficulty']> {
  const parsed = trackConfig.safeParse(jsonOrNull(track ?? '{}'));
  if (!parsed.success) return new Map();
  return new Map(
    parsed.data.exercises.practice.flatMap(({ slug, difficulty }) =>
      difficulty === undefined ? [] : [[slug, difficultyOf(difficulty)]],
    ),
  );
}

const UNUSED = /^(\.docs|\.meta|\.approaches|\.articles)\//;

function taskOf({ slug, files }: Exercise, image: string, note: (text: string) => void): TaskInput {
  const config = exerciseConfig.safeParse(jsonOrNull(textOf(files, EXERCISE_CONFIG)));
  if (!config.success) throw new NotFitting(`${EXERCISE_CONFIG} does not say which files are what`);
  const { solution, test, example, exemplar, editor } = config.data.files;
  if (test.length === 0 || !test.every((path) => path.endsWith('.py')))
    throw new NotFitting(
      `its tests are ${test.join(', ') || 'not named'}; only those of Python have a runner that takes them as they are`,
    );
  const examples = example.length > 0 ? example : exemplar;
  if (examples.length !== solution.length)
    note('files.example: not one for each solution, so that there is no reference solution');
  const unlisted = [...files.keys()].filter(
    (path) => !UNUSED.test(path) && ![...solution, ...test, ...editor].includes(path),
  );
  // The tests may import modules that the configuration does not list.
  const modules = unlisted.filter((path) => path.endsWith('.py'));
  for (const path of unlisted) if (!modules.includes(path)) note(`${path}: left out`);
  const given = Object.fromEntries([...solution, ...editor].map((path) => [path, taken(files, path)]));
  const answers = Object.fromEntries(
    solution.flatMap((path, index) => (examples[index] === undefined ? [] : [[path, taken(files, examples[index])]])),
  );
  return {
    ...{ name: slugOf(`exercism-python-${slug}`), version: '1.0.0', category: 'exercise', difficulty: 'medium' },
    ...{ tags: ['python', 'exercism'], environment: { image } },
    instruction: literally(instructionOf(files, solution)),
    initialFiles: given,
    verification: {
      files: Object.fromEntries([...test, ...modules].map((path) => [path, taken(files, path)])),
      tests: [{ name: 'tests', runner: 'unittest', suite: test }],
    },
    solution: examples.length === solution.length ? { files: answers } : null,
    metadata: { source: { format: 'exercism', exercise: slug } },
  };
}

function instructionOf(files: ReadonlyMap<string, TaskFile>, solution: readonly string[]): string {
  const parts = ['introduction', 'instructions', 'instructions.append'].flatMap((name) => {
    const file = files.get(`.docs/${name}.md`);
    return file !== undefined && 'text' in file ? [file.text.trim()] : [];
  });
  if (parts.length === 0) throw new NotFitting('it has no .docs/instructions.md');
  return `${parts.join('\n\n')}\n\nWrite your solution in ${solution.map((path) => `\`${path}\``).join(', ')}.\n`;
}

const textOf = (files: ReadonlyMap<string, TaskFile>, path: string): string => {
  const file = files.get(path);
  return file !== undefined && 'text' in file ? file.text : '';
};

/** Throws `NotFitting` where the exercise lacks a file that it names. */
function taken(files: ReadonlyMap<string, TaskFile>, path: string): TaskFiles[string] {
  const file = files.get(path);
  if (file === undefined) throw new NotFitting(`it names ${path}, which is not there`);
  return 'text' in file ? { ...file, text: literally(file.text) } : file;
}
