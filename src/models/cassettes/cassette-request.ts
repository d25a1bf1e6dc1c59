import { textsBy } from '../../core/exports/redaction.js';
import { type JsonValue, jsonValue } from '../../core/json.js';
import { isSecretHeader, knowSecret, starredSecrets } from '../secrets/known-secrets.js';
import { badCassette, type CassetteHead } from './cassette.js';

/** A request as it goes over the wire, as far as it says what is asked. */
export interface WireRequest {
  readonly method: string;
  /** Without the host, which is no part of a recording. */
  readonly path: string;
  readonly api: CassetteHead['api'];
  /** The name in the body, or in the path where the API has it there; null = the request names none. */
  readonly model: string | null;
  readonly body: JsonValue;
}

const APIS: readonly (readonly [string, CassetteHead['api']])[] = [
  ['/api/chat', 'ollama'],
  ['/chat/completions', 'chat'],
  ['/responses', 'responses'],
  ['/messages', 'anthropic'],
  [':generateContent', 'google'],
  [':streamGenerateContent', 'google'],
];

/** Throws `cassette_invalid` for what is no question to a model. */
export function wireRequest(input: Parameters<typeof fetch>[0], init: RequestInit | undefined): WireRequest {
  const { pathname } = new URL(input instanceof Request ? input.url : input);
  const api = APIS.find(([end]) => pathname.endsWith(end))?.[1];
  if (api === undefined) throw badCassette(`A cassette holds no requests to ${pathname}.`);
  const body = bodyOf(init?.body);
  const model = api === 'google' ? modelInPath(pathname) : modelInBody(body);
  return { method: init?.method ?? 'POST', path: pathname, api, model, body };
}

/** Returns what a request is known by: Gemini says by the path whether an answer is streamed, every other API in the body. */
export const askedOf = ({ path, body }: Pick<WireRequest, 'path' | 'body'>): JsonValue =>
  path.endsWith(':streamGenerateContent') ? { streamed: body } : body;

function modelInBody(body: JsonValue): string | null {
  const model = typeof body === 'object' && body !== null && 'model' in body ? body['model'] : null;
  return typeof model === 'string' && model !== '' ? model : null;
}

/** `…/models/<name>:generateContent`; a name with a slash stands without `models/`. */
const modelInPath = (path: string): string | null =>
  /(?:\/models\/([^/:]+)|\/([^/:]+\/[^/:]+)):\w+$/.exec(decodeURI(path))?.slice(1).find(Boolean) ?? null;

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

/** Makes known what a request carries as secret in its headers. */
export function knowHeaders(headers: Headers): void {
  for (const [name, value] of headers)
    if (isSecretHeader(name)) for (const part of [value, ...value.split(/\s+/)]) knowSecret(part);
}

/** The value with a star for each character of a secret, so that nothing else of it moves. */
export const starredIn: (value: JsonValue) => JsonValue = textsBy(starredSecrets);

/** The same for pieces of bytes, in which a secret may be cut. One character for each byte keeps all else. */
export function starredPieces(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  const clean = Buffer.from(starredSecrets(Buffer.concat(pieces).toString('latin1')), 'latin1');
  let start = 0;
  return pieces.map(({ length }) => {
    start += length;
    return clean.subarray(start - length, start);
  });
}
