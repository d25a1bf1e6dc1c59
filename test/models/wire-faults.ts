import { Socket } from 'node:net';
import { HELLO } from './model.contract.js';
import { begins, refuses, type Wire } from './servers/wire.js';
import { type Answerer, drained, htmlPage, reset, status, writePieces } from './servers/wire-server.js';

/** How a server breaks, and what a caller must then know. */
export interface Fault {
  readonly title: string;
  readonly answerer: (wire: Wire, secret: string) => Answerer;
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;
}

const SAID = { text: HELLO };

/** The beginning of an answer, streamed or whole as it is wanted, in two pieces; the second ends inside a line. */
function beginning(wire: Wire, isStreamed: boolean): readonly Buffer[] {
  const bytes = Buffer.from(isStreamed ? wire.frames(SAID).join('') : wire.whole(SAID));
  const cut = Math.floor(bytes.length / 2);
  return [bytes.subarray(0, 5), bytes.subarray(5, cut)];
}

const streamsThen =
  (end: (response: Parameters<Answerer>[0]) => void) =>
  (wire: Wire): Answerer =>
  async (response, { body, path }) => {
    const isStreamed = wire.isStreamed(body, path);
    if (isStreamed) begins(wire, response);
    else response.writeHead(200, { 'content-type': 'application/json' });
    await writePieces(response, beginning(wire, isStreamed), 10);
    end(response);
  };

const resets = (response: Parameters<Answerer>[0]): void => {
  if (response.socket instanceof Socket) response.socket.resetAndDestroy();
};

/** Every frame but those that say that it is over; of a whole answer, all but the last byte. */
const endsEarly =
  (wire: Wire): Answerer =>
  (response, { body, path }) => {
    if (wire.isStreamed(body, path)) begins(wire, response).end(wire.frames(SAID).slice(0, -wire.ending).join(''));
    else response.writeHead(200, { 'content-type': 'application/json' }).end(wire.whole(SAID).slice(0, -1));
  };

const failsLate =
  (wire: Wire, secret: string): Answerer =>
  (response, { body, path }) => {
    const said = `the engine has stopped; key ${secret}`;
    if (!wire.isStreamed(body, path)) void refuses(wire, 500, said)(response, EMPTY);
    else begins(wire, response).end(`${wire.frames(SAID)[0]}${wire.failure(said)}`);
  };

const EMPTY: Parameters<Answerer>[1] = { method: 'POST', path: '', headers: {}, body: {}, bytes: Buffer.alloc(0) };

const passing = (title: string, answerer: Fault['answerer'], retryAfterMs: number | null = null): Fault => ({
  ...{ title, answerer, retryable: true, retryAfterMs },
});

const lasting = (title: string, answerer: Fault['answerer']): Fault => ({
  ...{ title, answerer, retryable: false, retryAfterMs: null },
});

export const FAULTS: readonly Fault[] = [
  passing('a page of a proxy', () => htmlPage(502, { 'retry-after-ms': '1' }), 1),
  passing('429 with retry-after-ms', (wire) => refuses(wire, 429, 'slow down', { 'retry-after-ms': '20' }), 20),
  passing('429 with retry-after', (wire) => refuses(wire, 429, 'slow down', { 'retry-after': '1' }), 1_000),
  passing('429 without retry-after', (wire) => refuses(wire, 429, 'slow down')),
  passing('a reset before the answer', () => reset),
  passing('a reset in the middle', streamsThen(resets)),
  passing(
    'a lost connection in the middle of a line',
    streamsThen((response) => response.destroy()),
  ),
  passing(
    'an end in the middle of a line',
    streamsThen((response) => response.end()),
  ),
  passing('an end before it is done', endsEarly),
  passing('an error after 200', failsLate),
  passing('nothing after 200', () => status(200, '', { 'content-type': 'application/json' })),
  lasting('401', (wire, secret) => refuses(wire, 401, `the key ${secret} is wrong`)),
  lasting('400', (wire) => refuses(wire, 400, 'no such field')),
];

/** Servers that never stop. */
export const LIMITS: readonly { readonly title: string; readonly answerer: (wire: Wire) => Answerer }[] = [
  {
    title: 'of many pieces',
    answerer: (wire) => async (response) => {
      begins(wire, response);
      const frames = wire.frames({ text: 'x' });
      const at = frames.findIndex((frame) => frame.includes('"x"'));
      response.write(frames.slice(0, at).join(''));
      // Long pieces: a client that reads half a million short ones is busy for a minute on a slow machine.
      const piece = Buffer.from(frames[at]?.replace('"x"', `"${'x'.repeat(32 * 1024)}"`) ?? '');
      while (!response.destroyed) if (!response.write(piece)) await drained(response);
    },
  },
];
