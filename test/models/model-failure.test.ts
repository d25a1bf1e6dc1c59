import { ModelTimeoutError, UserError } from '@openai/agents';
import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { ModelCallError } from '../../src/models/failures/model-call-error.js';
import { classifyModelFailure } from '../../src/models/failures/model-failure.js';

const withFields = (message: string, fields: object): Error => Object.assign(new Error(message), fields);
const dom = (name: string) => new DOMException('stopped', name);

describe('a failed model call', () => {
  it.each([
    [408, true],
    [409, true],
    [429, true],
    [500, true],
    [502, true],
    [503, true],
    [507, true],
    [520, true],
    [524, true],
    [529, true],
    [400, false],
    [401, false],
    [403, false],
    [422, false],
    [501, false],
    [505, false],
  ])('with status %i is retryable: %s', (status, retryable) => {
    expect(classifyModelFailure(withFields('no', { status }))).toMatchObject({ code: 'model_failed', retryable });
    expect(classifyModelFailure(withFields('no', { name: 'ResponseError', status_code: status })).retryable).toBe(
      retryable,
    );
  });

  it('is about the name of the model when the server says so', () => {
    const openai = withFields('404 The model `gpt-x` does not exist', { status: 404, code: 'model_not_found' });
    const ollama = withFields("model 'llama9' not found", { name: 'ResponseError', status_code: 404 });
    const route = withFields('404 page not found', { status_code: 404 });
    expect(classifyModelFailure(openai)).toMatchObject({ code: 'model_unknown', retryable: false });
    expect(classifyModelFailure(ollama)).toMatchObject({ code: 'model_unknown', retryable: false });
    expect(classifyModelFailure(route)).toMatchObject({ code: 'model_failed', retryable: false });
  });

  it.each([
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after-ms': '1500', 'retry-after': '7' }, 1_500],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:01:00 GMT' }, 59_000],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 0],
    [{ 'retry-after': '99999999' }, 86_400_000],
    [{ 'retry-after': 'soon' }, null],
    [{}, null],
  ])('with the headers %j waits %s ms', (headers, retryAfterMs) => {
    const error = withFields('slow down', { status: 429, headers: new Headers(headers) });
    expect(classifyModelFailure(error, 1_000)).toMatchObject({ retryable: true, retryAfterMs });
  });

  it('obeys x-should-retry, and does not retry an empty account', () => {
    const headers = new Headers({ 'x-should-retry': 'false', 'retry-after': '1' });
    expect(classifyModelFailure(withFields('no', { status: 503, headers }))).toMatchObject({
      retryable: false,
      retryAfterMs: null,
    });
    expect(classifyModelFailure(withFields('pay', { status: 429, code: 'insufficient_quota' })).retryable).toBe(false);
  });

  it.each([
    [
      'refused',
      new TypeError('fetch failed', { cause: new AggregateError([withFields('', { code: 'ECONNREFUSED' })]) }),
    ],
    ['reset', withFields('read ECONNRESET', { code: 'ECONNRESET' })],
    ['cut', new TypeError('terminated', { cause: withFields('other side closed', { code: 'UND_ERR_SOCKET' }) })],
    ['host unknown', withFields('getaddrinfo', { code: 'ENOTFOUND' })],
    ['damaged', new SyntaxError('Unexpected end of JSON input')],
    ['timeout of the run', new ModelTimeoutError({ timeoutMs: 5, cause: dom('AbortError') })],
    ['timeout of a signal', dom('TimeoutError')],
    [
      'timeout of headers',
      new TypeError('fetch failed', { cause: withFields('Headers', { code: 'UND_ERR_HEADERS_TIMEOUT' }) }),
    ],
  ])('is retryable: %s', (_name, error) => {
    expect(classifyModelFailure(error)).toMatchObject({ code: 'model_failed', retryable: true, retryAfterMs: null });
  });

  it.each([
    ['aborted fetch', dom('AbortError')],
    ['aborted inside', new TypeError('fetch failed', { cause: dom('AbortError') })],
    ['wrong use', new UserError('no such setting')],
    ['a fault of a program', new TypeError('x is not a function')],
    ['a thrown text', 'nope'],
    ['nothing', undefined],
  ])('is not retryable: %s', (_name, error) => {
    expect(classifyModelFailure(error)).toMatchObject({ code: 'model_failed', retryable: false });
    expect(classifyModelFailure(error).message).not.toBe('');
  });

  it('is what an adapter said it is', () => {
    const busy = new ModelCallError('model_failed', 'busy', { statusCode: 503, retryable: true, retryAfterMs: 9 });
    expect(classifyModelFailure(busy)).toEqual({
      code: 'model_failed',
      message: 'busy',
      retryable: true,
      retryAfterMs: 9,
      hint: null,
    });
    const named = new ModelCallError('model_unknown', 'no such model', { retryable: false, hint: 'Pull it.' });
    expect(classifyModelFailure(named)).toMatchObject({ code: 'model_unknown', hint: 'Pull it.' });
    const unknown = new HoldfastError('model_unknown', 'no provider');
    expect(classifyModelFailure(unknown)).toMatchObject({ code: 'model_unknown', retryable: false });
  });

  it('names the cause once', () => {
    const cause = new AggregateError([withFields('connect ECONNREFUSED 127.0.0.1:1', { code: 'ECONNREFUSED' })]);
    const { message } = classifyModelFailure(new TypeError('fetch failed', { cause }));
    expect(message).toBe('fetch failed: connect ECONNREFUSED 127.0.0.1:1');
  });

  it('ends on causes in a circle', () => {
    const error = new Error('round');
    error.cause = error;
    expect(classifyModelFailure(error).message).toBe('round');
  });

  it.each([
    ['sk-proj-abcDEF123456', 'Incorrect API key provided: sk-proj-abcDEF123456.'],
    ['abcdefgh12345', 'sent Authorization: Bearer abcdefgh12345'],
    ['hunter22', 'POST http://user:hunter22@host/x failed'],
    ['s3cr3tvalue', '{"api_key": "s3cr3tvalue"}'],
    ['aBcDeFgHiJ', 'key 0123456789abcdef0123456789abcdef.aBcDeFgHiJ refused'],
  ])('hides the key %s', (secret, text) => {
    const { message } = classifyModelFailure(withFields(text, { status: 401 }));
    expect(message).not.toContain(secret);
    expect(message).toContain('[redacted]');
  });

  it('makes an HTML page readable and bounds what it keeps', () => {
    const page = `500 <!DOCTYPE html><html><head><title>502 Bad Gateway</title><style>b{}</style></head><body>
      <script>alert(1)</script><center>nginx &amp; friends</center></body></html>`;
    expect(classifyModelFailure(withFields(page, { status: 500 })).message).toBe('500 502 Bad Gateway nginx & friends');
    const open = classifyModelFailure(new Error('<html>a < b<p>c</p><!-- d <script>e'));
    expect(open.message).toBe('a < b c');
    const long = classifyModelFailure(new Error('🚀'.repeat(5_000))).message;
    expect(long.length).toBeLessThanOrEqual(2_000);
    expect(long.isWellFormed()).toBe(true);
  });

  it.each(['<!--', '<script ', '<style></style', '<', '<a ', '</script <'])(
    'reads a page of openings in the time of one that is closed: %s',
    (opening) => {
      const took = (page: string): number => {
        const began = performance.now();
        for (let n = 0; n < 3; n++) classifyModelFailure(new Error(page));
        return performance.now() - began;
      };
      const size = 64 * 1024;
      const plain = took(`<html>${'<b>word</b> '.repeat(size / 12)}`);
      expect(took(`<html>${opening.repeat(size / opening.length)}`)).toBeLessThan(20 * plain + 100);
    },
  );
});
