import { HoldfastError } from '../errors/errors.js';

export const OLLAMA_CLOUD = 'https://ollama.com';
/** What an address looks like, for messages. */
export const OLLAMA_ADDRESS = 'a host, host:port or an address with http:// or https://';

/**
 * The address of a server in all forms that OLLAMA_HOST has: `host`, `host:port`, `:port`, `0.0.0.0`, a URL, with a slash,
 * `/api` or `/v1` at the end. Without a scheme the port is 11434. Throws `config_invalid`.
 */
export function ollamaAddress(text: string): { readonly host: string; readonly authorization: string | null } {
  const bare = text.trim().replace(/^["']|["']$/g, '');
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(bare);
  let url: URL;
  let user: string;
  try {
    url = new URL(hasScheme ? bare : `http://${bare.startsWith(':') ? `127.0.0.1${bare}` : bare}`);
    user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  } catch {
    throw badAddress();
  }
  if (!/^https?:$/.test(url.protocol) || url.hostname === '') throw badAddress();
  if (url.hostname === 'ollama.com' || url.hostname === 'www.ollama.com')
    return { host: OLLAMA_CLOUD, authorization: null };
  if (!hasScheme && !/:\d+(?:\/|$)/.test(bare)) url.port = '11434';
  // What a server listens on is no address to call: some systems refuse it.
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  if (url.hostname === '[::]') url.hostname = '[::1]';
  const path = url.pathname.replace(/\/+$/, '').replace(/\/(?:api(?:\/chat)?|v1)$/, '');
  return {
    host: `${url.protocol}//${url.host}${path}`,
    authorization: user === ':' ? null : `Basic ${Buffer.from(user, 'utf8').toString('base64')}`,
  };
}

export function isOllamaAddress(text: string): boolean {
  try {
    ollamaAddress(text);
    return true;
  } catch {
    return false;
  }
}

/** It may hold a password, which is not repeated. */
const badAddress = (): HoldfastError =>
  new HoldfastError('config_invalid', `The address of the Ollama server is none; expected ${OLLAMA_ADDRESS}.`, {
    hint: 'Correct OLLAMA_HOST, or baseURL where an address is given in code.',
  });
