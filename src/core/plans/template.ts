import { type FieldError, HoldfastError } from '../errors/errors.js';
import { pointerTo } from '../field-errors.js';
import { canonical, isObject, type JsonObject, type JsonValue, nameInPointer } from '../json.js';
import { evaluateExpression, readExpression } from './expression.js';
import { ValueBudget } from './value-budget.js';

/**
 * A value with places that are filled in when a node begins. `{ $from }` stands for what a JSON Pointer finds in the scope,
 * `{ $text }` for its parts as one text, `{ $cel }` for the value of an expression, and `{ $value }` for a value that is taken as it is.
 */
export type Template = JsonValue;

/** What templates read: the input of the run, and the outputs of nodes. */
export type Scope = JsonObject;

type Place =
  | { readonly type: 'from'; readonly pointer: string }
  | { readonly type: 'text'; readonly parts: readonly JsonValue[] }
  | { readonly type: 'cel'; readonly expression: string }
  | { readonly type: 'value'; readonly value: JsonValue };

const NAMES = ['$from', '$text', '$cel', '$value'] as const;

/** The place that an object stands for; null: it is an object like any other. */
function placeIn(template: JsonObject): Place | string | null {
  const [name, ...others] = Object.keys(template);
  if (others.length > 0) {
    const found = NAMES.find((one) => Object.hasOwn(template, one));
    return found === undefined
      ? null
      : `expected nothing beside ${found}; write a value with such a name as { "$value": … }`;
  }
  if (name === undefined || !name.startsWith('$')) return null;
  const value = template[name];
  if (name === '$from') return typeof value === 'string' ? { type: 'from', pointer: value } : 'expected a JSON Pointer';
  if (name === '$text') return Array.isArray(value) ? { type: 'text', parts: value } : 'expected a list of parts';
  if (name === '$cel')
    return typeof value === 'string' ? { type: 'cel', expression: value } : 'expected an expression in CEL';
  if (name === '$value') return { type: 'value', value: value ?? null };
  return `expected one of ${NAMES.join(', ')}; write a value with such a name as { "$value": … }`;
}

/** A pointer of a template, and where it stands. */
export interface Reference {
  readonly pointer: string;
  readonly at: string;
}

export interface TemplateReading {
  readonly references: readonly Reference[];
  readonly problems: readonly FieldError[];
}

/** Every reference of a template, and what is wrong with it. `at`: where the template stands. */
export function readTemplate(template: Template, at: string): TemplateReading {
  const reading: Reading = { references: [], problems: [] };
  readValue(template, at, reading);
  return reading;
}

interface Reading {
  readonly references: Reference[];
  readonly problems: FieldError[];
}

function readValue(value: JsonValue, at: string, reading: Reading): void {
  if (Array.isArray(value)) for (const [index, item] of value.entries()) readValue(item, `${at}/${index}`, reading);
  if (!isObject(value)) return;
  const place = placeIn(value);
  if (typeof place === 'string')
    reading.problems.push({ pointer: `${at}${pointerTo(Object.keys(value).slice(0, 1))}`, detail: place });
  else if (place !== null) readPlace(place, at, reading);
  else for (const [name, item] of Object.entries(value)) readValue(item, `${at}${pointerTo([name])}`, reading);
}

function readPlace(place: Place, at: string, reading: Reading): void {
  switch (place.type) {
    case 'text':
      for (const [index, part] of place.parts.entries()) readValue(part, `${at}/$text/${index}`, reading);
      break;
    case 'cel': {
      const { pointers, problem } = readExpression(place.expression);
      for (const pointer of pointers) reading.references.push({ pointer, at: `${at}/$cel` });
      if (problem !== null) reading.problems.push({ pointer: `${at}/$cel`, detail: problem });
      break;
    }
    case 'from': {
      const problem = pointerProblem(place.pointer);
      if (problem === null) reading.references.push({ pointer: place.pointer, at: `${at}/$from` });
      else reading.problems.push({ pointer: `${at}/$from`, detail: problem });
      break;
    }
    case 'value':
      break;
  }
}

const pointerProblem = (pointer: string): string | null =>
  /^\/([^~]|~[01])*$/.test(pointer) && pointer.length <= 1000
    ? null
    : `${JSON.stringify(pointer)} is no JSON Pointer; expected one such as /input or /nodes/first`;

/** The names on the way of a pointer. */
export const stepsOf = (pointer: string): readonly string[] => pointer.split('/').slice(1).map(nameInPointer);

/** Fills a template in. Throws `plan_failed` for a pointer that finds nothing, and where it makes more than `budget` allows. */
export function fillTemplate(template: Template, scope: Scope, budget = new ValueBudget()): JsonValue {
  if (Array.isArray(template)) return template.map((item: JsonValue) => fillTemplate(item, scope, budget));
  if (!isObject(template)) return template;
  const place = placeIn(template);
  if (place === null || typeof place === 'string')
    return Object.fromEntries(
      Object.entries(template).map(([name, item]) => [name, fillTemplate(item, scope, budget)]),
    );
  if (place.type === 'value') return place.value;
  if (place.type === 'cel') return evaluateExpression(place.expression, scope, budget);
  if (place.type === 'text') return place.parts.map((part) => textOf(fillTemplate(part, scope, budget))).join('');
  const found = valueAt(scope, place.pointer);
  budget.take(found);
  return found;
}

const textOf = (value: JsonValue): string => (typeof value === 'string' ? value : canonical(value));

function valueAt(scope: Scope, pointer: string): JsonValue {
  let value: JsonValue = scope;
  for (const step of stepsOf(pointer)) {
    const next: JsonValue | undefined = memberOf(value, step);
    if (next === undefined)
      throw new HoldfastError('plan_failed', `${pointer} finds nothing: there is no ${JSON.stringify(step)}.`);
    value = next;
  }
  return value;
}

function memberOf(value: JsonValue, step: string): JsonValue | undefined {
  if (Array.isArray(value)) return /^(0|[1-9]\d{0,9})$/.test(step) ? value[Number(step)] : undefined;
  return isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
}
