import { z } from 'zod';
import type { FieldError } from '../errors/errors.js';
import { sha256 } from '../json.js';
import { seededRandom } from '../seeded-random.js';
import { taskText } from './task-file.js';

/** What who submits a task may choose. Its value stands where `{{name}}` does. */

const LONGEST_TEXT = 10_000;

export type ParameterValue = string | number | boolean;

/** A name that a placeholder may have. */
export const placeholderName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'is no name of letters, digits and "_" that begins with a letter');

const description = taskText(2000).optional();
const values = <T extends z.ZodType>(value: T) => z.array(value).min(1).max(1000).optional();
const text = taskText(LONGEST_TEXT);
const safeInteger = z.int();
const finite = z.number();

const shapes = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ type: z.literal('text'), description, values: values(text), default: text.optional() }),
    z.strictObject({
      type: z.literal('integer'),
      description,
      values: values(safeInteger),
      min: safeInteger.optional(),
      max: safeInteger.optional(),
      default: safeInteger.optional(),
    }),
    z.strictObject({
      type: z.literal('number'),
      description,
      values: values(finite),
      min: finite.optional(),
      max: finite.optional(),
      default: finite.optional(),
    }),
    z.strictObject({ type: z.literal('boolean'), description, default: z.boolean().optional() }),
  ],
  { error: 'expected a parameter: { type: text, integer, number or boolean, … }' },
);

export const taskParameter = shapes.superRefine((parameter, context) => {
  if (parameter.default === undefined) return;
  const problem = valueProblem(parameter, parameter.default);
  if (problem !== null) context.addIssue({ code: 'custom', path: ['default'], message: problem });
});
export type TaskParameter = z.output<typeof shapes>;

/** More are not told. */
const WRONG_MOST = 100;
const NAMED_MOST = 20;
const NAMED_LONGEST = 100;

/** The first of many texts, as a message names them. */
export function firstOf(texts: readonly string[]): string {
  const named = texts
    .slice(0, NAMED_MOST)
    .map((text) => (text.length > NAMED_LONGEST ? `${text.slice(0, NAMED_LONGEST)}…` : text));
  return [...named, ...(texts.length > NAMED_MOST ? [`and ${texts.length - NAMED_MOST} more`] : [])].join(', ');
}

/** What is wrong with a value for a parameter; null: nothing. */
function valueProblem(parameter: TaskParameter, value: unknown): string | null {
  if (!hasType(parameter, value)) return `is no ${parameter.type}`;
  if ('values' in parameter && parameter.values !== undefined) {
    const allowed: readonly unknown[] = parameter.values;
    if (!allowed.includes(value)) return `is none of ${firstOf(allowed.map((one) => JSON.stringify(one)))}`;
  }
  if (parameter.type !== 'integer' && parameter.type !== 'number') return null;
  const number = Number(value);
  if (number < (parameter.min ?? number)) return `is less than ${parameter.min}`;
  return number > (parameter.max ?? number) ? `is more than ${parameter.max}` : null;
}

function hasType({ type }: TaskParameter, value: unknown): value is ParameterValue {
  if (type === 'text') return text.safeParse(value).success;
  if (type === 'integer') return safeInteger.safeParse(value).success;
  return type === 'number' ? finite.safeParse(value).success : typeof value === 'boolean';
}

type ChosenParameters =
  | { readonly values: ReadonlyMap<string, ParameterValue> }
  | { readonly wrong: readonly FieldError[] };

/** The value of each parameter: that which is given, or its default. */
export function chooseParameters(
  parameters: Readonly<Record<string, TaskParameter>>,
  given: Readonly<Record<string, unknown>>,
): ChosenParameters {
  const wrong: FieldError[] = [];
  const chosen = new Map<string, ParameterValue>();
  const names = Object.keys(parameters);
  for (const name of Object.keys(given))
    if (wrong.length < WRONG_MOST && !Object.hasOwn(parameters, name)) {
      const known = names.length === 0 ? 'the task has none' : `those of the task are ${firstOf(names)}`;
      wrong.push({ pointer: `/parameters/${name}`, detail: `is no parameter; ${known}` });
    }
  for (const [name, parameter] of Object.entries(parameters)) {
    const value = Object.hasOwn(given, name) ? given[name] : parameter.default;
    const problem = value === undefined ? 'is missing and has no default' : valueProblem(parameter, value);
    if (problem === null) chosen.set(name, value as ParameterValue);
    else if (wrong.length < WRONG_MOST) wrong.push({ pointer: `/parameters/${name}`, detail: problem });
  }
  return wrong.length > 0 ? { wrong } : { values: chosen };
}

/** Inputs of a task that differ from one execution to the next. What the seed is decides them, each by itself. */

const bound = z.int();
const count = z.int().min(1).max(1000);
const length = z.int().min(1).max(200);

const chanceShapes = z.discriminatedUnion(
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

export const randomizedInput = chanceShapes.superRefine((input, context) => {
  if (!('min' in input)) return;
  const why =
    input.min > input.max
      ? 'is more than max'
      : Number.isSafeInteger(input.max - input.min)
        ? null
        : 'is too far from max';
  if (why !== null) context.addIssue({ code: 'custom', path: ['min'], message: why });
});
export type RandomizedInput = z.output<typeof chanceShapes>;

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

/** A text that no one writes by chance. The one that knows the seed knows it: an agent must not. */
export const canaryText = (name: string, task: string, seed: number): string =>
  `canary-${sha256(`canary:${task}:${seed}:${name}`).slice('sha256:'.length, 'sha256:'.length + 32)}`;
