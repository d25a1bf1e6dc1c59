import type { Knex } from 'knex';
import { ORPHAN_AFTER_MS } from '../../../steps/containers/open-environment.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { KeyedEvent } from '../../core/log/recording.js';
import { filesFit, hasWorked, type Taken } from '../../core/replay/fork-files.js';
import { holdSnapshot, wholeSnapshots } from '../../storage/containers/environment-snapshots.js';
import {
  findEnvironment,
  instanceId,
  type KeptEnvironment,
  keepEnvironment,
  workedFrom,
} from '../../storage/containers/environments.js';

export interface ForkPoint {
  readonly runId: string;
  readonly seq: number;
  readonly log: readonly KeyedEvent[];
  readonly plan: Taken;
}

/**
 * The snapshot whose files a fork begins with; null: it begins with none. Held until the transaction ends. Throws `fork_invalid` where
 * what a model was told of files in a container would not be so in the fork.
 */
export async function filesForFork(
  trx: Knex.Transaction,
  { runId, seq, log, plan }: ForkPoint,
): Promise<KeptEnvironment | null> {
  const instance = await instanceId(trx);
  const run = await findEnvironment(trx, instance, { runId, purpose: 'run' });
  if (run === null) return null;
  const from = await workedFrom(trx, runId);
  if (from === null || !hasWorked(log, plan, from)) {
    const { source } = run.identity;
    if (source === null) return null;
    const held = await holdSnapshot(trx, source);
    if (held !== null) return held;
    throw refuse(`${runId} began with files of ${source.runId} that are not kept any more.`, START_ANEW);
  }
  const kept = await wholeSnapshots(trx, instance, runId);
  for (const { identity } of kept.filter((one) => filesFit(log, plan, one.seq))) {
    const held = await holdSnapshot(trx, identity);
    if (held !== null) return held;
  }
  const worked = `By event ${seq} ${runId} had worked in a container`;
  if (kept.length === 0)
    throw refuse(
      `${worked}, and its files of then are not kept.`,
      run.identity.spec.snapshots === null ? NO_SNAPSHOTS : START_ANEW,
    );
  const seqs = kept.map((one) => one.seq).reverse();
  throw refuse(
    `${worked}, whose files are kept as they were at event ${seqs.join(', ')}.`,
    'Fork it from one of these events, or from before its first command.',
  );
}

/** Keeps the environment of a fork before it has begun: with the files of the snapshot, and with what is recorded of its commands. */
export async function takeFiles(
  trx: Knex.Transaction,
  { identity, engine, key }: KeptEnvironment,
  { id, tenant, now }: { readonly id: string; readonly tenant: string; readonly now: number },
): Promise<void> {
  const deadline = new Date(now + ORPHAN_AFTER_MS).toISOString();
  const own = { ...identity, runId: id, purpose: 'run' as const, attempt: 1, source: identity, deadline };
  await keepEnvironment(trx, { identity: own, engine, key }, tenant);
}

const START_ANEW = 'Fork it from an event before its first command, or start a new run.';
const NO_SNAPSHOTS = `${START_ANEW} With \`snapshots\` in the environment of its agent, files are kept for forks.`;

const refuse = (message: string, hint: string): HoldfastError => new HoldfastError('fork_invalid', message, { hint });
