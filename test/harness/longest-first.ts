import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = join(import.meta.dirname, '../..');

/** Begun last, one of these would be waited for alone. */
const SECONDS: { readonly [file: string]: number } = JSON.parse(readFileSync(join(ROOT, '.ci/seconds.json'), 'utf8'));

const secondsOf = ({ moduleId }: TestSpecification): number => SECONDS[relative(ROOT, moduleId)] ?? 0;

/** The files that take longest first, and then the larger ones. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => secondsOf(other) - secondsOf(one));
  }
}
