import { z } from 'zod';
import { sha256 } from '../json.js';
import type { CallOutcome } from '../log/event.js';
import type { TrajectoryCall, TrajectoryStep } from '../trajectories/trajectory-step.js';

type Files = TrajectoryStep['state']['files'];

/** A step names the files that were written last, at most so many. */
const FILES_MAX = 100;

/** What `write_file` takes and gives. */
const asked = z.object({ path: z.string(), content: z.string() });
const wrote = z.object({ sizeBytes: z.int() });

/** The files that a run has written, after one more call of it has ended; the one that was written last is the last. */
export function withWritten(files: Files, call: TrajectoryCall | undefined, outcome: CallOutcome): Files {
  if (call?.tool !== 'write_file' || outcome.type !== 'output') return files;
  const [{ data: file }, { data: written }] = [asked.safeParse(call.arguments), wrote.safeParse(outcome.output)];
  // A tool of somebody else may have the same name.
  if (file === undefined || written?.sizeBytes !== Buffer.byteLength(file.content)) return files;
  const { path, content } = file;
  return [...files.filter((one) => one.path !== path), { path, digest: sha256(content) }].slice(-FILES_MAX);
}
