import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { EXERCISE_CONFIG, type Exercise, importExercism } from '../../../core/harbor/benchmarks/exercism.js';
import { importHumanEval, isHumanEval } from '../../../core/harbor/benchmarks/human-eval.js';
import type { BenchmarkLine, ImportOptions, ImportReport } from '../../../core/harbor/benchmarks/imported.js';
import { importSweBench, isSweBench } from '../../../core/harbor/benchmarks/swe-bench.js';
import { isObject, jsonOrNull } from '../../../core/json.js';
import { taskHashOf } from '../../../core/tasks/task-definition.js';
import { fileOf } from '../../../core/tasks/task-file.js';
import { misuse } from '../../options.js';
import { plain, print, printJson } from '../../print.js';
import { definitionText } from './definition-text.js';
import { readFolder, readRegular, unreadable, writeFolder } from './read-folder.js';

/** Benchmarks of others: many tasks in one file or in a tree of directories. */

export const BENCHMARKS = ['humaneval', 'swe-bench', 'exercism'] as const;
export type Benchmark = (typeof BENCHMARKS)[number];

const LINES_LARGEST = 67_108_864;
const EXERCISES_MOST = 1000;

/** What a place holds, by its content; null: no benchmark that is known. Throws `task_unreadable`. */
export function benchmarkAt(place: string): Benchmark | null {
  if (!existsSync(place)) return null;
  if (lstatSync(place).isDirectory()) return isExercism(place) ? 'exercism' : null;
  const first = linesOf(place)[0]?.value;
  if (!isObject(first)) return null;
  if (isSweBench(first)) return 'swe-bench';
  return isHumanEval(first) ? 'humaneval' : null;
}

export function importBenchmark(benchmark: Benchmark, place: string, options: ImportOptions): ImportReport {
  if (benchmark === 'humaneval') return importHumanEval(linesOf(place), options);
  if (benchmark === 'swe-bench') return importSweBench(linesOf(place), options);
  const root = trackOf(place);
  const track = root === null ? null : readRegular(join(root, 'config.json')).content.toString('utf8');
  return importExercism(exercisesAt(place), track, options);
}

/** The lines of a file of JSON, also of one that gzip has packed. */
function linesOf(path: string): readonly BenchmarkLine[] {
  const { content } = readRegular(path, LINES_LARGEST);
  const text = (path.endsWith('.gz') ? unpacked(content, path) : content).toString('utf8');
  return text
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [{ line: index + 1, value: jsonOrNull(line) }]));
}

function unpacked(content: Buffer, path: string): Buffer {
  try {
    return gunzipSync(content, { maxOutputLength: LINES_LARGEST });
  } catch (error) {
    const tooLarge =
      error instanceof RangeError ||
      (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE');
    throw unreadable(path, tooLarge ? `it unpacks to more than ${LINES_LARGEST} bytes` : 'it is no gzip');
  }
}

const isExercise = (path: string): boolean => existsSync(join(path, EXERCISE_CONFIG));
const PRACTICE = 'exercises/practice';
const isExercism = (path: string): boolean => isExercise(path) || directoriesIn(path).length > 0;

/** One exercise, a directory of exercises, or a whole track. */
function directoriesIn(path: string): readonly string[] {
  if (isExercise(path)) return [path];
  const root = existsSync(join(path, PRACTICE)) ? join(path, PRACTICE) : path;
  return readdirSync(root)
    .sort()
    .map((name) => join(root, name))
    .filter(isExercise);
}

function exercisesAt(path: string): readonly Exercise[] {
  const directories = directoriesIn(path);
  if (directories.length > EXERCISES_MOST) throw unreadable(path, `it holds more than ${EXERCISES_MOST} exercises`);
  return directories.map((directory) => ({
    slug: basename(resolve(directory)),
    files: new Map(
      [...readFolder(directory)].map(([name, { content, executable }]) => [name, fileOf(content, executable)]),
    ),
  }));
}

/** The directory of the track that exercises are in; null: they are in none. */
function trackOf(path: string): string | null {
  for (const up of ['.', '..', '../..', '../../..']) {
    const root = join(path, up);
    if (existsSync(join(root, 'config.json')) && existsSync(join(root, PRACTICE))) return root;
  }
  return null;
}

const ITEMS_SHOWN = 3;

/** Writes a definition for each task, and says what did not fit. Exit code 1 where an item was left out. */
export function writeImported(report: ImportReport, out: string | undefined, asJson: boolean): void {
  const { tasks, notes, left } = report;
  const files = tasks.map((task) => ({ task, file: `${task.name}.yaml` }));
  const where = out === undefined ? null : written(files, out);
  if (asJson)
    printJson({
      tasks: files.map(({ task, file }) => ({
        ...{ name: task.name, version: task.version, digest: taskHashOf(task) },
        file: where === null ? null : join(where, file),
      })),
      ...{ notes, left },
    });
  else {
    for (const { text, items } of notes) tell('note', `${text} (${listed(items)})`);
    for (const { item, why } of left) tell('left', `${item}: ${why}`);
    print(`${tasks.length} tasks${where === null ? '' : ` written to ${where}`}, ${left.length} items left out`);
  }
  if (left.length > 0) process.exitCode = 1;
}

function written(
  files: readonly { readonly task: ImportReport['tasks'][number]; readonly file: string }[],
  out: string,
) {
  if (files.length === 0) throw misuse('Nothing can be written: no item is a task. Without --out the report says why.');
  return writeFolder(
    out,
    new Map(files.map(({ task, file }) => [file, { content: Buffer.from(definitionText(task)), executable: false }])),
  );
}

const listed = (items: readonly string[]): string => {
  const more = items.length - ITEMS_SHOWN;
  return `${items.slice(0, ITEMS_SHOWN).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
};

export const tell = (what: string, text: string): void => void process.stderr.write(`${what}  ${plain(text)}\n`);
