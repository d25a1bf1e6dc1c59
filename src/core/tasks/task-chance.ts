import { z } from 'zod';
import { sha256 } from '../json.js';
import { seededRandom } from '../seeded-random.js';
import { taskText } from './task-file.js';

/** Inputs of a task that differ from one execution to the next. What the seed is decides them, each by itself. */

const bound = z.int();
const count = z.int().min(1).max(1000);
const length = z.int().min(1).max(200);

const shapes = z.discriminatedUnion(
  'type',
  [
    /** A number from `min` to `max`, both included. */
    z.strictObject({ type: z.literal('integer'), min: bound, max: bound }),
    /** A list as JSON, Python and JavaScript write it: `[3, -1, 7]`. */
    z.strictObject({ type: z.literal('integers'), count, min: bound, max: bound }),
    /** One of them. */
    z.strictObject({ type: z.literal('choice'), values: z.array(taskText(10_000)).min(1).max(1000) }),
    /** Small letters. */
    z.strictObject({ type: z.literal('word'), length }),
    /** A list of such words: `["abc", "xyz"]`. */
    z.strictObject({ type: z.literal('words'), count, length }),
  ],
  { error: 'expected { type: integer, integers, choice, word or words, … }' },
);

export const randomizedInput = shapes.superRefine((input, context) => {
  if (!('min' in input)) return;
  const why =
    input.min > input.max
      ? 'is more than max'
      : Number.isSafeInteger(input.max - input.min)
        ? null
        : 'is too far from max';
  if (why !== null) context.addIssue({ code: 'custom', path: ['min'], message: why });
});
export type RandomizedInput = z.output<typeof shapes>;

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';

const integer = (random: () => number, min: number, max: number): number =>
  min + Math.min(max - min, Math.floor(random() * (max - min + 1)));

const word = (random: () => number, letters: number): string =>
  Array.from({ length: letters }, () => LETTERS.charAt(integer(random, 0, LETTERS.length - 1))).join('');

const listOf = (items: readonly unknown[]): string => `[${items.map((item) => JSON.stringify(item)).join(', ')}]`;

/** How many random numbers the text of an input takes. */
export function drawnNumbers(input: RandomizedInput): number {
  if (input.type === 'integers') return input.count;
  if (input.type === 'word') return input.length;
  return input.type === 'words' ? input.count * input.length : 1;
}

/** The text of an input. Another input of the same seed changes nothing of it. */
export function drawn(input: RandomizedInput, name: string, seed: number): string {
  const random = seededRandom(`task:${seed}:${name}`);
  const times = <T>(n: number, make: () => T): T[] => Array.from({ length: n }, make);
  if (input.type === 'integer') return String(integer(random, input.min, input.max));
  if (input.type === 'integers') return listOf(times(input.count, () => integer(random, input.min, input.max)));
  if (input.type === 'choice') return input.values[integer(random, 0, input.values.length - 1)] ?? '';
  if (input.type === 'word') return word(random, input.length);
  return listOf(times(input.count, () => word(random, input.length)));
}

/** A text that nobody writes by chance. Whoever knows the seed knows it: an agent must not. */
export const canaryText = (name: string, task: string, seed: number): string =>
  `canary-${sha256(`canary:${task}:${seed}:${name}`).slice('sha256:'.length, 'sha256:'.length + 32)}`;
