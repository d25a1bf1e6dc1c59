import { type Context, createContext, Script } from 'node:vm';
import { HoldfastError } from '../../src/core/errors/errors.js';
import type { ExportRequest } from '../../src/core/exports/export.js';
import type { ExportedRun } from '../../src/core/exports/export-row.js';
import {
  cleanInPieces,
  cleanResult,
  cleanTags,
  cleanTask,
  type Redaction,
  redactFamily,
  redactorOf,
} from '../../src/core/exports/redaction.js';
import type { JsonValue } from '../../src/core/json.js';
import { Allowance } from '../../src/core/limits/allowance.js';
import { withoutKnownSecrets } from '../../src/models/secrets/known-secrets.js';
import { breathe, inBreaths } from '../../src/storage/database/timing.js';

/** Of one run, all slices together. */
const REDACTION_MS = 1000;
/** Characters of all that is put in the place of something in one run. */
const REDACTED_MOST = 67_108_864;
const NO_RULES: Redaction = { patterns: [], keys: [] };

/** The process does nothing else for so long at most. */
const SLICE_MS = 10;

/** What is made of a run after everything was taken out of it that must not be exported. Throws `export_too_slow`. */
export async function redactThen<T>(
  run: ExportedRun,
  { options }: ExportRequest,
  make: (run: ExportedRun) => T,
): Promise<T> {
  const { redact = NO_RULES } = options;
  const { id } = run.family.conversation.run;
  const clean = redactorOf(redact, withoutKnownSecrets, new Allowance({ made: REDACTED_MOST }, `of run ${id}`));
  const work = redactedOf(run, clean);
  const redacted =
    redact.patterns.length === 0
      ? await inBreaths(work)
      : await inBoundedTime(REDACTION_MS, `The redaction of run ${id}`, work);
  await breathe();
  return make(redacted);
}

function* redactedOf(run: ExportedRun, clean: (value: JsonValue) => JsonValue): Generator<void, ExportedRun> {
  const family = yield* redactFamily(run.family, clean);
  const { result, tags } = run.worth;
  const worth = {
    ...run.worth,
    result: result === null ? null : cleanResult(result, clean),
    tags: cleanTags(tags, clean),
  };
  const task = cleanTask(run.task, clean);
  return { ...run, family, worth, task, trajectory: yield* cleanInPieces(run.trajectory, clean) };
}

/** Does work in slices, which may take so long together. */
async function inBoundedTime<T>(timeoutMs: number, what: string, work: Iterator<void, T>): Promise<T> {
  for (let spentMs = 0; ; await breathe()) {
    const begun = performance.now();
    const { done, value } = withinTime(timeoutMs - spentMs, timeoutMs, what, () => slice(work, begun + SLICE_MS));
    if (done === true) return value;
    spentMs += performance.now() - begun;
  }
}

function slice<T>(work: Iterator<void, T>, until: number): IteratorResult<void, T> {
  for (;;) {
    const result = work.next();
    if (result.done === true || performance.now() >= until) return result;
  }
}

let held: { readonly script: Script; readonly context: Context } | null = null;

/**
 * Does something that holds the process, and ends it when it takes too long: of all code only this stops an expression that
 * someone else wrote. `leftMs` of the `timeoutMs` are left. Throws `export_too_slow`.
 */
export function withinTime<T>(leftMs: number, timeoutMs: number, what: string, work: () => T): T {
  let result: { readonly value: T } | undefined;
  held ??= { script: new Script('work()'), context: createContext({}) };
  const { script, context } = held;
  Object.assign(context, {
    work: () => {
      result = { value: work() };
    },
  });
  try {
    if (leftMs > 0) script.runInContext(context, { timeout: Math.ceil(leftMs) });
  } catch (error) {
    // It is an error of another realm.
    const code: unknown = Reflect.get(Object(error), 'code');
    if (code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
  }
  if (result === undefined) throw new HoldfastError('export_too_slow', `${what} took longer than ${timeoutMs} ms.`);
  return result.value;
}
