import { join } from 'node:path';
import type { JsonObject } from '../../core/json.js';
import { starredSecrets } from '../secrets/known-secrets.js';
import { badCassette, CASSETTE_VERSION, type CassetteExchange, type CassetteHead, toPiece } from './cassette.js';
import { addToCassette, assertCassetteOf } from './cassette-file.js';
import { knowHeaders, starredIn, starredPieces, type WireRequest, wireRequest } from './cassette-request.js';

const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** What a client of a model looks at. All else may say whose account it is. */
const HEADERS = ['content-type', 'retry-after', 'retry-after-ms', 'x-should-retry'];

export interface Recording {
  /** Where the cassettes are: one for each model, `<model>.jsonl`. */
  readonly directory: string;
  /** What the provider is set to, where that shapes its requests. */
  readonly settings: JsonObject;
}

/**
 * A `fetch` that passes everything on as it comes, and adds each exchange to the cassette of its model once its answer has
 * ended. No header of a request is kept, and what it carried as a secret is starred wherever it appears. An exchange that cannot be
 * added fails its call, or the next one where its reader has left already.
 */
export function recordingFetch(recording: Recording, send: typeof fetch = fetch): typeof fetch {
  let trouble: unknown = null;
  return async (input, init) => {
    const before = trouble;
    trouble = null;
    if (before !== null) throw before;
    const request = wireRequest(input, init);
    const cassette = cassetteFor(recording, request);
    const response = await send(input, init);
    knowHeaders(new Headers(init?.headers));
    const keep = once((pieces: readonly Uint8Array[], cut: boolean) => {
      try {
        addToCassette(cassette.path, cassette.head, exchangeOf(request, response, pieces, cut));
      } catch (error) {
        trouble = error;
        throw error;
      }
    });
    if (response.body === null) {
      keep([], false);
      return response;
    }
    const { status, statusText, headers } = response;
    return new Response(taped(response.body, keep, init?.signal), { status, statusText, headers });
  };
}

function cassetteFor({ directory, settings }: Recording, { api, model }: WireRequest) {
  if (model === null) throw badCassette('A request that names no model cannot be on a cassette.');
  const head: CassetteHead = { format: 'holdfast-cassette', version: CASSETTE_VERSION, api, model, settings };
  const path = join(directory, cassetteOf(model));
  assertCassetteOf(path, head);
  return { path, head };
}

function exchangeOf(
  { method, path, body }: WireRequest,
  { status, headers }: Response,
  pieces: readonly Uint8Array[],
  cut: boolean,
): CassetteExchange {
  const kept = HEADERS.flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, starredSecrets(value)] as const];
  });
  return {
    request: { method, path, body: starredIn(body) },
    answer: {
      status,
      headers: Object.fromEntries(kept),
      pieces: starredPieces(pieces).map(toPiece),
      cut,
    },
  };
}

/** The name of a file, whatever the name of the model. */
const cassetteOf = (model: string): string => `${model.replace(/[^\w.-]+/g, '-').replace(/^\.+/, '')}.jsonl`;

/** The body as it comes, piece by piece. A reader that has enough ends the recording; a server that breaks off cuts it. */
function taped(
  body: ReadableStream<Uint8Array>,
  keep: (pieces: readonly Uint8Array[], cut: boolean) => void,
  signal: AbortSignal | null | undefined,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  const next = async (): Promise<Uint8Array | null> => {
    const { done, value } = await reader.read().catch((error: unknown) => {
      keep(pieces, signal?.aborted !== true);
      throw error;
    });
    if (done) return null;
    sizeBytes += value.length;
    if (sizeBytes > MAX_ANSWER_BYTES) throw badCassette('An answer of more than 32 MiB cannot be on a cassette.');
    pieces.push(value);
    return value;
  };
  return new ReadableStream(
    {
      async pull(controller) {
        const value = await next();
        if (value !== null) return controller.enqueue(value);
        keep(pieces, false);
        controller.close();
      },
      async cancel(reason) {
        keep(pieces, false);
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

function once<T extends readonly unknown[]>(work: (...args: T) => void): (...args: T) => void {
  let isDone = false;
  return (...args) => {
    if (isDone) return;
    isDone = true;
    work(...args);
  };
}
