import type { Knex } from 'knex';
import { ZodError } from 'zod';
import { type KeptArtifacts, notKept } from '../../core/artifacts/kept-artifacts.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { keptDefinition } from '../../core/tasks/task-definition.js';
import { definitionIn, readDefinition } from './task-definitions.js';

/** Which runs have artifacts in a store, and which of those are to go. What there is says the log of the run. */

interface ArtifactsRow {
  readonly run_id: string;
  readonly tenant: string;
  readonly place: string;
  /** Null: they stay. */
  readonly goes_at: Date | null;
  readonly created_at: Date;
}

const rows = (db: Knex) => db<ArtifactsRow>('holdfast.artifacts');

/**
 * Says that a run has artifacts, before the first of them is there. False: the run was erased or removed, so that it has none any more.
 * An erasure holds the row of the run: it finds what this says, or is found by it.
 */
export async function beginArtifacts(
  db: Knex,
  { runId, place }: { readonly runId: string; readonly place: string },
): Promise<boolean> {
  const { rows: found }: { rows: readonly { id: string }[] } = await db.raw(
    `with run as (select id, tenant from holdfast.runs where id = :runId and erased_at is null for share),
          begun as (insert into holdfast.artifacts (run_id, tenant, place) select id, tenant, :place from run
                    on conflict (run_id) do nothing)
     select id from run`,
    { runId, place },
  );
  return found.length > 0;
}

/** Has those of a run removed, by the next worker that reaches their place. */
export async function dropArtifacts(trx: Knex.Transaction, runId: string): Promise<void> {
  await rows(trx)
    .where({ run_id: runId })
    .update({ goes_at: trx.fn.now() } as never);
}

/** Takes some that are to go, and leaves them to no other worker for so long. */
export async function takeDropped(db: Knex, place: string, limit: number, forMs: number): Promise<readonly string[]> {
  const due = rows(db)
    .where({ place })
    .where('goes_at', '<=', db.fn.now())
    .orderBy('goes_at')
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .select('run_id');
  const taken = await rows(db)
    .whereIn('run_id', due)
    .update({ goes_at: db.raw("now() + ? * interval '1 millisecond'", [forMs]) } as never)
    .returning('run_id');
  return taken.map(({ run_id }) => run_id);
}

/** They are gone. */
export async function forgetArtifacts(db: Knex, runId: string): Promise<void> {
  await rows(db).where({ run_id: runId }).whereNotNull('goes_at').delete();
}

/**
 * What the log says of the artifacts of runs that end where no worker has their container: of those that have used it, and whose tasks
 * keep files of it.
 */
export async function leftBehind(
  db: Knex,
  runIds: readonly string[],
  why: string,
): Promise<ReadonlyMap<string, { readonly artifacts: KeptArtifacts }>> {
  if (runIds.length === 0) return new Map();
  const found: { id: string; tenant: string; hash: string }[] = await db('holdfast.runs as r')
    .join('holdfast.tasks as t', 't.id', 'r.task_id')
    .join('holdfast.environments as e', 'e.run_id', 'r.id')
    .where('e.purpose', 'run')
    .whereNotNull('e.started_at')
    .whereRaw('r.id = any(?)', [[...runIds]])
    .select('r.id', 't.tenant', 't.definition_hash as hash');
  const wanted = new Map<string, boolean>();
  // Many runs have few definitions, and each may be long.
  for (const { tenant, hash } of found) {
    const key = `${tenant} ${hash}`;
    if (!wanted.has(key)) wanted.set(key, await keepsFiles(db, tenant, hash));
  }
  const said = { artifacts: notKept(why) };
  return new Map(found.flatMap(({ id, tenant, hash }) => (wanted.get(`${tenant} ${hash}`) ? [[id, said]] : [])));
}

/** A definition that was changed says nothing. */
async function keepsFiles(db: Knex, tenant: string, hash: string): Promise<boolean> {
  const kept = await readDefinition(db, tenant, hash);
  if (kept === undefined) return false;
  try {
    const { artifacts } = keptDefinition.parse(definitionIn(kept));
    return artifacts !== undefined && (artifacts.patch || artifacts.files.length > 0);
  } catch (error) {
    if (error instanceof HoldfastError || error instanceof ZodError) return false;
    throw error;
  }
}
