import { type Caller, mayOperate } from '../../core/caller.js';
import { requirementsSentence } from '../../core/containers/worker-offer.js';
import type { Check, Health } from '../../core/ops/health.js';
import { within } from '../../storage/database/timing.js';
import { failingWebhooks } from '../../storage/ops/webhooks.js';
import { unmetRequirements } from '../../storage/queue/queue-facts.js';
import { workSetAside } from '../../storage/queue/work-notes.js';
import type { EngineContext } from '../engine-context.js';
import { SEGMENT_QUEUE } from '../queue/segment-queue.js';

const WITHIN_MS = 2000;
const ASIDE_COUNTED = 100;
/** A webhook that fails for a shorter time is tried again and not told of. */
const FAILING_S = 60;
const PASS: Check = { status: 'pass' };

async function databaseOf({ stepContext: { knex }, writes }: EngineContext): Promise<Check> {
  const answers = await checked('fail', async () => knex.raw('select 1'));
  return answers.status === 'pass' ? writes.look() : answers;
}

/** Looks at no containers: where they are away, requests are answered all the same. */
export const isReady = async (context: EngineContext, isStopping: boolean): Promise<boolean> =>
  !isStopping && (await databaseOf(context)).status === 'pass';

/** `caller`: whose runs are looked at; absent: those of all tenants. */
export async function health(context: EngineContext, isStopping: boolean, caller?: Caller): Promise<Health> {
  const { environments } = context.stepContext;
  const [database, work, requirements, webhooks, containers] = await Promise.all([
    databaseOf(context),
    workOf(context),
    requirementsOf(context, caller),
    webhooksOf(context),
    // Runs that need no container go on without it, and the others wait.
    environments === null ? leftOf(context) : checked('warn', () => environments.look()),
  ]);
  const engine: Check = isStopping ? { status: 'fail', detail: 'stopping' } : PASS;
  const further = {
    ...(requirements === null ? {} : { requirements }),
    ...(webhooks === null ? {} : { webhooks }),
    ...(containers === null ? {} : { containers }),
  };
  const checks = { database, engine, loop: context.loop.check(), work, ...further };
  return { status: worstOf(Object.values(checks)), version: context.build, database: context.database.kind, checks };
}

/** A worker without an engine says that runs wait for one that has it; null: none do. */
const leftOf = ({ defersContainers: leavesContainers }: EngineContext): Check | null =>
  leavesContainers()
    ? {
        status: 'warn',
        detail:
          'runs that need a container wait: this worker has no container engine and leaves them to those that have one',
      }
    : null;

/** What is read within the time; null: it came too late, or failed. What is wrong with the database its own check says. */
async function readInTime<T>(reading: Promise<T>): Promise<T | null> {
  let read: T | null = null;
  const told = reading.then(
    (found) => {
      read = found;
    },
    () => undefined,
  );
  await within(WITHIN_MS, told);
  return read;
}

/** What runs in the queue require and no worker has; null: each has a worker that can take it. */
async function requirementsOf({ stepContext: { knex } }: EngineContext, caller?: Caller): Promise<Check | null> {
  const tenant = caller === undefined || mayOperate(caller, 'viewer') ? null : caller.tenant;
  const unmet = (await readInTime(unmetRequirements(knex, { queue: SEGMENT_QUEUE, tenant }))) ?? [];
  if (unmet.length === 0) return null;
  return { status: 'warn', detail: `runs wait for a worker with ${unmet.map(requirementsSentence).join('; ')}` };
}

/** Whether webhooks are told; null: they are, or there are none. */
async function webhooksOf({ webhooks, stepContext: { knex } }: EngineContext): Promise<Check | null> {
  const names = webhooks.map(({ name }) => name);
  if (names.length === 0) return null;
  const failing = (await readInTime(failingWebhooks(knex, names, FAILING_S))) ?? 0;
  if (failing === 0) return null;
  const detail = `webhooks that are not told of events: ${failing} of ${names.length}; see webhook_failed in the log`;
  return { status: 'warn', detail };
}

/** What it is only those are told whose it is. */
async function workOf({ stepContext: { knex, crashLimit } }: EngineContext): Promise<Check> {
  const aside = await readInTime(workSetAside(knex, { crashLimit, tenant: null, limit: ASIDE_COUNTED }));
  const length = aside?.length ?? 0;
  if (length === 0) return PASS;
  const many = length === ASIDE_COUNTED ? `${length} or more` : String(length);
  const detail = `processes died with work that is not begun any more: ${many}; see the events work.set_aside`;
  return { status: 'warn', detail };
}

const worstOf = (checks: readonly Check[]): Check['status'] =>
  (['fail', 'warn'] as const).find((status) => checks.some((check) => check.status === status)) ?? 'pass';

/** What does not answer in time has failed. */
async function checked(otherwise: 'warn' | 'fail', work: () => Promise<unknown>): Promise<Check> {
  let found: Check = { status: otherwise, detail: `no answer within ${WITHIN_MS} ms` };
  const answer = work().then(
    () => {
      found = PASS;
    },
    (error: unknown) => {
      found = { status: otherwise, detail: error instanceof Error ? error.message : 'no answer' };
    },
  );
  await within(WITHIN_MS, answer);
  return found;
}
