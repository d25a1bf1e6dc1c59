import { posix } from 'node:path';
import type { JudgedPlace } from '../../src/core/containers/environment.js';
import { HoldfastError } from '../../src/core/errors/errors.js';
import { shareOf } from '../../src/core/tasks/reward.js';
import { bytesOf, type TaskFiles } from '../../src/core/tasks/task-file.js';
import { type CommandEnd, comparedOutput, type TestEnd } from '../../src/core/tasks/task-reward.js';
import { type TaskVerification, TESTS_DIR, TRY_PATH, testFilesOf } from '../../src/core/tasks/task-verification.js';
import type { EndedCommand } from '../../src/core/tools/tool-environment.js';
import { directoriesOf } from '../containers/prepare-environment.js';
import { type PlannedSuite, plannedSuite } from './run-suite.js';
import type { JudgedEnvironment } from './verification-environment.js';

/** How long commands may take, and how much of each stream is kept. */
export interface JudgeBounds {
  readonly leftMs: number;
  readonly outputBytes: number;
}

/** What was found, and the milliseconds that it took. */
export interface Timed<T> {
  readonly end: T;
  readonly tookMs: number;
}

const REWARD_BYTES = 65_536;

const NOT_RUN: CommandEnd = {
  ...{ exitCode: null, timedOut: true, outOfMemory: false, stdout: '', stderr: '', omittedBytes: 0 },
};

const endOf = ({ exitCode, timedOut, outOfMemory, stdout, stderr }: EndedCommand): CommandEnd => ({
  ...{ exitCode, timedOut, outOfMemory, stdout: stdout.text, stderr: stderr.text },
  omittedBytes: stdout.omittedBytes + stderr.omittedBytes,
});

const BLOCKED: CommandEnd = {
  ...NOT_RUN,
  ...{
    exitCode: 126,
    timedOut: false,
    stderr: 'It was not run: what stands in the place of its files cannot be removed.',
  },
};

/** Runs one test with its files, which are written again for each: what the test before has tried may have changed them. */
export async function runTest(
  environment: JudgedEnvironment,
  verification: TaskVerification,
  test: TaskVerification['tests'][number],
  bounds: JudgeBounds,
  expectedOutputs: readonly string[] | null,
): Promise<Timed<TestEnd>> {
  const { name, weight, rewardFiles } = test;
  const expected = test.prints === undefined ? undefined : expectedOutputs?.[test.prints];
  // What is compared is read whole, and more than what is kept.
  const outputBytes = Math.max(bounds.outputBytes, expected === undefined ? 0 : Buffer.byteLength(expected) * 2 + 4096);
  if (bounds.leftMs <= 0) return { end: { ...NOT_RUN, name, weight, share: 0 }, tookMs: 0 };
  const files = { ...verification.files, ...test.files };
  const suite = plannedSuite(test, files, environment.workdir);
  const place = placeOf(files, rewardFiles, suite);
  const argv = suite?.argv ?? test.command ?? [];
  const { end, tookMs } = await judged(environment, argv, test.timeoutSeconds, { ...bounds, outputBytes }, place);
  const said = end === BLOCKED || end.timedOut ? { share: 0 } : await shareOfTest(environment, end, test, suite);
  if (expected === undefined) return { end: { ...end, name, weight, ...said }, tookMs };
  const compared = said.share < 1 ? said : comparedOutput(end, expected);
  return { end: { ...shortened(end, bounds.outputBytes), name, weight, ...compared }, tookMs };
}

/** Keeps of the streams of a command what is kept of any. */
function shortened(end: CommandEnd, most: number): CommandEnd {
  const cut = (text: string): string => Buffer.from(text).subarray(0, most).toString('utf8');
  const [stdout, stderr] = [cut(end.stdout), cut(end.stderr)];
  const omitted = Buffer.byteLength(end.stdout + end.stderr) - Buffer.byteLength(stdout + stderr);
  return { ...end, stdout, stderr, omittedBytes: end.omittedBytes + Math.max(0, omitted) };
}

/** Runs what judges the cleanliness of the work, with the files of all tests written again. */
export const runLint = (
  environment: JudgedEnvironment,
  verification: TaskVerification,
  argv: readonly string[],
  bounds: JudgeBounds,
): Promise<Timed<CommandEnd>> =>
  judged(environment, argv, verification.timeoutSeconds, bounds, placeOf(testFilesOf(verification), []));

/** Runs what builds the work. It is the agent's, and runs as the agent's user. */
export const runCompile = (
  environment: JudgedEnvironment,
  verification: TaskVerification,
  argv: readonly string[],
  bounds: JudgeBounds,
): Promise<Timed<CommandEnd>> =>
  judged(environment, [TRY_PATH, ...argv], verification.timeoutSeconds, bounds, placeOf({}, []));

/** Nothing of what was there before is left. */
function placeOf(files: TaskFiles, rewardFiles: readonly string[], suite: PlannedSuite | null = null): JudgedPlace {
  const directories = directoriesOf(TESTS_DIR, files);
  const placed = Object.entries(files).map(([path, file]) => ({
    path: posix.join(TESTS_DIR, path),
    bytes: bytesOf(file),
    mode: file.mode,
  }));
  return {
    remove: [TESTS_DIR, ...rewardFiles, ...(suite?.remove ?? [])],
    make: [TESTS_DIR, ...directories, ...rewardFiles.map((path) => posix.dirname(path)), ...(suite?.make ?? [])],
    files: [...placed, ...(suite?.files ?? [])],
  };
}

async function judged(
  environment: JudgedEnvironment,
  argv: readonly string[],
  timeoutSeconds: number,
  { leftMs, outputBytes }: JudgeBounds,
  place: JudgedPlace,
): Promise<Timed<CommandEnd>> {
  if (leftMs <= 0) return { end: NOT_RUN, tookMs: 0 };
  const begun = performance.now();
  const seconds = Math.min(timeoutSeconds, Math.ceil(leftMs / 1000));
  const options = { timeoutSeconds: seconds, maxOutputBytes: outputBytes };
  const ended = await environment.judge(argv, options, place);
  return { end: ended === null ? BLOCKED : endOf(ended), tookMs: performance.now() - begun };
}

type Share = Pick<TestEnd, 'share' | 'why'>;

const shareOfTest = async (
  environment: JudgedEnvironment,
  { exitCode }: CommandEnd,
  { rewardFiles }: TaskVerification['tests'][number],
  suite: PlannedSuite | null,
): Promise<Share> => {
  if (suite !== null) {
    const { share, why } = await suite.share(environment, exitCode);
    return share >= 1 ? { share } : { share, why };
  }
  if (rewardFiles.length === 0) return { share: Number(exitCode === 0) };
  const said = await shareIn(environment, rewardFiles);
  return said.share >= 1 ? { share: said.share } : said;
};

/** What a test says of itself; the first file that is there counts. A file of another user than the test's says nothing. */
async function shareIn(environment: JudgedEnvironment, paths: readonly string[]): Promise<Required<Share>> {
  for (const path of paths) {
    try {
      const { bytes } = await environment.readOwn(path, REWARD_BYTES);
      const share = shareOf(bytes.toString('utf8'));
      return { share, why: `its reward file ${path} says ${share}` };
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== 'file_unreadable') throw error;
    }
  }
  return { share: 0, why: `it wrote no reward file: ${paths.join(', ')}` };
}
