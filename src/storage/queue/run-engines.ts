import type { Knex } from 'knex';
import { KEY_SEPARATOR, NEEDS_CONTAINER } from '../../core/queue/dispatch.js';

/** SQL of the engine that the container of a run is on; null: it has none, or it is gone. */
export const engineOfRunSql = (runId: string): string => `
  (select e.engine from holdfast.environments e
    where e.run_id = ${runId} and e.purpose = 'run' and e.state <> 'gone' order by e.attempt desc limit 1)`;

/** SQL of the key of a queued segment, which names the engine as soon as the run has a container. */
export const keyWithEngineSql = (key: string, runId: string): string => `
  case when split_part(${key}, '${KEY_SEPARATOR}', 5) = '${NEEDS_CONTAINER}' and split_part(${key}, '${KEY_SEPARATOR}', 6) = ''
       then ${key} || coalesce('${KEY_SEPARATOR}' || ${engineOfRunSql(runId)}, '') else ${key} end`;

/** The engines that the containers of runs are on, by run. */
export async function enginesOfRuns(db: Knex, runIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (runIds.length === 0) return new Map();
  const { rows }: { rows: { id: string; engine: string | null }[] } = await db.raw(
    `select r.id, ${engineOfRunSql('r.id')} as engine from unnest(?::text[]) r(id)`,
    [[...runIds]],
  );
  return new Map(rows.flatMap(({ id, engine }) => (engine === null ? [] : [[id, engine]])));
}
