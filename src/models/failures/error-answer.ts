import { isRecord } from '../../core/json.js';
import { OLLAMA_CLOUD } from '../../core/models/ollama-address.js';
import { withoutKnownSecrets } from '../secrets/known-secrets.js';
import { textOf } from './failure-causes.js';
import { failureText } from './failure-text.js';

const MAX_CHARS = 64 * 1024;

/** The text of an error page, read to 64 KiB at most; a body that breaks off is no other error. */
async function boundedText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      if (text.length > MAX_CHARS) break;
    }
  } catch {
    // What came before is enough.
  }
  return text;
}

/**
 * An answer that is not "200 OK" in OpenAI's form, whatever form it had: its text short, readable and without secrets, and so its
 * headers. A body that breaks off is no other error.
 */
export async function errorAnswer(response: Response): Promise<Response> {
  const body = await boundedText(response);
  const said = parsed(body);
  const error = isRecord(said) && isRecord(said['error']) ? said['error'] : said;
  const text = failureText(messageIn(said) ?? body);
  const fields = Object.fromEntries(
    ['code', 'type', 'param'].flatMap((key) => {
      const value = textOf(error, key);
      return value === null ? [] : [[key, failureText(value)]];
    }),
  );
  const rest = isRecord(said) && 'signin_url' in said ? { signin_url: signInLink(said) } : {};
  const clean = text === '' ? '' : JSON.stringify({ error: { ...fields, message: text }, ...rest });
  const { status, statusText } = response;
  return new Response(clean, { status, statusText, headers: cleanHeaders(response.headers) });
}

const LINK_MAX = 500;

/**
 * Where Ollama asks a person to sign in: a page of Ollama's own, written so that nothing of it is more than a link. Null: the
 * answer has no such link. The key in it is the public one of the machine.
 */
export function signInLink(said: unknown): string | null {
  const link = textOf(said, 'signin_url');
  if (link === null || link.length > LINK_MAX || !URL.canParse(link)) return null;
  const { href, origin, username, password } = new URL(link);
  if (origin !== OLLAMA_CLOUD || username !== '' || password !== '') return null;
  return withoutKnownSecrets(href) === href ? href : null;
}

/** Headers as they came, without secrets and without what was said of the body as it came. */
export function cleanHeaders(headers: Headers): Headers {
  const clean = new Headers(headers);
  clean.delete('content-length');
  clean.delete('content-encoding');
  // All at once: hardly any answer has a secret in one.
  const all = [...clean.values()].join('\n');
  if (withoutKnownSecrets(all) === all) return clean;
  for (const [name, value] of [...clean]) clean.set(name, withoutKnownSecrets(value));
  return clean;
}

/** Google puts the object into a list. */
function parsed(body: string): unknown {
  try {
    const value: unknown = JSON.parse(body);
    return Array.isArray(value) ? value[0] : value;
  } catch {
    return null;
  }
}

/** `{error: {message}}` of OpenAI, `{error}`, `{message}` and `{detail}` of others; of a proxy for many what the provider behind it said. */
export function messageIn(said: unknown): string | null {
  if (!isRecord(said)) return null;
  const error = said['error'] ?? said['message'] ?? said['detail'];
  if (typeof error === 'string') return error;
  if (!isRecord(error)) return null;
  const message = textOf(error, 'message');
  if (message === null) return JSON.stringify(error);
  const behind = textOf(error['metadata'], 'raw');
  return behind === null ? message : `${message}: ${behind}`;
}
