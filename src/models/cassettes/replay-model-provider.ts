import { realpathSync } from 'node:fs';
import { join, sep } from 'node:path';
import { setImmediate as breath } from 'node:timers/promises';
import type { Model, ModelProvider } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import { groupedBy } from '../../core/grouped.js';
import { canonical, type JsonValue, sha256 } from '../../core/json.js';
import { failureText } from '../failures/failure-text.js';
import { NativeProvider, nativeRecorded } from '../native/native-provider.js';
import { OllamaModel, ollamaRecorded } from '../ollama/ollama-model.js';
import { OpenAICompatibleProvider } from '../openai/openai-compatible-provider.js';
import { badCassette, bytesOf, type Cassette, type CassetteExchange } from './cassette.js';
import { readCassette } from './cassette-file.js';
import { askedOf, knowHeaders, starredIn, type WireRequest, wireRequest } from './cassette-request.js';
import { openaiRecorded } from './openai-recording.js';

/**
 * A `fetch` that asks no one: a request is answered as its equal on the cassette was. Equal requests are answered in the order
 * in which they were recorded, and then from the first again. Throws `cassette_unmatched`, which says what differs.
 */
function playingFetch(cassette: Cassette): typeof fetch {
  const byDigest = groupedBy(cassette.exchanges, ({ request }) => digestOf(request));
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

/** Where a recorded model would be asked, which no one is. */
const NOWHERE = 'http://cassette.invalid';

/**
 * Models that answer as they once did: the name of one is that of a cassette, `weather` for `weather.jsonl` in the directory. Nothing is
 * contacted, no key is needed. A cassette is read when its name is asked for first.
 */
export class ReplayModelProvider implements ModelProvider {
  readonly #directory: string;
  readonly #models = new Map<string, Model>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Throws `cassette_invalid` for a name that is none, for a missing cassette and for one that cannot be read. */
  async getModel(modelName = ''): Promise<Model> {
    const known = this.#models.get(modelName);
    if (known !== undefined) return known;
    const model = await playedModel(readCassette(pathOf(this.#directory, modelName), modelName));
    this.#models.set(modelName, model);
    return model;
  }
}

async function playedModel(cassette: Cassette): Promise<Model> {
  const { api, model } = cassette.head;
  const send = playingFetch(cassette);
  if (api === 'ollama') return new OllamaModel(model, { ...ollamaRecorded(cassette), baseURL: NOWHERE, fetch: send });
  const native = nativeRecorded(cassette);
  if (native !== null) return new NativeProvider({ ...native, baseURL: NOWHERE }, () => null, send).getModel(model);
  const { options, dialect } = openaiRecorded(cassette);
  const recorded = { dialect };
  const played = { ...options, api: api === 'responses' ? api : 'chat', key: null } as const;
  return new OpenAICompatibleProvider(played, () => null, send, recorded).getModel(model);
}

/** A name has parts of letters, digits, `_`, `-` and `.`, which do not begin with a dot; links do not lead out either. */
function pathOf(directory: string, name: string): string {
  if (!/^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/.test(name)) {
    throw badCassette(
      `${JSON.stringify(name)} is no name of a cassette; expected one such as "weather" or "demo/weather".`,
    );
  }
  try {
    const path = realpathSync(join(directory, `${name}.jsonl`));
    if (path.startsWith(`${realpathSync(directory)}${sep}`)) return path;
  } catch (cause) {
    throw badCassette(`There is no cassette "${name}": ${join(directory, `${name}.jsonl`)} is missing.`, cause);
  }
  throw badCassette(`The cassette "${name}" is not in ${directory}: it is a link that leads out.`);
}
