import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Of these one takes minutes, most of which it waits: begun last, it would be waited for alone. */
const LONGEST = ['tasks/agents', 'tasks/chaos', 'workers/failures', 'workers/deploys', 'tasks/verification'];

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return place < 0 ? LONGEST.length : place;
};

/** The files that take longest first, and then the larger ones. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}
