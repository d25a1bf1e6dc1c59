import { isRecord } from '../../core/json.js';
import type { Quirks } from '../../core/models/model-provider-table.js';
import { textOf } from '../failures/failure-causes.js';
import { withCallIds } from './call-id-form.js';

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
