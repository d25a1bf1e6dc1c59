import type { ServerResponse } from 'node:http';
import { type Answerer, cutInto, type Received, writePieces } from './wire-server.js';

/** What a model says, whatever words its server has for it. It always took 11 tokens, 4 of them from a cache, and gave 7. */
export interface Said {
  /** What it thought, in the form in which only its own provider can read it. */
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly args: object }[];
}

/** The words of one API. */
export interface Wire {
  readonly path: string;
  /** The path of a streamed answer, where it is another one. */
  readonly streamPath?: string;
  readonly streamType: string;
  readonly isStreamed: (body: Received['body'], path: string) => boolean;
  readonly whole: (said: Said) => string;
  readonly frames: (said: Said) => readonly string[];
  /** How many frames at the end say that it is over. */
  readonly ending: number;
  /** What goes wrong after it began well. */
  readonly failure: (message: string) => string;
  readonly refusal: (message: string) => string;
  /** The JSON schema that a request wants its answer to have. */
  readonly formIn: (body: Received['body']) => unknown;
}

const JSON_TYPE = { 'content-type': 'application/json' };

export const begins = (wire: Pick<Wire, 'streamType'>, response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': wire.streamType });

/** A whole answer, or a streamed one in pieces of so many bytes. */
export const answers =
  (wire: Wire, said: Said, pieceBytes = 4_096): Answerer =>
  async (response, { body, path }) => {
    if (!wire.isStreamed(body, path)) {
      response.writeHead(200, JSON_TYPE).end(wire.whole(said));
      return;
    }
    begins(wire, response);
    await writePieces(response, cutInto(Buffer.from(wire.frames(said).join('')), pieceBytes), 0);
    response.end();
  };

export const refuses =
  (wire: Wire, code: number, message: string, headers: Record<string, string> = {}): Answerer =>
  (response) => {
    response.writeHead(code, { ...JSON_TYPE, ...headers }).end(wire.refusal(message));
  };
