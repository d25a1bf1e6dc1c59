import type { FieldError } from '../errors/errors.js';
import { answerProblems } from '../interruptions/answer.js';
import { isJson, isObject, type JsonValue, parseJson } from '../json.js';
import { Allowance } from '../limits/allowance.js';
import type { CompiledPlan } from './plan.js';

type PlanInput =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly problems: readonly FieldError[] };

const wrong = (detail: string): PlanInput => ({ ok: false, problems: [{ pointer: '', detail }] });

/** Reads the input of a run for its plan: a text, or where the plan has a schema the first reading of the text that fits it. */
export function readPlanInput({ document }: CompiledPlan, input: JsonValue): PlanInput {
  const text = textIn(input);
  if (text === null) return wrong('expected a text; a plan has no conversation');
  if (document.input === undefined) return { ok: true, value: text };
  const { input: schema } = document;
  const readings = readingsOf(text);
  let first: readonly FieldError[] | null = null;
  for (const value of readings) {
    const problems = answerProblems({ choices: null, schema }, value, new Allowance({}, 'of the input'));
    if (problems.length === 0) return { ok: true, value };
    first ??= problems;
  }
  if (first === null || readings.length === 1) return wrong('expected JSON, as the plan has a schema of its input');
  return { ok: false, problems: first };
}

/** What a text may mean where a schema says what is expected: what it says as JSON, and then the text as it is. */
export function readingsOf(text: string): readonly JsonValue[] {
  try {
    const value = parseJson(text);
    return isJson(value) ? [value, text] : [text];
  } catch {
    return [text];
  }
}

/** The only text of an input; null: it is a conversation. */
export function textIn(input: JsonValue): string | null {
  if (typeof input === 'string') return input;
  const [message, ...others] = Array.isArray(input) ? input : [];
  if (others.length > 0 || !isObject(message) || message['role'] !== 'user') return null;
  const content = message['content'];
  if (typeof content === 'string') return content;
  const [part, ...more] = Array.isArray(content) ? content : [];
  const said = isObject(part) ? part['text'] : undefined;
  return more.length === 0 && typeof said === 'string' ? said : null;
}
