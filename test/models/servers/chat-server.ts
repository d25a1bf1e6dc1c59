import { type Answerer, cutInto, writePieces } from './wire-server.js';

/** What OpenAI's `POST /v1/chat/completions` says, streamed as server-sent events or whole, as the request asks. */

const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const common = { id: 'chatcmpl_1', created: 1, model: 'test' };

const whole = (message: object, reason: string): object => ({
  ...common,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: reason }],
  usage,
});

const piece = (delta: object, rest: object = {}): string =>
  `data: ${JSON.stringify({
    ...common,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: null, ...rest }],
  })}\n\n`;

const begin = (text: string): string =>
  [piece({ role: 'assistant', content: '' }), ...[...text].map((content) => piece({ content }))].join('');

const end = (reason: string): string =>
  `${piece({}, { finish_reason: reason })}data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices: [], usage })}\n\ndata: [DONE]\n\n`;

const sse = { 'content-type': 'text/event-stream' };

export const chats =
  (text: string): Answerer =>
  async (to, { body }) => {
    if (body['stream'] !== true) {
      to.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole({ content: text }, 'stop')));
      return;
    }
    to.writeHead(200, sse);
    await writePieces(to, cutInto(Buffer.from(begin(text) + end('stop'), 'utf8'), 61), 1);
    to.end();
  };

/** A stream that ends in good order, but before the answer does. */
export const cutChat =
  (text: string): Answerer =>
  (to) => {
    to.writeHead(200, sse).end(begin(text));
  };

/** An error inside a stream that began well. */
export const failsInChat =
  (text: string, message: string): Answerer =>
  (to) => {
    to.writeHead(200, sse).end(`${begin(text)}data: ${JSON.stringify({ error: { message, code: 500 } })}\n\n`);
  };

/** Begins to answer and then says nothing more. */
export const silentChat =
  (text: string): Answerer =>
  (to) => {
    to.writeHead(200, sse).write(begin(text));
  };
