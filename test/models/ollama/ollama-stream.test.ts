import { describe, expect, it } from 'vitest';
import { OllamaModel } from '../../../src/models/ollama/ollama-model.js';
import { SLOW } from '../../harness/slow.js';
import { requestOf } from '../requests.js';
import { chunk, cutAfter, lastChunk, says, saysInPieces, saysRaw } from '../servers/ollama-server.js';
import { type Answerer, drained, reset, wireServer } from '../servers/wire-server.js';
import { ask, failing, message, textsIn } from './ask-ollama.js';

/** The numbers are those of the cases that a model of Ollama must hold. */

const line = (one: object) => `${JSON.stringify(one)}\n`;
const text = chunk({ content: 'I' });

describe('the lines of an answer', () => {
  it.each([1, 2, 3, 5, 1_000])('63: are the same in pieces of %i bytes', async (length) => {
    const { response, events } = await ask(
      saysInPieces(length, chunk({ content: 'ü👩‍🚀' }), lastChunk({ eval_count: 3 })),
    );
    expect(textsIn(events)).toEqual(['ü👩‍🚀']);
    expect(response.output).toEqual([message('ü👩‍🚀')]);
  });

  it('64: may be blank, may end otherwise, and nothing counts after the last', async () => {
    const lines = [chunk({ content: 'a' }), lastChunk()].map((one) => JSON.stringify(one));
    const { events } = await ask(saysRaw(`\r\n\n${lines.join('\r\n\r\n')}\r\n\n{"after":"the end"}`));
    expect(textsIn(events)).toEqual(['a']);
  });

  it('67: are started once, give no empty text, and are done once', async () => {
    const { events } = await ask(says(chunk({ content: 'a' }), chunk({}), chunk({ content: 'b' }), lastChunk()));
    expect(events.map(({ type }) => type)).toEqual([
      'response_started',
      'output_text_delta',
      'output_text_delta',
      'response_done',
    ]);
  });

  it('68: may be 10,000, which arrive one by one', async () => {
    const parts = Array.from({ length: 10_000 }, (_none, at) => chunk({ content: `${at % 10}` }));
    const { response, events } = await ask(says(...parts, lastChunk()));
    expect(textsIn(events)).toHaveLength(10_000);
    expect(response.output).toEqual([message('0123456789'.repeat(1_000))]);
  });
});

describe('an answer that breaks off', () => {
  it.each([
    ['the connection is reset', reset, false],
    ['the connection is lost', cutAfter(text), true],
    ['66: it ends before it is done', says(text), true],
    ['66: it ends inside a line', saysRaw(`${line(text)}{"message":{"con`), true],
    ['66: it is empty', saysRaw(''), false],
    ['65: the server says why', saysRaw(`${line(text)}{"error":"out of memory"}\n`), true],
    ['65: the server says why at once', saysRaw('{"error":"out of memory"}\n'), false],
  ])('%s: the Runner may ask for it again only if nothing was handed out', async (_why, answerer, started) => {
    const { whole, streamed, events } = await failing(answerer);
    expect(whole).toMatchObject({ code: 'model_failed', retryable: true, responseStarted: false });
    expect(streamed).toMatchObject({ code: 'model_failed', retryable: true, responseStarted: started });
    const advice = new OllamaModel('test').getRetryAdvice({
      request: requestOf({}),
      error: streamed,
      stream: true,
      attempt: 1,
    });
    expect(advice).toMatchObject({ suggested: !started, responseStarted: started });
    expect(events.map(({ type }) => type)).toEqual(started ? ['response_started', 'output_text_delta'] : []);
  });

  it('65: says what the server said', async () => {
    const { whole, streamed } = await failing(saysRaw(`${line(text)}{"error":"out of memory"}\n`));
    for (const error of [whole, streamed]) expect(String(error)).toMatch(/test at http.*: out of memory$/);
  });

  it.runIf(SLOW)('is not asked for again when it has no end', async () => {
    const endless: Answerer = async (response) => {
      const piece = Buffer.from(line(chunk({ thinking: 'x'.repeat(1024 * 1024) })));
      response.writeHead(200);
      while (!response.destroyed) if (!response.write(piece)) await drained(response);
    };
    await using server = await wireServer(endless);
    const call = new OllamaModel('test', { baseURL: server.url }).getResponse(requestOf({}));
    await expect(call).rejects.toMatchObject({ retryable: false, message: expect.stringContaining('64 MiB') });
    await server.abandoned;
  });

  it.runIf(SLOW)('is not asked for again when a line has no end', async () => {
    const { whole } = await failing(saysRaw(`{"message":{"content":"${'x'.repeat(17 * 1024 * 1024)}`));
    expect(whole).toMatchObject({ retryable: false, message: expect.stringContaining('longer than any answer') });
  });
});
