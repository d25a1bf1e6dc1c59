import { cleanAnswer } from './clean-answer.js';
import type { Endpoint } from './endpoint.js';
import { cleanHeaders, errorAnswer } from './error-answer.js';
import { failureText } from './failure-text.js';
import { ModelCallError } from './model-call-error.js';

/**
 * `fetch` for one endpoint: its keys go to its own host and nowhere else, and come back in no answer. A redirect is not followed. A
 * key that is refused is read again, and the request repeated once with another value.
 */
export function endpointFetch(endpoint: Endpoint): typeof fetch {
  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.origin !== new URL(endpoint.baseURL).origin) {
      throw new ModelCallError('model_failed', `A request for ${endpoint.host} would go to ${url.host}.`, {
        retryable: false,
      });
    }
    const used = await Promise.all(endpoint.credentials.map(({ secret }) => secret.value()));
    const response = await send(endpoint, url, init, used);
    if (response.status !== 401 && response.status !== 403) return await heard(endpoint, response, used);
    const renewed = await renewedOf(endpoint, used);
    if (renewed === null) return await heard(endpoint, response, used);
    await response.body?.cancel();
    return await heard(endpoint, await send(endpoint, url, init, renewed), renewed);
  };
}

function send(
  endpoint: Endpoint,
  url: URL,
  init: RequestInit | undefined,
  values: readonly string[],
): Promise<Response> {
  const headers = new Headers(init?.headers);
  headers.delete('authorization');
  for (const [name, value] of Object.entries(endpoint.headers)) headers.set(name, value);
  endpoint.credentials.forEach(({ header, scheme }, index) => {
    headers.set(header, `${scheme}${values[index] ?? ''}`);
  });
  return fetch(url, { ...init, headers, redirect: 'manual' });
}

/** Null: every key is what it was. */
async function renewedOf({ credentials }: Endpoint, used: readonly string[]): Promise<readonly string[] | null> {
  const renewed = await Promise.all(credentials.map(({ secret }, index) => secret.renewed(used[index] ?? '')));
  if (renewed.every((value) => value === null)) return null;
  return renewed.map((value, index) => value ?? used[index] ?? '');
}

async function heard(endpoint: Endpoint, response: Response, secrets: readonly string[]): Promise<Response> {
  if (response.status >= 300 && response.status < 400) throw elsewhere(endpoint, response);
  const { status, statusText } = response;
  const body = response.body?.pipeThrough(cleanAnswer(secrets, endpoint.timeoutMs)) ?? null;
  const clean = new Response(body, { status, statusText, headers: cleanHeaders(response.headers) });
  // The SDK looks whether it is OpenAI that answered.
  Object.defineProperty(clean, 'url', { value: response.url });
  return response.ok ? clean : await errorAnswer(clean);
}

function elsewhere({ title }: Endpoint, response: Response): ModelCallError {
  void response.body?.cancel().catch(() => undefined);
  const to = failureText(response.headers.get('location') ?? 'nowhere');
  const message = `The server answers ${response.status} and redirects to ${to}, which is not followed.`;
  const hint = `Set the address of ${title} (baseURL) to where the server is.`;
  return new ModelCallError('model_failed', message, { statusCode: response.status, retryable: false, hint });
}
