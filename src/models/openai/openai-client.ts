import OpenAI from 'openai';
import { isRecord } from '../../core/json.js';
import { quirkyRequest } from '../providers/call-id-form.js';
import type { Endpoint } from './endpoint.js';
import { endpointFetch } from './endpoint-fetch.js';

type Options = Awaited<Parameters<OpenAI['request']>[0]>;

const MAX_TIMER_MS = 2 ** 31 - 1;

/** What OpenAI alone has a use for: it says what machine and what account this is. */
const OPENAI_HEADER = /^(?:x-stainless-|openai-)/;
const NEEDED_HEADERS = new Set(['accept', 'content-type', 'user-agent']);

/**
 * The client of the `openai` package for one endpoint. Keys, redirects and what comes back are the business of `endpointFetch`. It
 * asks once (steps/calls/call-model.ts tries again), prints nothing, and sends what its variables say of an account to OpenAI only.
 */
export class EndpointClient extends OpenAI {
  readonly #endpoint: Endpoint;
  readonly #isOpenai: boolean;

  constructor(endpoint: Endpoint, isOpenai: boolean) {
    super({
      baseURL: endpoint.baseURL,
      // The package wants one; the real one is set where the request leaves.
      apiKey: 'unused',
      adminAPIKey: null,
      webhookSecret: null,
      ...(isOpenai ? {} : { organization: null, project: null }),
      fetch: endpointFetch(endpoint),
      maxRetries: 0,
      // `endpointFetch` gives a silent server up; this is the longest that the package takes.
      timeout: MAX_TIMER_MS,
      logLevel: 'off',
    });
    this.#endpoint = endpoint;
    this.#isOpenai = isOpenai;
  }

  protected override async prepareOptions(options: Options): Promise<void> {
    const { quirks, dialect } = this.#endpoint;
    if (!isRecord(options.body)) return;
    const body = quirkyRequest(options.body, quirks);
    options.body = dialect !== null && 'messages' in body ? dialect.request(body) : body;
  }

  /** OPENAI_CUSTOM_HEADERS is for OpenAI: elsewhere only what the protocol needs and what this very call asks for is sent. */
  protected override async prepareRequest(
    request: RequestInit,
    { options }: { readonly options: Options },
  ): Promise<void> {
    if (this.#isOpenai) return;
    const headers = new Headers(request.headers);
    const asked = new Set(namesIn(options.headers));
    for (const name of [...headers.keys()]) {
      if (OPENAI_HEADER.test(name) || !(NEEDED_HEADERS.has(name) || asked.has(name))) headers.delete(name);
    }
    request.headers = headers;
  }
}

function namesIn(headers: unknown): readonly string[] {
  if (headers instanceof Headers) return [...headers.keys()];
  return isRecord(headers) ? Object.keys(headers).map((name) => name.toLowerCase()) : [];
}
