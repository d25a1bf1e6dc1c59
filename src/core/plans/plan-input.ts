import type { FieldError } from '../errors/errors.js';
import { answerProblems } from '../interruptions/answer.js';
import { isObject, type JsonValue } from '../json.js';
import { Allowance } from '../limits/allowance.js';
import type { CompiledPlan } from './plan.js';

type PlanInput =
  | { readonly ok: true; readonly value: JsonValue }
  | { readonly ok: false; readonly problems: readonly FieldError[] };

const wrong = (detail: string): PlanInput => ({ ok: false, problems: [{ pointer: '', detail }] });

/** The input of a run as its plan reads it: a text, or what the text says as JSON where the plan has a schema. */
export function readPlanInput({ document }: CompiledPlan, input: JsonValue): PlanInput {
  const text = textIn(input);
  if (text === null) return wrong('expected a text; a plan has no conversation');
  if (document.input === undefined) return { ok: true, value: text };
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return wrong('expected JSON, as the plan has a schema of its input');
  }
  const problems = answerProblems({ choices: null, schema: document.input }, value, new Allowance({}, 'of the input'));
  return problems.length === 0 ? { ok: true, value } : { ok: false, problems };
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
