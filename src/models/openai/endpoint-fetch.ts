import { cleanHeaders, errorAnswer } from '../failures/error-answer.js';
import { failureText } from '../failures/failure-text.js';
import { ModelCallError } from '../failures/model-call-error.js';
import { answerForm, cleanAnswer, silent } from '../providers/clean-answer.js';
import { spokenScan } from '../secrets/known-secrets.js';
import type { Destination } from './endpoint.js';

/**
 * `fetch` for one server: its keys go to its own host and nowhere else, and come back in no answer. A redirect is not followed. A
 * key that is refused is read again, and the request repeated once with another value.
 */
export function endpointFetch(destination: Destination): typeof fetch {
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.origin !== new URL(destination.baseURL).origin) {
      throw new ModelCallError('model_failed', `A request for ${destination.host} would go to ${url.host}.`, {
        retryable: false,
      });
    }
    const used = await Promise.all(destination.credentials.map(({ secret }) => secret.value()));
    const response = await send(destination, url, init, used);
    if (response.status !== 401 && response.status !== 403) return await heard(destination, response);
    const renewed = await renewedOf(destination, used);
    if (renewed === null) return await heard(destination, response);
    await response.body?.cancel();
    return await heard(destination, await send(destination, url, init, renewed));
  };
}

function send(
  destination: Destination,
  url: URL,
  init: RequestInit | undefined,
  values: readonly string[],
): Promise<Response> {
  const headers = new Headers(init?.headers);
  headers.delete('authorization');
  for (const [name, value] of Object.entries(destination.headers)) headers.set(name, value);
  destination.credentials.forEach(({ header, scheme }, index) => {
    headers.set(header, `${scheme}${values[index] ?? ''}`);
  });
  return begunWithin(destination, url, { ...init, headers, redirect: 'manual' });
}

/** Gives up a server that is silent before its answer; `cleanAnswer` bounds the silence in an answer. */
async function begunWithin({ timeoutMs, send: fetchBy }: Destination, url: URL, init: RequestInit): Promise<Response> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(silent(timeoutMs)), timeoutMs);
  const signal = init.signal ? AbortSignal.any([init.signal, late.signal]) : late.signal;
  try {
    return await (fetchBy ?? fetch)(url, { ...init, signal });
  } finally {
    clearTimeout(timer);
  }
}

/** Null: every key is what it was. */
async function renewedOf({ credentials }: Destination, used: readonly string[]): Promise<readonly string[] | null> {
  const renewed = await Promise.all(credentials.map(({ secret }, index) => secret.renewed(used[index] ?? '')));
  if (renewed.every((value) => value === null)) return null;
  return renewed.map((value, index) => value ?? used[index] ?? '');
}

async function heard(destination: Destination, response: Response): Promise<Response> {
  if (response.status >= 300 && response.status < 400) throw elsewhere(destination, response);
  const { status, statusText } = response;
  const form = answerForm(response.headers.get('content-type'));
  const body = response.body?.pipeThrough(cleanAnswer(spokenScan(), destination.timeoutMs, form)) ?? null;
  const clean = new Response(body, { status, statusText, headers: cleanHeaders(response.headers) });
  // The SDK looks whether it is OpenAI that answered.
  Object.defineProperty(clean, 'url', { value: response.url });
  return response.ok ? clean : await errorAnswer(clean);
}

function elsewhere({ title, addressSetting }: Destination, response: Response): ModelCallError {
  void response.body?.cancel().catch(() => undefined);
  const to = failureText(response.headers.get('location') ?? 'nowhere');
  const message = `The server answers ${response.status} and redirects to ${to}, which is not followed.`;
  const hint = `Set the address of ${title} (${addressSetting}) to where the server is.`;
  return new ModelCallError('model_failed', message, { statusCode: response.status, retryable: false, hint });
}
