import { addTo } from '../grouped.js';
import type { TaskDefinition } from '../tasks/task-definition.js';
import { testFilesOf } from '../tasks/task-verification.js';
import { hashOf, isLike, keepLeast, likeness, type Sketch } from '../trajectories/sketch.js';

/** Tasks that say nearly the same: a benchmark that training data has seen measures memory. */

/** So many words that follow each other are one feature. */
const WORDS = 5;
/** Tests with fewer words, such as `pytest -q`, say nothing of their task. */
const TEST_WORDS_MIN = 20;
/** Of a longer text no more is looked at. */
const CHARS_MAX = 1_000_000;
/**
 * Two tasks are compared that have one of so many least hashes in common: of texts that are half the same 1 in 65,000 is missed. Of
 * texts that have less in common, all hashes count: of those that share a tenth 1 in 800 is missed, and none of small sets.
 */
const COMMON = 16;
const HALF = 0.5;
const hashesFor = (sketch: Sketch, least: number): Sketch => (least < HALF ? sketch : sketch.slice(0, COMMON));
export const TASKS_MOST = 10_000;
/** So many pairs are told, those first that are most alike. */
export const PAIRS_MOST = 1000;

type Texts = Pick<TaskDefinition, 'name' | 'version' | 'instruction' | 'verification'>;

/** What two tasks are compared by. */
export interface TaskSketch {
  readonly id: string;
  readonly instruction: Sketch;
  readonly tests: Sketch;
}

/** Two tasks, and how much their texts have in common: from 0 to 1. */
export interface NearDuplicate {
  readonly a: string;
  readonly b: string;
  readonly instruction: number;
  readonly tests: number;
}

export interface NearDuplicates {
  readonly found: number;
  readonly pairs: readonly NearDuplicate[];
}

function sketchOf(text: string, wordsMin = 1): Sketch {
  const words =
    text
      .slice(0, CHARS_MAX)
      .toLowerCase()
      .match(/[\p{L}\p{N}_]+/gu) ?? [];
  const least: number[] = [];
  if (words.length < wordsMin) return least;
  for (let at = 0; at === 0 || at + WORDS <= words.length; at++) keepLeast(least, hashOf(words.slice(at, at + WORDS)));
  return least;
}

export function sketchOfTask({ name, version, instruction, verification }: Texts): TaskSketch {
  const commands = verification.tests.map(({ command }) => command);
  const files = Object.values(testFilesOf(verification)).map((file) => ('text' in file ? file.text : file.base64));
  return {
    id: `${name}@${version}`,
    instruction: sketchOf(instruction),
    tests: sketchOf([...commands, ...files].join('\n'), TEST_WORDS_MIN),
  };
}

/** Tasks by each of the hashes that two of them must have one of in common. */
class Places {
  readonly #instructions = new Map<number, number[]>();
  readonly #tests = new Map<number, number[]>();
  /** By place: the last task that it was given to. */
  readonly #givenTo: Int32Array;
  readonly #least: number;

  constructor(tasks: readonly TaskSketch[], least: number) {
    this.#least = least;
    this.#givenTo = new Int32Array(tasks.length).fill(-1);
    for (const [place, { instruction, tests }] of tasks.entries()) {
      put(this.#instructions, hashesFor(instruction, least), place);
      put(this.#tests, hashesFor(tests, least), place);
    }
  }

  /** Calls `visit` once with each place that has something in common with a task. */
  each(at: number, { instruction, tests }: TaskSketch, visit: (place: number) => void): void {
    const lists = [
      ...placesOf(this.#instructions, hashesFor(instruction, this.#least)),
      ...placesOf(this.#tests, hashesFor(tests, this.#least)),
    ];
    for (const list of lists)
      for (const place of list) {
        if (this.#givenTo[place] === at) continue;
        this.#givenTo[place] = at;
        visit(place);
      }
  }
}

function put(places: Map<number, number[]>, hashes: Sketch, place: number): void {
  for (const hash of hashes) addTo(places, hash, place);
}

const placesOf = (places: ReadonlyMap<number, readonly number[]>, hashes: Sketch): (readonly number[])[] =>
  hashes.flatMap((hash) => {
    const list = places.get(hash);
    return list === undefined ? [] : [list];
  });

/** Two texts that have no words have nothing in common. */
const alike = (a: Sketch, b: Sketch): number => (a.length === 0 && b.length === 0 ? 0 : likeness(a, b));

/**
 * The pairs whose instructions or tests are alike at least so much, those first that are most alike. `others` null: each task is compared with
 * those after it; otherwise with each of the others, and one that is in both is found.
 */
export function nearDuplicates(
  tasks: readonly TaskSketch[],
  others: readonly TaskSketch[] | null,
  least: number,
): NearDuplicates {
  const against = others ?? tasks;
  const places = new Places(against, least);
  const pairs: NearDuplicate[] = [];
  let found = 0;
  for (const [at, task] of tasks.entries())
    places.each(at, task, (place) => {
      const other = against[place];
      if (other === undefined || (others === null && place <= at)) return;
      if (!isLike(task.instruction, other.instruction, least) && !isLike(task.tests, other.tests, least)) return;
      found++;
      const instruction = alike(task.instruction, other.instruction);
      pairs.push({ a: task.id, b: other.id, instruction, tests: alike(task.tests, other.tests) });
      if (pairs.length >= 2 * PAIRS_MOST) keepMostAlike(pairs);
    });
  keepMostAlike(pairs);
  return { found, pairs };
}

function keepMostAlike(pairs: NearDuplicate[]): void {
  const weight = ({ instruction, tests }: NearDuplicate): number =>
    Math.max(instruction, tests) * 2 + instruction + tests;
  pairs.sort((x, y) => weight(y) - weight(x) || (x.a < y.a ? -1 : x.a > y.a ? 1 : x.b < y.b ? -1 : 1));
  pairs.splice(PAIRS_MOST);
}
