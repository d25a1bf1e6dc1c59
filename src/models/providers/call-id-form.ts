import { createHash } from 'node:crypto';
import { isRecord } from '../../core/json.js';
import type { Quirks } from '../../core/models/model-provider-table.js';
import { textOf } from '../failures/failure-causes.js';

type Form = NonNullable<Quirks['callIds']>;

const FORMS: { readonly [F in Form]: RegExp } = { word: /^[A-Za-z0-9_-]{1,64}$/, nine: /^[A-Za-z0-9]{9}$/ };

/**
 * Messages of Chat Completions with the ids of calls as an API takes them: a conversation may have those of another provider. The same
 * id always becomes the same, so that calls keep their results.
 */
function withCallIds(messages: unknown, form: Form): unknown {
  if (!Array.isArray(messages)) return messages;
  return messages.map((message: unknown) => {
    if (!isRecord(message)) return message;
    const { tool_call_id: answered, tool_calls: calls } = message;
    return {
      ...message,
      ...(typeof answered === 'string' ? { tool_call_id: callIdIn(answered, form) } : {}),
      ...(Array.isArray(calls) ? { tool_calls: calls.map((call: unknown) => withId(call, form)) } : {}),
    };
  });
}

const withId = (call: unknown, form: Form): unknown =>
  isRecord(call) && typeof call['id'] === 'string' ? { ...call, id: callIdIn(call['id'], form) } : call;

/** The id of a call in a form; another id always becomes the same. */
export const callIdIn = (id: string, form: Form): string =>
  FORMS[form].test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, 9);

type Body = Readonly<Record<string, unknown>>;

/** A request to Chat Completions or Responses as the API of a provider takes it. The request itself is not changed. */
export function quirkyRequest(body: Body, quirks: Quirks): Body {
  const { maxTokens = 'max_tokens', structuredOutput = 'json_schema', callIds, omit = [] } = quirks;
  const worded = structuredOutput === 'json_schema' ? body : inWords(body, structuredOutput);
  const { max_tokens: bound, ...rest } = worded;
  const bounded = bound === undefined || bound === null ? rest : { ...rest, [maxTokens]: bound };
  const named =
    callIds === undefined || !('messages' in rest)
      ? bounded
      : { ...bounded, messages: withCallIds(rest['messages'], callIds) };
  return Object.fromEntries(Object.entries(named).filter(([name]) => !omit.includes(name)));
}

/** The schema of an answer in the instructions, for an API that does not keep to `response_format`. */
function inWords(body: Body, form: 'json_object' | 'prompt'): Body {
  const { response_format: format, messages, ...rest } = body;
  if (!isRecord(format) || format['type'] === 'text' || !Array.isArray(messages)) return body;
  const described = isRecord(format['json_schema']) ? format['json_schema']['schema'] : null;
  const fits = isRecord(described) ? ` that fits this JSON schema: ${JSON.stringify(described)}` : '';
  const asked = `Give your final answer as one JSON object${fits}. Write nothing before or after it, and no code fence.`;
  const [first, ...others] = messages;
  const text = textOf(first, 'role') === 'system' ? textOf(first, 'content') : null;
  const all = text === null ? messages : others;
  return {
    ...rest,
    ...(form === 'json_object' ? { response_format: { type: 'json_object' } } : {}),
    messages: [{ role: 'system', content: text === null ? asked : `${text}\n\n${asked}` }, ...all],
  };
}
