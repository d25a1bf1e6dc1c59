import { createHash } from 'node:crypto';
import { isRecord } from '../../core/json.js';
import type { Quirks } from '../../core/models/model-provider-table.js';

type Form = NonNullable<Quirks['callIds']>;

const FORMS: { readonly [F in Form]: RegExp } = { word: /^[A-Za-z0-9_-]{1,64}$/, nine: /^[A-Za-z0-9]{9}$/ };

/**
 * Messages of Chat Completions with the ids of calls as an API takes them: a conversation may have those of another provider. The same
 * id always becomes the same, so that calls keep their results.
 */
export function withCallIds(messages: unknown, form: Form): unknown {
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
