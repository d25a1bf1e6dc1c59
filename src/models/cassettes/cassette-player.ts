import { setImmediate as breath } from 'node:timers/promises';
import { HoldfastError } from '../../core/errors/errors.js';
import { canonical, type JsonValue, sha256 } from '../../core/json.js';
import { failureText } from '../failures/failure-text.js';
import { bytesOf, type Cassette, type CassetteExchange } from './cassette.js';
import { askedOf, type WireRequest, wireRequest } from './cassette-request.js';
import { knowHeaders, starredIn } from './cassette-secrets.js';

/**
 * A `fetch` that asks nobody: a request is answered as its equal on the cassette was. Equal requests are answered in the order
 * in which they were recorded, and then from the first again. Throws `cassette_unmatched`, which says what differs.
 */
export function playingFetch(cassette: Cassette): typeof fetch {
  const byDigest = new Map<string, CassetteExchange[]>();
  for (const exchange of cassette.exchanges) {
    const digest = digestOf(exchange.request);
    byDigest.set(digest, [...(byDigest.get(digest) ?? []), exchange]);
  }
  return async (input, init) => {
    init?.signal?.throwIfAborted();
    const asked = wireRequest(input, init);
    knowHeaders(new Headers(init?.headers));
    const request = { ...asked, body: starredIn(asked.body) };
    const equals = request.api === cassette.head.api ? byDigest.get(digestOf(request)) : undefined;
    const next = equals?.shift();
    if (equals === undefined || next === undefined) throw unmatched(cassette, request);
    equals.push(next);
    return answerOf(next);
  };
}

const digestOf = (request: Pick<WireRequest, 'path' | 'body'>): string => sha256(canonical(askedOf(request)));

function answerOf({ answer }: CassetteExchange): Response {
  const { status, headers, pieces, cut } = answer;
  let next = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await breath();
      const piece = pieces[next++];
      if (piece !== undefined) controller.enqueue(bytesOf(piece));
      // The words of `fetch`.
      else if (cut) controller.error(new TypeError('terminated'));
      else controller.close();
    },
  });
  return new Response([204, 205, 304].includes(status) ? null : body, { status, headers });
}

function unmatched({ name, head, exchanges }: Cassette, { api, body }: WireRequest): HoldfastError {
  const what = (why: string) => new HoldfastError('cassette_unmatched', `The cassette "${name}" ${why}.`);
  if (api !== head.api) return what(`is of the API "${head.api}"; the request is of "${api}"`);
  const asked = canonical(body);
  const [nearest] = exchanges
    .map(({ request }, index) => ({
      number: index + 1,
      body: request.body,
      alike: alike(canonical(request.body), asked),
    }))
    .toSorted((a, b) => b.alike - a.alike);
  if (nearest === undefined) return what('holds no request');
  const { path, recorded, now } = firstDifference(nearest.body, body, '');
  return what(
    `has no request like this one among its ${exchanges.length}; in the nearest, number ${nearest.number}, ${path || 'the body'} is ${recorded}, and here it is ${now}`,
  );
}

/** How long two texts are the same. */
function alike(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one.charCodeAt(length) === other.charCodeAt(length)) length++;
  return length;
}

interface Difference {
  readonly path: string;
  readonly recorded: string;
  readonly now: string;
}

/** Where two values that are not equal differ first, in the order of keys. `path` is a JSON pointer. */
function firstDifference(recorded: JsonValue | undefined, now: JsonValue | undefined, path: string): Difference {
  const [before, after] = [membersOf(recorded), membersOf(now)];
  if (before !== null && after !== null && Array.isArray(recorded) === Array.isArray(now)) {
    const keys = [...new Set([...before.keys(), ...after.keys()])];
    const key = keys.find((one) => shown(before.get(one)) !== shown(after.get(one)));
    if (key !== undefined) return firstDifference(before.get(key), after.get(key), `${path}/${key}`);
  }
  return { path, recorded: short(recorded), now: short(now) };
}

function membersOf(value: JsonValue | undefined): ReadonlyMap<string, JsonValue> | null {
  if (typeof value !== 'object' || value === null) return null;
  const entries: [string, JsonValue][] = Object.entries(value);
  return new Map(Array.isArray(value) ? entries : entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const shown = (value: JsonValue | undefined): string => (value === undefined ? 'missing' : canonical(value));

const short = (value: JsonValue | undefined): string => {
  const text = failureText(shown(value));
  return text.length <= 160 ? text : `${text.slice(0, 159).toWellFormed()}…`;
};
