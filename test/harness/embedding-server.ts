import { createHash } from 'node:crypto';
import { type WireServer, wireServer } from '../models/servers/wire-server.js';

/** Words that mean the same. */
const MEANINGS = [
  ['late', 'delayed', 'overdue', 'slow'],
  ['parcel', 'delivery', 'package', 'shipment'],
  ['angry', 'upset', 'furious'],
  ['tea', 'drink', 'beverage'],
];

export const DIMENSIONS = 64;

/** A direction for each meaning: words that mean the same have the same one. */
function directionOf(word: string): readonly number[] {
  const meaning = MEANINGS.findIndex((words) => words.includes(word));
  const name = meaning === -1 ? word : `meaning ${meaning}`;
  const bytes = createHash('sha512').update(name).digest();
  return Array.from({ length: DIMENSIONS }, (_, at) => (bytes[at] ?? 0) / 127.5 - 1);
}

/** The vector of a text: the sum of the directions of its words. */
export function meaningOf(text: string): number[] {
  const words = text.toLowerCase().match(/[a-z]+/g) ?? ['nothing'];
  const sum = new Array<number>(DIMENSIONS).fill(0);
  for (const word of words)
    directionOf(word).forEach((one, at) => {
      sum[at] = (sum[at] ?? 0) + one;
    });
  return sum;
}

interface EmbeddingServer extends WireServer {
  /** Whether it answers 503. */
  isAway: boolean;
  /** A text with this word is answered by 400. */
  refused: string | null;
  /** Every text that it made a vector of. */
  readonly texts: readonly string[];
  /** Awaited before each answer. */
  before: () => Promise<void>;
}

/** A real HTTP server on loopback that makes vectors by OpenAI's API and by Ollama's. */
export async function embeddingServer(): Promise<EmbeddingServer> {
  const texts: string[] = [];
  const server = await wireServer(async (response, { path, body }) => {
    const input = [body['input']].flat().map(String);
    const answer = (code: number, value: unknown): void => {
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    await made.before();
    if (made.isAway) return answer(503, { error: { message: 'no room', type: 'server_error' } });
    const { refused } = made;
    if (refused !== null && input.some((text) => text.includes(refused)))
      return answer(400, { error: { message: 'the text is too long', type: 'invalid_request_error' } });
    texts.push(...input);
    const vectors = input.map(meaningOf);
    if (path.endsWith('/api/embed')) return answer(200, { model: body['model'], embeddings: vectors });
    // In another order than that of the texts, as the index allows.
    const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })).reverse();
    answer(200, { object: 'list', model: body['model'], data, usage: { prompt_tokens: 1, total_tokens: 1 } });
  });
  const made: EmbeddingServer = Object.assign(server, {
    ...{ isAway: false, refused: null, texts },
    before: () => Promise.resolve(),
  });
  return made;
}
