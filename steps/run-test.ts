import { HoldfastError } from '../src/core/errors.js';
import { shareOf } from '../src/core/reward-file.js';
import type { CommandEnd, TestEnd } from '../src/core/task-reward.js';
import { type TaskVerification, TESTS_DIR } from '../src/core/task-verification.js';
import type { EndedCommand, ToolEnvironment } from '../src/core/tool-environment.js';
import { putFiles } from './put-files.js';

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

/** Removes what an agent may have left where a test says how much of it passed, and makes the directories. */
const CLEAR = `for file; do rm -rf -- "$file"; mkdir -p -- "\${file%/*}"; done`;

/** Runs one test with its files, which are written anew for each: the test before may have changed them. */
export async function runTest(
  environment: ToolEnvironment,
  verification: TaskVerification,
  test: TaskVerification['tests'][number],
  bounds: JudgeBounds,
): Promise<Timed<TestEnd>> {
  const { name, weight, rewardFiles } = test;
  if (bounds.leftMs <= 0) return { end: { ...NOT_RUN, name, weight, share: 0 }, tookMs: 0 };
  await putFiles(environment, TESTS_DIR, { ...verification.files, ...test.files });
  if (rewardFiles.length > 0) await environment.run(['sh', '-c', CLEAR, 'sh', ...rewardFiles]);
  const { end, tookMs } = await runJudged(environment, test.command, test.timeoutSeconds, bounds);
  const inTime = !end.timedOut;
  const share = rewardFiles.length > 0 ? await shareIn(environment, rewardFiles) : Number(end.exitCode === 0);
  return { end: { ...end, name, weight, share: inTime ? share : 0 }, tookMs };
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
