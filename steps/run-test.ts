import { posix } from 'node:path';
import { HoldfastError } from '../src/core/errors.js';
import { shareOf } from '../src/core/reward-file.js';
import type { TaskFiles } from '../src/core/task-file.js';
import type { CommandEnd, TestEnd } from '../src/core/task-reward.js';
import { type TaskVerification, TESTS_DIR, testFilesOf } from '../src/core/task-verification.js';
import type { EndedCommand, ToolEnvironment } from '../src/core/tool-environment.js';
import { clearJudged } from './clear-judged.js';
import { directoriesOf, placeFiles } from './put-files.js';
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

/** Runs a command of the verification: how it ended. */
export async function runJudged(
  environment: ToolEnvironment,
  argv: readonly string[],
  timeoutSeconds: number,
  { leftMs, outputBytes }: JudgeBounds,
): Promise<Timed<CommandEnd>> {
  if (leftMs <= 0) return { end: NOT_RUN, tookMs: 0 };
  const begun = performance.now();
  const seconds = Math.min(timeoutSeconds, Math.ceil(leftMs / 1000));
  const ended = await environment.run(argv, { timeoutSeconds: seconds, maxOutputBytes: outputBytes });
  return { end: endOf(ended), tookMs: performance.now() - begun };
}

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

/** Runs one test with its files, which are written anew for each: what the test before has tried may have changed them. */
export async function runTest(
  environment: JudgedEnvironment,
  verification: TaskVerification,
  test: TaskVerification['tests'][number],
  bounds: JudgeBounds,
): Promise<Timed<TestEnd>> {
  const { name, weight, rewardFiles } = test;
  if (bounds.leftMs <= 0) return { end: { ...NOT_RUN, name, weight, share: 0 }, tookMs: 0 };
  const files = { ...verification.files, ...test.files };
  if (!(await putAnew(environment, files, rewardFiles)))
    return { end: { ...BLOCKED, name, weight, share: 0 }, tookMs: 0 };
  const { end, tookMs } = await runJudged(environment, test.command, test.timeoutSeconds, bounds);
  const inTime = !end.timedOut;
  const share = rewardFiles.length > 0 ? await shareIn(environment, rewardFiles) : Number(end.exitCode === 0);
  return { end: { ...end, name, weight, share: inTime ? share : 0 }, tookMs };
}

/** Runs what judges the cleanliness of the work, with the files of all tests written anew. */
export async function runLint(
  environment: JudgedEnvironment,
  verification: TaskVerification,
  argv: readonly string[],
  bounds: JudgeBounds,
): Promise<Timed<CommandEnd>> {
  if (bounds.leftMs > 0 && !(await putAnew(environment, testFilesOf(verification), [])))
    return { end: BLOCKED, tookMs: 0 };
  return runJudged(environment, argv, verification.timeoutSeconds, bounds);
}

/** Nothing of what was there before is left, neither files nor who would change them; `false`: something is. */
async function putAnew(
  environment: JudgedEnvironment,
  files: TaskFiles,
  rewardFiles: readonly string[],
): Promise<boolean> {
  const make = [...directoriesOf(TESTS_DIR, files), ...rewardFiles.map((path) => posix.dirname(path))];
  if (!(await clearJudged(environment, { remove: [TESTS_DIR, ...rewardFiles], make }))) return false;
  await placeFiles(environment, TESTS_DIR, files);
  return true;
}

/** What a test says of itself; the first file that is there counts. */
async function shareIn(environment: ToolEnvironment, paths: readonly string[]): Promise<number> {
  for (const path of paths) {
    try {
      const { bytes } = await environment.read(path, REWARD_BYTES);
      return shareOf(bytes.toString('utf8'));
    } catch (error) {
      if (!(error instanceof HoldfastError) || error.code !== 'file_unreadable') throw error;
    }
  }
  return 0;
}
