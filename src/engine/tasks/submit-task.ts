import type { Knex } from 'knex';
import { type Caller, mayAct } from '../../core/caller.js';
import { aboveCeilings } from '../../core/containers/ceilings.js';
import { isolationExceptions } from '../../core/containers/environment-spec.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { fieldErrorsOf, invalidRequest } from '../../core/field-errors.js';
import { canonical, digestOf, type JsonObject, toJson } from '../../core/json.js';
import type { Allowance } from '../../core/limits/allowance.js';
import { resolveTask } from '../../core/tasks/resolve-task.js';
import { type SubmitTask, submitTask as submitTaskShape, type TaskView } from '../../core/tasks/task.js';
import { parseTask, type TaskDefinition, taskHashOf } from '../../core/tasks/task-definition.js';
import {
  definitionIn,
  deprecated,
  findDefinition,
  type KeptDefinition,
  saveDefinition,
} from '../../storage/tasks/task-definitions.js';
import { findTask, insertTask, type NewTask, taskOfRun, taskViewOf } from '../../storage/tasks/tasks.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
import { agentNamed, allowanceOfRequest, type EngineContext, rewardNamed } from '../engine-context.js';
import {
  AlreadyStarted,
  assertMetadata,
  limitsOfStart,
  NEW_RUN_PRIORITY,
  newRunId,
  type PlannedRun,
  takeKey,
  writeRun,
} from '../runs/start-run.js';

/** A task that may be submitted: everything of it was judged. */
export interface PlannedTask {
  readonly definition: KeptDefinition;
  readonly run: PlannedRun;
  readonly task: NewTask;
  /** What another request under its idempotency key would have else. */
  readonly fingerprint: string;
}

/**
 * Judges a task that is to be submitted. `recent` are definitions of the caller's tasks before, which are not read again. Throws as
 * `submitTask` does.
 */
export async function planTask(
  context: EngineContext,
  request: SubmitTask,
  caller: Caller,
  allowance: Allowance,
  recent: RecentDefinitions = new Map(),
): Promise<PlannedTask> {
  const parsed = submitTaskShape.safeParse(request);
  if (!parsed.success) throw invalidRequest(fieldErrorsOf(parsed.error));
  const { task: asked, parameters = {}, image = null, reward = null } = parsed.data;
  const { tenant } = caller;
  const hex = context.stepContext.newId().replaceAll('-', '');
  const seed = parsed.data.seed ?? seedOf(hex);
  const runId = newRunId(context);
  const named = agentNamed(context, parsed.data.agent, '/agent');
  const version = await context.versions.agentFor(named, { id: runId, tenant });
  const found = await definitionOf(context, tenant, asked, recent);
  const { definition, kept } = found;
  // A patch may change the scaffold. A task that asks for one has it.
  const agent = definition.scaffold === null || hasScaffold(version, definition.scaffold) ? version : named;
  if (reward !== null) rewardNamed(context, reward, '/reward');
  if (asked.instruction !== undefined) assertReach(context, definition, caller);
  assertMounts(context, definition);
  assertScaffold(agent, definition);
  const resolved = resolveTask(definition, { parameters, seed }, allowance);
  const { category, difficulty, tags, maxTurns, timeoutSeconds } = definition;
  const metadata = assertMetadata(labelled(definition, parsed.data.metadata, seed));
  const id = `task_${hex}`;
  const { stepContext, order } = context;
  const given = parsed.data.priority ?? (await order.priority(stepContext.knex, tenant, definition, stepContext.now()));
  const priority = given ?? NEW_RUN_PRIORITY;
  const run: PlannedRun = {
    ...{ id: runId, tenant, agent, input: resolved.instruction, metadata, grants: agent.grants },
    limits: limitsOfStart(context, agent, { maxTurns, maxDurationMs: timeoutSeconds * 1000 }),
    ...{ priority, stream: null, sessionId: null, subjects: [], taskId: id },
    requestedBy: [caller.actor],
  };
  const task: NewTask = {
    ...{ id, tenant, definitionHash: kept.hash, name: kept.name, version: kept.version, category, difficulty, tags },
    ...{ agent: agent.name, parameters: toJson(parameters) as JsonObject, seed, image, reward, priority, metadata },
    ...{ retries: context.retries, runId: run.id, batch: null },
  };
  remember(recent, found);
  return { definition: kept, run, task, fingerprint: digestOf(toJson(parsed.data)) };
}

/** By their names. */
export type RecentDefinitions = Map<string, Definition>;
const RECENT_MAX = 20;
const namesOf = ({ name, version }: Pick<TaskDefinition, 'name' | 'version'>): string => `${name}@${version}`;

function remember(recent: RecentDefinitions, found: Definition): void {
  const names = namesOf(found.definition);
  // Another definition of these names is refused when it is to be kept.
  if ((recent.get(names)?.kept.hash ?? found.kept.hash) !== found.kept.hash) return;
  recent.delete(names);
  recent.set(names, found);
  const [oldest] = recent.keys();
  if (recent.size > RECENT_MAX && oldest !== undefined) recent.delete(oldest);
}

/** Writes a task whose definition is kept, its run and the first segment of that, in someone's transaction. */
export async function writeTask(
  { stepContext }: EngineContext,
  trx: Knex.Transaction,
  { run, task }: PlannedTask,
  claim: () => Promise<void>,
): Promise<void> {
  // The limits of its first segment are those of the task, which stands on the run.
  await writeRun(stepContext, trx, run, async () => {
    await claim();
    await insertTask(trx, task);
  });
}

/** Submits a task. With an idempotency key, the same request again gives the same task. */
export async function submitTask(
  context: EngineContext,
  request: SubmitTask,
  caller: Caller,
  idempotencyKey?: string,
): Promise<TaskView> {
  const planned = await planTask(context, request, caller, allowanceOfRequest());
  const { stepContext } = context;
  const { tenant } = caller;
  const { run, task, fingerprint } = planned;
  const key = { tenant, operation: 'submit_task', key: idempotencyKey, fingerprint, runId: run.id };
  try {
    await stepContext.knex.transaction(async (trx) => {
      const reason = await saveDefinition(trx, tenant, planned.definition, caller.actor);
      await writeTask(context, trx, planned, () => takeKey(trx, key));
      // After the key: a request that was sent before a deprecation, and again after it, is the same task.
      if (reason !== null) throw deprecated(planned.definition, reason);
    });
  } catch (error) {
    if (!(error instanceof AlreadyStarted)) throw error;
    const before = await taskOfRun(stepContext.knex, error.runId);
    if (before === undefined) throw new HoldfastError('task_unknown', `The task of run ${error.runId} was removed.`);
    return taskViewOf(before);
  }
  stepContext.queue.wake();
  stepContext.metrics.taskSubmitted(task.category);
  const row = await findTask(stepContext.knex, tenant, task.id);
  if (row === undefined) throw new HoldfastError('task_unknown', `The task ${task.id} was removed.`);
  return taskViewOf(row);
}

type AskedDefinition = TaskDefinition | (Pick<TaskDefinition, 'name' | 'version'> & { readonly instruction?: never });
interface Definition {
  readonly definition: TaskDefinition;
  readonly kept: KeptDefinition;
}

async function definitionOf(
  { stepContext }: EngineContext,
  tenant: string,
  asked: AskedDefinition,
  recent: RecentDefinitions,
): Promise<Definition> {
  if (asked.instruction !== undefined) return { definition: asked, kept: keptOf(asked) };
  const known = recent.get(namesOf(asked));
  if (known !== undefined) return known;
  const kept = await findDefinition(stepContext.knex, tenant, asked);
  if (kept !== undefined) return { definition: parseTask(definitionIn(kept)), kept };
  const detail = `There is no definition ${asked.name} of version ${asked.version}.`;
  throw new HoldfastError('task_definition_unknown', detail, { fields: [{ pointer: '/task', detail }] });
}

export function keptOf(asked: TaskDefinition): KeptDefinition {
  const { name, version, category, difficulty } = asked;
  return { hash: taskHashOf(asked), name, version, category, difficulty, definition: canonical(toJson(asked)) };
}

/** What reaches beyond a container is an admin's to give. Who names a definition takes what an admin has submitted. Throws `forbidden`. */
export function assertReach({ ceilings }: EngineContext, { environment }: TaskDefinition, caller: Caller): void {
  const above = [...isolationExceptions(environment), ...aboveCeilings(environment, ceilings)];
  const reach = above.map((pointer) => `/task/environment${pointer}`);
  if (reach.length === 0 || mayAct(caller, 'admin')) return;
  const detail = `what reaches beyond the container, or lies above \`ceilings\` of the configuration, is for the role admin to submit, after which its name and version are enough; this is ${caller.role}`;
  const fields = reach.map((pointer) => ({ pointer, detail }));
  throw new HoldfastError('forbidden', `${reach.join(', ')}: ${detail}.`, { fields });
}

/** Folders of the host are the configuration's to give, to admins too. Throws `forbidden`. */
export function assertMounts({ hostFolders }: EngineContext, { environment }: TaskDefinition): void {
  const fields = [...hostFolders.problems(environment, 'task')].map(([index, detail]) => ({
    pointer: `/task/environment/mounts/${index}/source`,
    detail,
  }));
  if (fields.length === 0) return;
  throw new HoldfastError('forbidden', `${fields.map(({ detail }) => detail).join('; ')}.`, {
    fields,
    hint: 'Let the operator of the installation name the folder in `hostFolders` of the configuration.',
  });
}

const hasScaffold = ({ scaffold }: Pick<RegisteredAgent, 'scaffold'>, name: string): boolean =>
  scaffold?.scaffold.name === name;

/** A definition may ask for a scaffold. Throws `invalid_request`. */
function assertScaffold({ name, scaffold }: RegisteredAgent, { scaffold: asked }: TaskDefinition): void {
  if (asked === null || hasScaffold({ scaffold }, asked)) return;
  const has = scaffold?.scaffold.name ?? null;
  const which = has === null ? 'none' : `the scaffold ${has}`;
  throw invalidRequest([{ pointer: '/agent', detail: `${name} has ${which}; the task asks for ${asked}` }]);
}

const SEED_DIGITS = 12;
/** Where no one gives one: another for each task. */
const seedOf = (hex: string): number => Number.parseInt(hex.slice(0, SEED_DIGITS), 16);

/** What lists of runs and trajectories are narrowed by, and routers choose by. What the caller says goes first. */
const labelled = (
  { name, version, tags, category }: TaskDefinition,
  metadata: JsonObject | undefined,
  seed: number,
): JsonObject => ({ taskId: `${name}@${version}`, tags: [...tags], seed, taskType: category, ...metadata });
