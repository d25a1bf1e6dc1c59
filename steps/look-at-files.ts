import { posix } from 'node:path';
import { canariesIn, scanForHardcoded } from '../src/core/hardcoding.js';
import type { JsonValue } from '../src/core/json.js';
import type { ResolvedTask } from '../src/core/resolve-task.js';
import { bytesOf } from '../src/core/task-file.js';
import type { Finding } from '../src/core/task-reward.js';
import type { ToolEnvironment } from '../src/core/tool-environment.js';

const LARGEST_KIB = 256;
const FILES_MOST = 1000;
const READ_BYTES = 4 * 1024 * 1024;

/** Prints each file of the workspace on one line: its path, a tab, its content in base64. Says what it lacks for that. */
const PRINT = `
for program in find head base64 tr; do
  command -v "$program" >/dev/null || { echo "the image has no $program" >&2; exit 69; }
done
find . -name .git -prune -o -type f -size -$1k -print | head -n $2 | while IFS= read -r file; do
  printf '%s\\t' "\${file#./}"
  base64 <"$file" 2>/dev/null | tr -d '\\n'
  echo
done`;

/** Whether a task has anything looked for. */
export const isLookedAt = ({ canaries, expectedOutputs, antiHardcoding }: ResolvedTask): boolean =>
  Object.keys(canaries).length > 0 || (antiHardcoding.scanForExpectedOutputs && expectedOutputs !== null);

/**
 * Looks through what the agent wrote and said for what no honest solution has, before the tests bring it along. Files that the task itself
 * brought are left out, and of much the rest. Throws where nothing can be looked at: that is not the same as to find nothing.
 */
export async function lookAtFiles(
  environment: ToolEnvironment,
  task: ResolvedTask,
  answer: JsonValue,
): Promise<readonly Finding[]> {
  const argv = ['sh', '-c', PRINT, 'sh', String(LARGEST_KIB), String(FILES_MOST)];
  const { stdout, stderr, exitCode, timedOut } = await environment.run(argv, { maxOutputBytes: READ_BYTES });
  if (exitCode !== 0) {
    const why = timedOut ? 'it takes too long' : stderr.text.trim() || `the program for it ended with ${exitCode}`;
    throw new Error(`the files of the workspace cannot be looked through: ${why}`);
  }
  const written = writtenIn(stdout.text, task);
  const said = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const canaries = canariesIn(new Map([...written, ['answer', said]]), task.canaries);
  const { scanForExpectedOutputs, outputFiles } = task.antiHardcoding;
  const own = new Map([...written].filter(([path]) => !outputFiles.some((one) => posix.normalize(one) === path)));
  const outputs = scanForExpectedOutputs ? scanForHardcoded(own, task.expectedOutputs ?? []) : [];
  return [
    ...canaries.map(({ where, canary }): Finding => {
      return { kind: 'canary', place: where, text: `${where} holds the canary ${canary}` };
    }),
    ...outputs.map(({ path, text }): Finding => ({ kind: 'expected_output', place: path, text })),
  ].map((one) => ({ ...one, place: one.place.toWellFormed(), text: one.text.slice(0, 1000).toWellFormed() }));
}

function writtenIn(printed: string, { initialFiles }: ResolvedTask): ReadonlyMap<string, string> {
  const written = new Map<string, string>();
  for (const line of printed.split('\n')) {
    const tab = line.indexOf('\t');
    if (tab < 1) continue;
    const path = line.slice(0, tab);
    const content = Buffer.from(line.slice(tab + 1), 'base64');
    const brought = Object.hasOwn(initialFiles, path) ? initialFiles[path] : undefined;
    if (brought !== undefined && bytesOf(brought).equals(content)) continue;
    written.set(path, content.toString('utf8'));
  }
  return written;
}
