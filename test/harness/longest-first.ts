import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Begun last, one of these would be waited for alone. The first take minutes, most of which they wait. */
const LONGEST = [
  ...['tasks/agents', 'tasks/chaos', 'workers/failures', 'workers/deploys', 'tasks/verification'],
  ...['crash/tools', 'engine/deadlines', 'engine/forked-approvals', 'engine/losses', 'engine/task-retries'],
  ...['engine/begin-rows', 'http/task-batch', 'engine/copied-rows', 'engine/fits-now', 'models/router-simulation'],
];

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
