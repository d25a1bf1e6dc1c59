import { z } from 'zod';
import type { FieldError } from '../errors/errors.js';
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

export type ChosenParameters =
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
