import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SecretMatcher } from '../../src/core/secrets/secret-matcher.js';
import { failureText } from '../../src/models/failures/failure-text.js';
import { cleanAnswer } from '../../src/models/providers/clean-answer.js';
import { knowAddress, knowSecret, withoutKnownSecrets } from '../../src/models/secrets/known-secrets.js';
import { SLOW } from '../harness/slow.js';

const secrets = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
  minLength: 16,
  maxLength: 80,
});
/** How many characters of a secret may be read in a text; six bits at each end of base64 are no part of a whole character. */
const FEW = 8;

const shows = (text: string, secret: string): boolean => {
  for (let start = 0; start + FEW <= secret.length; start++)
    if (text.includes(secret.slice(start, start + FEW))) return true;
  return false;
};

/** As many bytes as a text in base64 holds somewhere. */
const decoded = (text: string): string =>
  (text.match(/[\w+/-]{4,}={0,2}/g) ?? []).map((part) => Buffer.from(part, 'base64').toString('latin1')).join('\n');

describe('what is known as secret', () => {
  it('is in no text, whatever stands around it and in whatever form', () => {
    fc.assert(
      fc.property(secrets, fc.string({ maxLength: 9 }), (secret, around) => {
        knowSecret(secret);
        for (const form of [
          secret,
          encodeURIComponent(secret),
          JSON.stringify({ key: secret }),
          JSON.stringify(secret).replaceAll('/', '\\/'),
        ]) {
          expect(withoutKnownSecrets(`${around}${form}${around}`)).not.toContain(secret);
          expect(withoutKnownSecrets(`${around}${form}${around}`)).not.toContain(form);
        }
      }),
      { numRuns: 30 },
    );
  });

  it.runIf(SLOW)('is in no base64 either, wherever it begins in it', () => {
    fc.assert(
      fc.property(secrets, fc.string({ maxLength: 9 }), fc.string({ maxLength: 9 }), (secret, before, after) => {
        knowSecret(secret);
        const text = Buffer.from(`${before}:${secret}${after}`).toString('base64');
        expect(shows(decoded(withoutKnownSecrets(`Basic ${text}`)), secret)).toBe(false);
      }),
      { numRuns: 30 },
    );
  });

  it('is hidden in the text of a failure, also in the words of a page', () => {
    knowSecret('a<b>&"key"-0123456789');
    const page = '<html><body><p>key a&lt;b&gt;&amp;&quot;key&quot;-0123456789 refused</p></body></html>';
    expect(failureText(page)).toBe('key [redacted] refused');
    expect(failureText('<html>a<b>&"key"-0123456789</html>')).toBe('[redacted]');
  });

  it('is nothing that is an ordinary word', () => {
    knowSecret('ollama');
    expect(withoutKnownSecrets('ollama is running')).toBe('ollama is running');
  });
});

const scanOf = (values: readonly string[]) => new SecretMatcher(values, 16).stream(() => '[redacted]');

describe('the body of an answer', () => {
  const through = async (
    pieces: readonly Uint8Array[],
    known: readonly string[],
    timeoutMs = 10_000,
  ): Promise<Buffer> => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const piece of pieces) controller.enqueue(piece);
        controller.close();
      },
    });
    const out: Uint8Array[] = [];
    for await (const piece of body.pipeThrough(cleanAnswer(scanOf(known), timeoutMs))) out.push(piece);
    return Buffer.concat(out);
  };

  it('comes as it was, in whatever pieces, but for the secrets of the request', async () => {
    await fc.assert(
      fc.asyncProperty(
        secrets,
        fc.array(fc.oneof(fc.string({ unit: 'grapheme', maxLength: 5 }), fc.constant(null)), { maxLength: 6 }),
        fc.array(fc.nat({ max: 60 }), { maxLength: 5 }),
        async (secret, parts, cuts) => {
          fc.pre(parts.every((part) => part === null || !secret.includes(part) || part === ''));
          const text = `${parts.map((part) => part ?? secret).join('\u2028')}\n`;
          const bytes = Buffer.from(text, 'utf8');
          const pieces: Buffer[] = [];
          let start = 0;
          for (const cut of cuts) {
            pieces.push(bytes.subarray(start, start + cut));
            start = Math.min(start + cut, bytes.length);
          }
          pieces.push(bytes.subarray(start));
          const clean = (await through(pieces, [secret])).toString('utf8');
          expect(clean).toBe(`${parts.map((part) => part ?? '[redacted]').join('\u2028')}\n`);
        },
      ),
    );
  });

  it('is not held back for longer than a secret may begin in it', async () => {
    const { readable, writable } = cleanAnswer(scanOf(['a-secret-0123456789']), 10_000);
    const writer = writable.getWriter();
    const reader = readable.getReader();
    void writer.write(Buffer.from('data: hello, a-'));
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('data: hello, ');
    // With this no form of a secret begins.
    void writer.write(Buffer.from('~'));
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('a-~');
    await reader.cancel();
  });

  it.each(['lines', 'events'] as const)(
    'is not held back at the end of a line of a stream, whatever secrets begin as the next line does: %s',
    async (form) => {
      const { readable, writable } = cleanAnswer(scanOf(['}data: a-secret-0123456789']), 10_000, form);
      const [writer, reader] = [writable.getWriter(), readable.getReader()];
      for (const line of ['data: {"n":1}\n', 'data: {"n":2}\n']) {
        void writer.write(Buffer.from(line));
        expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe(line);
      }
      void writer.write(Buffer.from('{"n":"}data: A-secret-0123'));
      expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('{"n":"');
      void writer.write(Buffer.from('456789"}\n'));
      expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('[redacted]"}\n');
      await reader.cancel();
    },
  );

  it.each([
    ['comments', 'events', ': PROCESSING\n\n'],
    ['comments in pieces', 'events', ': PRO'],
    ['blank lines', 'events', '\n'],
    ['pings', 'events', 'event: ping\ndata: {"type": "ping"}\n\n'],
    ['blank lines', 'lines', '\r\n'],
    ['blanks before a whole answer', 'whole', ' \n'],
  ] as const)('is given up when it has %s alone (%s)', async (_what, form, piece) => {
    const { readable, writable } = cleanAnswer(scanOf([]), 60, form);
    const writer = writable.getWriter();
    const timer = setInterval(() => void writer.write(Buffer.from(piece)).catch(() => undefined), 5);
    const read = async () => {
      for await (const _piece of readable);
    };
    await expect(read()).rejects.toMatchObject({ name: 'TimeoutError', message: 'The server said nothing for 60 ms.' });
    clearInterval(timer);
  });

  it.each([
    ['an event', 'events', 'data: {"n":1}\n\n'],
    ['a line that is long', 'events', 'data: 0123456789'],
    ['a line', 'lines', '{"n":1}\n'],
    ['a character', 'whole', 'x'],
  ] as const)('goes on for as long as %s comes (%s)', async (_what, form, piece) => {
    const { readable, writable } = cleanAnswer(scanOf([]), 500, form);
    const writer = writable.getWriter();
    const read = async () => {
      let text = '';
      for await (const bytes of readable) text += Buffer.from(bytes).toString();
      return text;
    };
    const answer = read();
    for (let n = 0; n < 12; n++) {
      await writer.write(Buffer.from(piece));
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    await writer.close();
    expect(await answer).toBe(piece.repeat(12));
  });

  it('is an error when it is empty', async () => {
    await expect(through([], [])).rejects.toThrow(/is empty/);
  });

  it('ends beyond 64 MiB', async () => {
    const mib = new Uint8Array(1024 * 1024);
    await expect(through(Array(65).fill(mib), [])).rejects.toThrow(/larger than 64 MiB/);
  });
});

it('the user of a PostgreSQL address without a password is a name, and stays readable', () => {
  knowAddress('postgres://holdfast_name@127.0.0.1:5432/runs');
  knowAddress('https://key-0123456789abcdef@api.example');
  expect(withoutKnownSecrets('holdfast_name')).toBe('holdfast_name');
  expect(withoutKnownSecrets('key-0123456789abcdef')).not.toContain('0123456789');
  knowAddress('postgres://holdfast_name:pass-0123456789@127.0.0.1:5432/runs');
  expect(withoutKnownSecrets('holdfast_name pass-0123456789')).toMatch(/^holdfast_name (?!.*0123456789)/);
});
