import { type Answerer, cutInto, writePieces } from './wire-server.js';

/** What an Ollama server says, as `POST /api/chat` says it. */
export const chunk = (message: object, rest: object = {}): object => ({
  model: 'test',
  created_at: '2026-01-01T00:00:00Z',
  message: { role: 'assistant', content: '', ...message },
  done: false,
  ...rest,
});

export const lastChunk = (rest: object = {}, message: object = {}): object =>
  chunk(message, { done: true, done_reason: 'stop', prompt_eval_count: 11, eval_count: 7, ...rest });

export const toolCall = (name: string, args: unknown, rest: object = {}): object => ({
  ...rest,
  function: { name, arguments: args },
});

const ndjson = { 'content-type': 'application/x-ndjson' };
const lines = (chunks: readonly object[]) => chunks.map((one) => `${JSON.stringify(one)}\n`).join('');

/** A whole answer, chunk by chunk. */
export const says =
  (...chunks: readonly object[]): Answerer =>
  (response) => {
    response.writeHead(200, ndjson).end(lines(chunks));
  };

/** The same in pieces of so many bytes. */
export const saysInPieces =
  (length: number, ...chunks: readonly object[]): Answerer =>
  async (response) => {
    response.writeHead(200, ndjson);
    await writePieces(response, cutInto(Buffer.from(lines(chunks), 'utf8'), length));
    response.end();
  };

/** Raw text in place of lines. */
export const saysRaw =
  (text: string): Answerer =>
  (response) => {
    response.writeHead(200, ndjson).end(text);
  };

/** Begins to answer and then says nothing more. */
export const hangsAfter =
  (...chunks: readonly object[]): Answerer =>
  (response) => {
    response.writeHead(200, ndjson).write(lines(chunks));
  };

/** Begins to answer and then loses the connection. */
export const cutAfter =
  (...chunks: readonly object[]): Answerer =>
  async (response) => {
    response.writeHead(200, ndjson);
    await writePieces(response, [Buffer.from(lines(chunks))], 20);
    response.destroy();
  };
