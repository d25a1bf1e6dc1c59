import type { IncomingHttpHeaders } from 'node:http';
import { type Answerer, type WireServer, wireServer } from '../../models/servers/wire-server.js';

/** Begins every secret that is planted. */
export const CANARY = 'c4n4ry-of-';

/** How a server gives back what it was sent, by the name of the model that is asked for. */
export const ECHOES = ['text', 'headers', 'error', 'refusal', 'page', 'line', 'broken', 'redirect'] as const;
export type Echo = (typeof ECHOES)[number];

const forms = (headers: IncomingHttpHeaders): string => {
  const all = Object.entries(headers).flatMap(([name, value]) =>
    value?.includes(CANARY) || /auth/.test(name) ? [String(value)] : [],
  );
  return all
    .flatMap((one) => [
      one,
      encodeURIComponent(one),
      Buffer.from(one).toString('base64'),
      Buffer.from(`x${one}`).toString('base64url'),
    ])
    .join(' ');
};

/** What an API says for a text, whole and in pieces; and for an error in the middle. */
const SAYS = {
  chat: {
    whole: (content: string) => ({
      id: content,
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
      usage: {},
    }),
    pieces: (content: string) => [
      { id: content, choices: [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }] },
      { id: content, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    ],
    error: (message: string) => [{ error: { message, code: 'invalid', type: message } }],
  },
  responses: {
    whole: (text: string) => respondedWith(text),
    pieces: (text: string) => [
      { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: text },
      { type: 'response.completed', response: respondedWith(text) },
    ],
    error: (message: string) => [
      { type: 'error', code: 'invalid', message, param: message, error: { message, code: 'invalid' } },
    ],
  },
  ollama: {
    whole: (content: string) => ({
      model: 'm',
      message: { role: 'assistant', content },
      done: true,
      done_reason: 'stop',
    }),
    pieces: (content: string) => [
      { model: 'm', message: { role: 'assistant', content }, done: false },
      { model: 'm', message: { role: 'assistant', content: '' }, done: true, done_reason: 'stop' },
    ],
    error: (message: string) => [{ error: message }],
  },
} as const;

function respondedWith(text: string) {
  const content = [{ type: 'output_text', text, annotations: [] }];
  const output = [{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }];
  return {
    id: text,
    object: 'response',
    status: 'completed',
    model: 'm',
    output,
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  };
}

const apiOf = (path: string): keyof typeof SAYS =>
  path.endsWith('/api/chat') ? 'ollama' : path.endsWith('/responses') ? 'responses' : 'chat';

/** A server that gives back every header that it was sent, in answers and in errors of every kind. */
export const canaryServer = (): Promise<WireServer> => wireServer(hostile);

const hostile: Answerer = (to, { path, headers, body }) => {
  const echo = forms(headers);
  const api = apiOf(path);
  const isStreamed = body['stream'] === true;
  const frames = (values: readonly object[]): string =>
    values
      .map((value) => (api === 'ollama' ? `${JSON.stringify(value)}\n` : `data: ${JSON.stringify(value)}\n\n`))
      .join('');
  const type = {
    'content-type': !isStreamed ? 'application/json' : api === 'ollama' ? 'application/x-ndjson' : 'text/event-stream',
  };
  const { whole, pieces, error } = SAYS[api];
  const say = (text: string) => (isStreamed ? frames(pieces(text)) : JSON.stringify(whole(text)));
  const answers: Record<Echo, () => void> = {
    text: () => to.writeHead(200, type).end(say(`You are ${echo}`)),
    headers: () => to.writeHead(200, { ...type, 'x-request-id': echo, 'openai-request-id': echo }).end(say('ok')),
    error: () =>
      to
        .writeHead(400, { 'x-request-id': echo })
        .end(JSON.stringify({ error: { message: `bad: ${echo}`, code: echo, type: echo } })),
    refusal: () => to.writeHead(401, { 'www-authenticate': echo }).end(JSON.stringify({ detail: `not you: ${echo}` })),
    page: () =>
      to.writeHead(403, { 'content-type': 'text/html' }).end(`<!DOCTYPE html><html><body><p>${echo}</p></body></html>`),
    line: () =>
      to
        .writeHead(200, type)
        .end(isStreamed ? frames([...pieces(echo).slice(0, 1), ...error(echo)]) : JSON.stringify(error(echo)[0])),
    broken: () => to.writeHead(400, type).end(`{"${echo}`),
    redirect: () => to.writeHead(307, { location: `http://127.0.0.1:9/?key=${encodeURIComponent(echo)}` }).end(),
  };
  answers[String(body['model']) as Echo]();
};
