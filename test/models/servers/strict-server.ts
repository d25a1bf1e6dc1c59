import { begins, type Said, type Wire } from './wire.js';
import { type Answerer, cutInto, type Received, writePieces } from './wire-server.js';

/** A turn of a conversation as a strict server gives it. */
export interface StrictTurn {
  readonly said: Said;
  /** False: another model gave this turn. Default true. */
  readonly own?: boolean;
}

/** What a strict server finds wrong with a request. */
export class Complaint extends Error {}

interface Strict {
  /** How many answers a request holds already. */
  readonly turnOf: (body: Received['body']) => number;
  readonly check: (request: Received) => void;
  readonly refusal: (message: string) => string;
  readonly turns: readonly StrictTurn[];
  readonly answer: (said: Said, turn: number) => Pick<Wire, 'whole' | 'frames'>;
  readonly reasoning: (turn: number) => string;
  readonly isStreamed: (request: Received) => boolean;
}

/** Answers a request by the turns that it holds, so that the same request always has the same answer; refuses a wrong one by a 400. */
export const strict =
  ({ turnOf, check, refusal, turns, answer, reasoning, isStreamed }: Strict): Answerer =>
  async (response, request) => {
    const refuse = (message: string) =>
      response.writeHead(400, { 'content-type': 'application/json' }).end(refusal(message));
    try {
      check(request);
    } catch (error) {
      if (!(error instanceof Complaint)) throw error;
      refuse(error.message);
      return;
    }
    const turn = turnOf(request.body);
    const next = turns[turn];
    if (next === undefined) {
      refuse(`There is no turn ${turn}.`);
      return;
    }
    const said = { ...next.said, reasoning: reasoning(turn) };
    const { whole, frames } = answer(said, turn);
    if (!isStreamed(request)) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(whole(said));
      return;
    }
    begins({ streamType: 'text/event-stream' }, response);
    await writePieces(response, cutInto(Buffer.from(frames(said).join('')), 512), 0);
    response.end();
  };

export const recordOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

export const objects = (value: unknown): readonly Record<string, unknown>[] =>
  Array.isArray(value) ? value.map(recordOf) : [];
