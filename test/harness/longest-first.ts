import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Begun last, one of these would be waited for alone. The first take minutes, most of which they wait. */
const LONGEST = [
  ...['workers/storm', 'console/console', 'model/runs', 'tasks/agents', 'tasks/chaos', 'workers/failures'],
  ...['workers/deploys', 'tasks/verification'],
  ...[
    'crash/tools',
    'interruptions/deadlines',
    'interruptions/forked-approvals',
    'integrity/losses',
    'tasks/task-retries',
  ],
  ...[
    'integrity/begin-rows',
    'http/task-batch',
    'integrity/copied-rows',
    'interruptions/fits-now',
    'routing/router-simulation',
  ],
];

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
  return place < 0 ? LONGEST.length : place;
};

/** The files that take longest first, and then the larger ones. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}
