import fc from 'fast-check';
import { expect, it } from 'vitest';
import { textWindows } from '../../../src/core/limits/search-text.js';
import { HardcodedSearch, scanForHardcoded, wantedOutputs } from '../../../src/core/tasks/hardcoding.js';

async function* piecesOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const OUTPUT = 'one: 48151623\nnaïve 2342';

async function inParts(text: string, outputs: readonly string[], piece: number, size: number) {
  const wanted = wantedOutputs(outputs);
  const search = new HardcodedSearch('a', wanted);
  let parts = 0;
  for await (const part of textWindows(piecesOf(Buffer.from(text), piece), wanted.longest, size)) {
    for (const _ of search.look(part));
    parts++;
  }
  return { findings: search.findings(), parts };
}

/** What stands around an output decides whether it counts. */
const texts = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        OUTPUT,
        JSON.stringify(OUTPUT),
        '48151623',
        '\\n48151623',
        '148151623',
        '481516230',
        'ü',
        ' ',
        '\n',
      ),
      fc.constantFrom(
        'naïve 2342',
        Buffer.from(OUTPUT).toString('base64'),
        Buffer.from(OUTPUT).toString('hex').toUpperCase(),
      ),
      fc.string({ maxLength: 30 }),
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(''));

it('finds in parts of a text what there is in the whole of it, and nothing else', async () => {
  const outputs = [OUTPUT, '48151623'];
  await fc.assert(
    fc.asyncProperty(
      texts,
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 60 }),
      async (text, piece, size) => {
        const whole = scanForHardcoded(new Map([['a', text]]), outputs);
        expect((await inParts(text, outputs, piece, size)).findings).toEqual(
          whole.map((one) => expect.objectContaining({ expected: one.expected, form: one.form, line: one.line })),
        );
      },
    ),
    { numRuns: 500 },
  );
});

it('reads a long text in parts, each once', async () => {
  const text = `${'x'.repeat(99)}\n`.repeat(50_000);
  const { findings, parts } = await inParts(`${text}48151623\n${text}`, ['48151623'], 65_536, 1_048_576);
  expect(findings).toMatchObject([{ line: 50_001, form: 'literal' }]);
  expect(parts).toBeGreaterThan(5);
  expect(parts).toBeLessThan(12);
});
