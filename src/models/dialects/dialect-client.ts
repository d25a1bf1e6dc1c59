import type OpenAI from 'openai';
import type { ChatAnswer } from './chat-answer.js';
import { fieldsIn, type UnknownFields } from './dialect.js';

type Create = OpenAI['chat']['completions']['create'];

/** The SDK fails an answer that was cut with an error of its own, which has neither the usage nor the reason. */
const forSdk = (choice: unknown): UnknownFields =>
  fieldsIn(choice)['finish_reason'] === null || fieldsIn(choice)['finish_reason'] === undefined
    ? fieldsIn(choice)
    : { ...fieldsIn(choice), finish_reason: 'stop' };

function taken(answer: ChatAnswer, raw: unknown, form: 'message' | 'delta'): UnknownFields {
  const chunk = answer.take(raw, form);
  return Array.isArray(chunk['choices']) ? { ...chunk, choices: chunk['choices'].map(forSdk) } : chunk;
}

/**
 * A client whose answers go through `answer` before the SDK's model reads them. Of a client the model uses `baseURL` and
 * `chat.completions.create` alone.
 */
export function dialectClient(client: OpenAI, answer: ChatAnswer): OpenAI {
  const ask: Create = client.chat.completions.create.bind(client.chat.completions);
  const whole = async (...asked: Parameters<typeof ask>): Promise<unknown> => {
    const raw: unknown = await ask(...asked);
    const given = taken(answer, raw, 'message');
    const requestId = fieldsIn(raw)['_request_id'];
    return requestId === undefined ? given : { ...given, _request_id: requestId };
  };
  const streamed = (...asked: Parameters<typeof ask>) => ({
    withResponse: async () => {
      const { data, ...rest } = await ask(...asked).withResponse();
      return { ...rest, data: pieces(answer, data) };
    },
  });
  const create = (...asked: Parameters<typeof ask>) =>
    asked[0].stream === true ? streamed(...asked) : whole(...asked);
  const own: OpenAI = Object.create(client, { chat: { value: { completions: { create } } } });
  return own;
}

async function* pieces(answer: ChatAnswer, stream: unknown): AsyncGenerator<UnknownFields, void, undefined> {
  for await (const raw of stream as AsyncIterable<unknown>) yield taken(answer, raw, 'delta');
}
