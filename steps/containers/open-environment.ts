import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type {
  AgentEnvironment,
  Environment,
  EnvironmentIdentity,
  EnvironmentPurpose,
  ImageRecords,
} from '../../src/core/containers/environment.js';
import { type EnvironmentSpec, specHashOf } from '../../src/core/containers/environment-spec.js';
import { HoldfastError } from '../../src/core/errors/errors.js';
import {
  findEnvironment,
  instanceId,
  type KeptEnvironment,
  markStarted,
  saveEnvironment,
  useEnvironment,
} from '../../src/storage/containers/environments.js';
import { savePulled, useImage } from '../../src/storage/containers/pulled-images.js';
import type { StepContext } from '../context.js';
import { withDatabaseRetry } from '../database-retry.js';

/** After so long the one that finds a container, and no row of it, may remove it. */
export const ORPHAN_AFTER_MS = 24 * 3_600_000;
/** For so long a container that is being stopped is waited for. */
const STOPPED_WITHIN_MS = 120_000;
const PAUSE_MS = 50;
const REMOVED_WITHIN_MS = 30_000;

/** What of the world environments need. */
export type EnvironmentContext = Pick<StepContext, 'knex' | 'now' | 'environments'>;

/** Whose environment: the run, and what its agent says of it. */
export interface EnvironmentOwner extends AgentEnvironment {
  readonly runId: string;
  readonly tenant: string;
}

export interface Opened {
  readonly kept: KeptEnvironment;
  readonly environment: Environment;
}

/** What an environment is when no one has kept it yet. */
export interface Beginning {
  readonly spec: EnvironmentSpec;
  readonly source: EnvironmentIdentity['source'];
}

/** What is kept of the images of an engine. */
const recordsOf = (knex: EnvironmentContext['knex'], engine: string): ImageRecords => ({
  use: (image) => withDatabaseRetry(() => useImage(knex, engine, image)),
  pulled: (image) => withDatabaseRetry(() => savePulled(knex, engine, image)),
});

/** Pulls images that the engine lacks, before a run needs them. One that fails holds up no other; throws the first failure. */
export async function pullAhead(
  ctx: EnvironmentContext,
  images: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  if (ctx.environments === null || images.length === 0) return;
  const { engine, id } = await engineOf(ctx, signal);
  const failures: unknown[] = [];
  for (const image of images)
    await engine.pull(image, recordsOf(ctx.knex, id), signal).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

/** The container engine of this worker, and its name. Throws `engine_unreachable`. */
async function engineOf({ environments: engine }: EnvironmentContext, signal: AbortSignal) {
  if (engine === null) {
    throw new HoldfastError(
      'engine_unreachable',
      'This worker knows no container engine: DOCKER_HOST is not set, and no agent of its configuration has an environment.',
      {
        hint: 'Set DOCKER_HOST for every worker, then try the run again.',
      },
    );
  }
  return { engine, id: await engine.id(signal) };
}

/**
 * Opens the environment of a run for a purpose: keeps it first, then takes it into use, then makes sure that it runs. What is kept stands:
 * `begin` is asked where nothing is.
 */
export async function openEnvironment(
  ctx: EnvironmentContext,
  owner: EnvironmentOwner,
  purpose: EnvironmentPurpose,
  begin: (engine: string) => Promise<Beginning>,
  signal: AbortSignal,
): Promise<Opened> {
  const { knex } = ctx;
  const { engine, id } = await engineOf(ctx, signal);
  const kept = (await keptOf(ctx, owner, purpose)) ?? (await keep(ctx, owner, purpose, id, await begin(id)));
  assertHere(kept, id);
  await inUse(ctx, kept, signal);
  let isLate = false;
  const starting = async (): Promise<void> => {
    if (await withDatabaseRetry(() => markStarted(knex, kept.identity))) return;
    isLate = true;
    throw isGone(kept.identity.runId);
  };
  try {
    const environment = await engine.open(kept.identity, {
      ...{ begun: kept.begun, starting, records: recordsOf(knex, id), secrets: owner.secrets, lookLater: true },
      signal,
    });
    return { kept, environment };
  } catch (error) {
    // The one that removed it while it was made may have found nothing yet. By now nothing more is made of it.
    if (isLate) await engine.remove(kept.identity, AbortSignal.timeout(REMOVED_WITHIN_MS));
    throw error;
  }
}

/** Null: nothing is kept yet. */
export const keptOf = (
  { knex }: EnvironmentContext,
  { runId }: Pick<EnvironmentOwner, 'runId'>,
  purpose: EnvironmentPurpose,
): Promise<KeptEnvironment | null> =>
  withDatabaseRetry(async () => findEnvironment(knex, await instanceId(knex), { runId, purpose }));

/** Throws `environment_elsewhere`: an engine reaches only its own containers. */
export function assertHere({ identity, engine }: KeptEnvironment, here: string): void {
  if (engine === here) return;
  throw new HoldfastError('environment_elsewhere', `The container of ${identity.runId} is on the engine ${engine}.`);
}

async function keep(
  ctx: EnvironmentContext,
  owner: EnvironmentOwner,
  purpose: EnvironmentPurpose,
  engine: string,
  { spec, source }: Beginning,
): Promise<KeptEnvironment> {
  const { knex } = ctx;
  const { runId, tenant } = owner;
  const deadline = new Date(ctx.now() + ORPHAN_AFTER_MS).toISOString();
  const key = randomBytes(16).toString('hex');
  await withDatabaseRetry(async () => {
    const instance = await instanceId(knex);
    const identity = { instance, runId, purpose, attempt: 1, source, spec, specHash: specHashOf(spec), deadline };
    await saveEnvironment(knex, { identity, engine, key }, tenant);
  });
  const now = await keptOf(ctx, owner, purpose);
  if (now === null) throw new Error('a row that was inserted is there');
  return now;
}

async function inUse(ctx: EnvironmentContext, { identity }: KeptEnvironment, signal: AbortSignal): Promise<void> {
  const until = performance.now() + STOPPED_WITHIN_MS;
  while (!(await withDatabaseRetry(() => useEnvironment(ctx.knex, identity)))) {
    const state = (await keptOf(ctx, identity, identity.purpose))?.state;
    if (state === 'removing' || state === 'gone' || performance.now() > until) throw isGone(identity.runId);
    await sleep(PAUSE_MS, undefined, { signal });
  }
}

const isGone = (runId: string): HoldfastError =>
  new HoldfastError('environment_lost', `The container of ${runId} is being removed, or was.`);

/** For so long the end of a segment waits for a container that is being opened. */
const WAITED_MS = 10_000;

/**
 * Opens the container of a run beside its first model call, so that the first command finds it at work. What fails here is met again
 * by that command. Returns a function that waits until nothing opens it any more: a pause stops what is there.
 */
export function openEarly(
  ctx: EnvironmentContext,
  owner: EnvironmentOwner,
  signal: AbortSignal,
): { readonly settle: () => Promise<void> } {
  const given = new AbortController();
  const within = AbortSignal.any([signal, given.signal]);
  const begin = async () => ({ spec: owner.spec, source: null });
  const opening = openEnvironment(ctx, owner, 'run', begin, within).then(
    () => undefined,
    () => undefined,
  );
  return {
    settle: async () => {
      const over = new AbortController();
      const late = sleep(WAITED_MS, undefined, { signal: over.signal }).then(
        () => given.abort(),
        () => undefined,
      );
      await opening;
      over.abort();
      await late;
    },
  };
}
