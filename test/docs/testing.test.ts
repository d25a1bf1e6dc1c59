import { afterAll, expect, it } from 'vitest';
import { exampleFolder, wholeExamples, writeExample } from './whole-examples.js';

/** The example of docs/agents/testing.md is a test file of vitest: it runs here as it is. */

const { path: folder, remove } = exampleFolder();
afterAll(remove);

const [example, ...more] = wholeExamples('docs/agents/testing.md');
if (example === undefined) throw new Error('docs/agents/testing.md has no whole example');
await import(writeExample(folder, example));

it('is the only one of its page', () => {
  expect(more).toEqual([]);
});
