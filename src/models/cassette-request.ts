import { type JsonValue, jsonValue } from '../core/json.js';
import { badCassette, type CassetteHead } from './cassette.js';

/** A request as it goes over the wire, as far as it says what is asked. */
export interface WireRequest {
  readonly method: string;
  /** Without the host, which is no part of a recording. */
  readonly path: string;
  readonly api: CassetteHead['api'];
  readonly body: JsonValue;
}

const APIS: readonly (readonly [string, CassetteHead['api']])[] = [
  ['/api/chat', 'ollama'],
  ['/chat/completions', 'chat'],
  ['/responses', 'responses'],
];

/** Throws `cassette_invalid` for what is no question to a model. */
export function wireRequest(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): WireRequest {
  const { pathname } = new URL(input instanceof Request ? input.url : input);
  const api = APIS.find(([end]) => pathname.endsWith(end))?.[1];
  if (api === undefined) throw badCassette(`A cassette holds no requests to ${pathname}.`);
  return { method: init?.method ?? 'POST', path: pathname, api, body: bodyOf(init?.body) };
}

function bodyOf(body: RequestInit['body']): JsonValue {
  if (typeof body === 'string') {
    try {
      return jsonValue.parse(JSON.parse(body));
    } catch (cause) {
      throw badCassette('A request whose body is not plain JSON cannot be on a cassette.', cause);
    }
  }
  throw badCassette('A request whose body is not a text cannot be on a cassette.');
}
