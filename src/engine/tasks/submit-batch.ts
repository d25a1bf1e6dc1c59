import type { Caller } from '../../core/caller.js';
import { HoldfastError, isOfOne } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import { sha256 } from '../../core/json.js';
import { Allowance } from '../../core/limits/allowance.js';
import { BATCH_TASKS_MAX, type BatchAnswer, type BatchLine, batchTask } from '../../core/tasks/batch.js';
import { databaseTrouble } from '../../storage/database/database-trouble.js';
import { sideBySide } from '../../storage/database/transactions.js';
import { takenKeys } from '../../storage/runs/idempotency.js';
import { endBatch, keepBatch } from '../../storage/tasks/batches.js';
import { deprecated, saveDefinition } from '../../storage/tasks/task-definitions.js';
import { tasksOfRuns } from '../../storage/tasks/tasks.js';
import type { EngineContext } from '../engine-context.js';
import { AlreadyStarted, takeKey } from '../runs/start-run.js';
import { type PlannedTask, planTask, type RecentDefinitions, writeTask } from './submit-task.js';

const OPERATION = 'submit_batch';
/** Of a whole batch: a short line may make a long instruction. */
const INSTRUCTIONS_CHARS = 512 * 1024 * 1024;
/** Tasks of one transaction, and characters of their definitions and instructions. */
const CHUNK_TASKS = 50;
const CHUNK_CHARS = 8 * 1024 * 1024;
/** So often a chunk begins again because someone else submits the same tasks at the same time. */
const TRIES = 20;

interface PlannedLine {
  readonly line: number;
  readonly key: string;
  readonly planned: PlannedTask;
}
type Line = PlannedLine | Extract<BatchAnswer, { error: unknown }>;

/**
 * Submits tasks line by line, some in each transaction, and says of each what became of it. A line that is not right is answered and
 * left out. Under the same key the same lines give the same tasks: a batch that was broken off goes on where it stopped. What
 * has been read and not answered may or may not have been submitted. Throws what is no fault of a line.
 */
export async function* submitTasks(
  context: EngineContext,
  lines: AsyncIterable<BatchLine>,
  caller: Caller,
  key: string,
): AsyncGenerator<BatchAnswer> {
  const counts = { submitted: 0, known: 0, failed: 0 };
  let chunk: Line[] = [];
  let chars = 0;
  const write = async (): Promise<BatchAnswer[]> => {
    const answers = await writeChunk(context, chunk, caller, key, recent);
    [chunk, chars] = [[], 0];
    for (const answer of answers) counts['status' in answer ? answer.status : 'failed'] += 1;
    return answers;
  };
  let tasks = 0;
  const recent: RecentDefinitions = new Map();
  const allowance = new Allowance({ made: INSTRUCTIONS_CHARS });
  for await (const one of lines) {
    tasks += 1;
    if (tasks > BATCH_TASKS_MAX) {
      const text = `A batch has at most ${BATCH_TASKS_MAX} tasks; this line and those after it were not read.`;
      chunk.push(failed(one.line, new HoldfastError('payload_too_large', text)));
      break;
    }
    // A definition may be that of a line before, and a key may stand in two lines.
    const plan = () => planLine(context, one, caller, key, recent, allowance);
    let next = await plan();
    if (chunk.length > 0 && (isUnknownDefinition(next) || hasKey(chunk, next))) {
      yield* await write();
      next = await plan();
    }
    chunk.push(next);
    chars += 'planned' in next ? next.planned.definition.definition.length + lengthOf(next.planned) : 0;
    if (chunk.length >= CHUNK_TASKS || chars > CHUNK_CHARS) yield* await write();
  }
  yield* await write();
  const { submitted, known, failed: refused } = counts;
  await endBatch(context.stepContext.knex, {
    ...{ tenant: caller.tenant, key, lines: submitted + known + refused, refused },
  });
  yield { end: true, ...counts };
}

async function planLine(
  context: EngineContext,
  one: BatchLine,
  caller: Caller,
  batch: string,
  recent: RecentDefinitions,
  allowance: Allowance,
): Promise<Line> {
  try {
    if ('error' in one) throw one.error;
    const parsed = batchTask.safeParse(one.value);
    if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
    const { key = String(one.line), ...request } = parsed.data;
    // Each line is a request of its own; the batch bounds what they keep together.
    const planned = await planTask(context, request, caller, new Allowance(), recent);
    allowance.make(lengthOf(planned), 'The instructions of the tasks of this batch');
    return {
      line: one.line,
      key: sha256(JSON.stringify([batch, key])),
      planned: { ...planned, task: { ...planned.task, batch } },
    };
  } catch (error) {
    if (isOfOne(error)) return failed(one.line, error);
    throw error;
  }
}

const failed = (line: number, { code, message, fields }: HoldfastError): Extract<Line, { error: unknown }> => ({
  line,
  error: { code, message, fields: [...fields] },
});

/** Of what a task makes that its line does not say. */
const lengthOf = ({ run }: PlannedTask): number => (typeof run.input === 'string' ? run.input.length : 0);

const isUnknownDefinition = (one: Line): boolean => 'error' in one && one.error.code === 'task_definition_unknown';
const hasKey = (chunk: readonly Line[], one: Line): boolean =>
  'key' in one && chunk.some((other) => 'key' in other && other.key === one.key);

/** Keeps the definitions of lines. Gives those that are refused, and those that are deprecated, by their hashes. */
async function saveDefinitions(
  { knex }: EngineContext['stepContext'],
  { tenant, actor }: Caller,
  lines: readonly Line[],
) {
  const refused = new Map<string, HoldfastError>();
  const old = new Map<string, HoldfastError>();
  const definitions = new Map(
    lines.flatMap((one) => ('planned' in one ? [[one.planned.definition.hash, one.planned.definition] as const] : [])),
  );
  for (const [hash, definition] of definitions) {
    try {
      const reason = await knex.transaction((trx) => saveDefinition(trx, tenant, definition, actor));
      if (reason !== null) old.set(hash, deprecated(definition, reason));
    } catch (error) {
      if (!(error instanceof HoldfastError && error.code === 'task_definition_taken')) throw error;
      refused.set(hash, error);
    }
  }
  return { refused, old };
}

/** Writes what of a chunk is not there yet, in one transaction. */
async function writeChunk(
  context: EngineContext,
  asked: readonly Line[],
  caller: Caller,
  batch: string,
  recent: RecentDefinitions,
): Promise<BatchAnswer[]> {
  const { stepContext } = context;
  const { tenant, actor } = caller;
  // Definitions are kept before, one by one, so that transactions of batches that share some do not wait for each other in two orders.
  const { refused, old } = await saveDefinitions(stepContext, caller, asked);
  // What comes later may name what is kept.
  if (refused.size > 0) recent.clear();
  const chunk = asked.map((one) => {
    const error = 'planned' in one ? refused.get(one.planned.definition.hash) : undefined;
    return error === undefined ? one : failed(one.line, error);
  });
  const planned = chunk.filter((one): one is PlannedLine => 'planned' in one);
  for (let tries = 1; ; tries++) {
    const keys = planned.map((one) => one.key);
    const taken = await takenKeys(stepContext.knex, { tenant, operation: OPERATION }, keys);
    const fresh = planned.filter(({ key, planned: { definition } }) => !taken.has(key) && !old.has(definition.hash));
    try {
      if (fresh.length > 0)
        await stepContext.knex.transaction(async (trx) => {
          await keepBatch(trx, { tenant, key: batch, actor });
          const write = ({ key, planned: task }: PlannedLine): Promise<void> => {
            const { fingerprint, run } = task;
            const claim = { tenant, operation: OPERATION, key, fingerprint, runId: run.id };
            return writeTask(context, trx, task, () => takeKey(trx, claim));
          };
          await sideBySide(fresh.map(write));
        });
    } catch (error) {
      // Someone has submitted one of them meanwhile: now that is known.
      const isTaken = error instanceof AlreadyStarted || (error instanceof HoldfastError && error.status < 500);
      if (!(isTaken || databaseTrouble(error) === 'conflict') || tries === TRIES) throw error;
      continue;
    }
    if (fresh.length > 0) stepContext.queue.wake();
    for (const { planned: one } of fresh) stepContext.metrics.taskSubmitted(one.task.category);
    const before = await tasksOfRuns(
      stepContext.knex,
      [...taken.values()].map(({ runId }) => runId),
    );
    return chunk.map((one) => {
      if ('error' in one) return one;
      const { line, planned: task } = one;
      const known = taken.get(one.key);
      const reason = old.get(task.definition.hash);
      if (known === undefined && reason !== undefined) return failed(line, reason);
      if (known === undefined) return { line, id: task.task.id, runId: task.run.id, status: 'submitted' };
      return knownAs(line, known, task.fingerprint, before.get(known.runId));
    });
  }
}

function knownAs(
  line: number,
  known: { readonly runId: string; readonly fingerprint: string },
  fingerprint: string,
  id: string | undefined,
): BatchAnswer {
  const { runId } = known;
  if (known.fingerprint === fingerprint && id !== undefined) return { line, id, runId, status: 'known' };
  if (known.fingerprint === '' || id === undefined)
    return failed(line, new HoldfastError('run_erased', `Its key submitted run ${runId}, whose content was erased.`));
  return failed(line, new HoldfastError('idempotency_key_reused', `Its key submitted run ${runId} with another task.`));
}
