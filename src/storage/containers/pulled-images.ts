import type { Knex } from 'knex';
import { z } from 'zod';
import type { PulledImage } from '../../core/containers/image-collection.js';
import { canonical } from '../../core/json.js';
import { readJson } from '../database/stored-json.js';

interface ImageRow {
  readonly engine: string;
  readonly id: string;
  readonly names: string;
  readonly state: 'kept' | 'removing';
  readonly lease_until: Date | null;
  readonly used_at: Date;
}

const rows = (db: Knex) => db<ImageRow>('holdfast.pulled_images');
const row = (db: Knex, engine: string, id: string) => rows(db).where({ engine, id });
/** No one removes it, or who did was not in time. */
const isTakable = (db: Knex) => (one: Knex.QueryBuilder) =>
  one
    .where({ state: 'kept' })
    .orWhere((late) => late.where({ state: 'removing' }).where('lease_until', '<', db.fn.now()));
const kept = (db: Knex) => ({ state: 'kept', lease_until: null, used_at: db.fn.now() }) as never;

/** Keeps that a pull brought an image, or gave one that is kept these further names. `isNew`: the engine did not have it before. */
export async function savePulled(
  db: Knex,
  engine: string,
  { id, names, isNew }: { readonly id: string; readonly names: readonly string[]; readonly isNew: boolean },
): Promise<void> {
  await db.transaction(async (trx) => {
    const known = await row(trx, engine, id).forUpdate().first('names');
    if (known === undefined && !isNew) return;
    const all = [...new Set([...(known === undefined ? [] : namesIn(engine, id, known.names)), ...names])].sort();
    const values = { engine, id, names: canonical(all) };
    // It is there again: who has just removed it does not forget it any more.
    if (known !== undefined)
      await row(trx, engine, id).update({ names: values.names, ...(kept(db) as object) } as never);
    else
      await rows(trx)
        .insert(values as never)
        .onConflict(['engine', 'id'])
        .merge(['names']);
  });
}

/**
 * Says that a container is to be made of an image. False: someone removes it at this moment. One that was to be removed and was not in
 * time is not removed any more.
 */
export async function useImage(db: Knex, engine: string, id: string): Promise<boolean> {
  const taken = await row(db, engine, id).where(isTakable(db)).update(kept(db));
  if (taken > 0) return true;
  return (await row(db, engine, id).first('id')) === undefined;
}

export async function pulledImages(db: Knex, engine: string): Promise<readonly PulledImage[]> {
  const found = await rows(db).where({ engine }).select('id', 'names', 'used_at');
  return found.map(({ id, names, used_at }) => ({ id, names: namesIn(engine, id, names), usedAt: used_at }));
}

const namesIn = (engine: string, id: string, names: string): readonly string[] =>
  readJson(z.array(z.string()), names, { table: 'pulled_images', row: `${id} of engine ${engine}`, column: 'names' });

/** Says of images that something needs them now. */
export async function touchImages(db: Knex, engine: string, ids: readonly string[]): Promise<void> {
  await rows(db)
    .where({ engine, state: 'kept' })
    .whereRaw('id = any(?)', [[...ids]])
    .update({ used_at: db.fn.now() } as never);
}

/** Takes it upon itself to remove an image that nothing has used for so long; false: something does, or someone else removes it. */
export async function beginImageRemoval(
  db: Knex,
  engine: string,
  id: string,
  { unusedMs, leaseMs }: { readonly unusedMs: number; readonly leaseMs: number },
): Promise<boolean> {
  const taken = await row(db, engine, id)
    .where(isTakable(db))
    .whereRaw("used_at < now() - ? * interval '1 millisecond'", [unusedMs])
    .update({ state: 'removing', lease_until: db.raw("now() + ? * interval '1 millisecond'", [leaseMs]) } as never);
  return taken > 0;
}

/**
 * Forgets images that the engine does not have any more. Those that were needed a moment ago stay: someone may be pulling them again. An
 * image that a person pulls later is then that person's.
 */
export async function forgetGone(db: Knex, engine: string, ids: readonly string[]): Promise<void> {
  await rows(db)
    .where({ engine })
    .whereRaw('id = any(?)', [[...ids]])
    .where(isTakable(db))
    .whereRaw("used_at < now() - interval '1 minute'")
    .delete();
}

/** Says that an image stays, since something uses it. */
export async function keepImage(db: Knex, engine: string, id: string): Promise<void> {
  await row(db, engine, id).where({ state: 'removing' }).update(kept(db));
}

/** Forgets an image that is gone. One that is not being removed may have been pulled again. */
export async function forgetImage(db: Knex, engine: string, id: string): Promise<void> {
  await row(db, engine, id).where({ state: 'removing' }).delete();
}

/** Names of the images that containers of an engine are made of or are to be made of, and those that tasks which are not over name. */
export async function neededImages(db: Knex, engine: string): Promise<ReadonlySet<string>> {
  const specs: readonly { run_id: string; spec: string }[] = await db('holdfast.environments')
    .where({ engine })
    .whereNot({ state: 'gone' })
    .distinctOn('spec')
    .select('run_id', 'spec');
  const given: readonly string[] = await db('holdfast.tasks')
    .where({ status: 'open' })
    .whereNotNull('image')
    .distinct()
    .pluck('image');
  const definitions: readonly { hash: string; definition: string }[] = await db('holdfast.task_definitions as d')
    .whereExists((open) =>
      open
        .from('holdfast.tasks as t')
        .whereRaw('t.tenant = d.tenant and t.definition_hash = d.hash')
        .where({ 't.status': 'open' })
        .whereNull('t.image'),
    )
    .select('d.hash', 'd.definition');
  // A row that cannot be read names an image that no one knows: nothing is removed before it is put right.
  const ofTasks = definitions.map(({ hash: row, definition }) =>
    imageIn(readJson(named, definition, { table: 'task_definitions', row, column: 'definition' }).environment),
  );
  const ofRuns = specs.map(({ run_id: id, spec }) =>
    imageIn(readJson(z.unknown(), spec, { table: 'environments', row: `of run ${id}`, column: 'spec' })),
  );
  return new Set([...ofRuns, ...ofTasks, ...given].flat());
}

const named = z.looseObject({ environment: z.unknown() });

function imageIn(spec: unknown): readonly string[] {
  const image: unknown = Reflect.get(Object(spec), 'image');
  return typeof image === 'string' ? [image] : [];
}
