import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../scripts/architecture/sources.js';
import { LONG_FILES } from './harness/long-files.js';

/** A name that no file has leaves a test where nothing runs it, or measures nothing. */
describe('Files of tests that a list names', () => {
  const missing = (files: readonly string[]) => files.filter((file) => !existsSync(join(ROOT, file)));

  it('exist: those that `npm test` leaves out', () => expect(missing(LONG_FILES)).toEqual([]));

  it('exist: those whose seconds are known', () => {
    const seconds: object = JSON.parse(readFileSync(join(ROOT, '.ci/seconds.json'), 'utf8'));
    expect(missing(Object.keys(seconds))).toEqual([]);
  });
});
