import { type Answerer, status, writePieces } from './wire-server.js';

/** What servers of `POST /v1/chat/completions` say to a router: an answer, a part of one, or an error. */

const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const chunk = (delta: object, rest: object = {}): string =>
  `data: ${JSON.stringify({ id: 'chat_1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: null }], ...rest })}\n\n`;

const head = { 'content-type': 'text/event-stream' };

/** Says a text, whole or in two pieces, as it is asked. */
export const says =
  (text: string): Answerer =>
  async (to, { body }) => {
    if (body['stream'] === true) {
      to.writeHead(200, head);
      const half = Math.ceil(text.length / 2);
      const pieces = [
        chunk({ role: 'assistant', content: '' }),
        chunk({ content: text.slice(0, half) }),
        chunk({ content: text.slice(half) }),
        chunk({}, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
        chunk({}, { choices: [], usage }),
        'data: [DONE]\n\n',
      ];
      await writePieces(
        to,
        pieces.map((piece) => Buffer.from(piece)),
      );
      to.end();
      return;
    }
    const message = { role: 'assistant', content: text };
    const answer = { id: 'chat_1', object: 'chat.completion', created: 1, model: 'm', usage };
    to.writeHead(200, { 'content-type': 'application/json' });
    to.end(JSON.stringify({ ...answer, choices: [{ index: 0, message, finish_reason: 'stop' }] }));
  };

/** Begins to answer, as providers do before they know anything, and hangs up. */
export const hangsUpEarly: Answerer = async (to) => {
  to.writeHead(200, head);
  await writePieces(to, [Buffer.from(chunk({ role: 'assistant', content: '' }))], 10);
  to.destroy();
};

/** Hangs up after the first piece of text. */
export const hangsUpAfter =
  (text: string): Answerer =>
  async (to) => {
    to.writeHead(200, head);
    await writePieces(to, [Buffer.from(chunk({ role: 'assistant', content: '' }) + chunk({ content: text }))], 20);
    to.destroy();
  };

/** An error in the form of OpenAI, which others took over. */
export const refuses = (
  code: number,
  message: string,
  { type = 'error', headers = {} }: { readonly type?: string; readonly headers?: Record<string, string> } = {},
): Answerer =>
  status(code, JSON.stringify({ error: { message, type, code: type, param: null } }), {
    'content-type': 'application/json',
    ...headers,
  });
