import { afterAll, expect, it } from 'vitest';
import { exampleFolder, wholeExamples, writeExample } from './whole-examples.js';

/** The example of docs/testing.md is a test file of vitest: it runs here as it is. */

const { path: folder, remove } = exampleFolder();
afterAll(remove);

const [example, ...more] = wholeExamples('docs/testing.md');
if (example === undefined) throw new Error('docs/testing.md has no whole example');
await import(writeExample(folder, example));

it('is the only one of its page', () => {
  expect(more).toEqual([]);
});
