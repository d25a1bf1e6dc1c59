import type { Knex } from 'knex';
import { KEY_SEPARATOR, NEEDS_CONTAINER } from '../../core/queue/dispatch.js';

/** SQL of the engine that the container of a run is on; null: it has none, or it is gone. */
export const engineOfRunSql = (runId: string): string => `
  (select e.engine from holdfast.environments e
    where e.run_id = ${runId} and e.purpose = 'run' and e.state <> 'gone' order by e.attempt desc limit 1)`;

/** SQL of the key of a queued segment, which names the engine as soon as the run has a container. */
export const keyWithEngineSql = (key: string, runId: string): string => `
  case when split_part(${key}, '${KEY_SEPARATOR}', 5) = '${NEEDS_CONTAINER}' and split_part(${key}, '${KEY_SEPARATOR}', 6) = ''
       then coalesce((select array_to_string(p.parts[1:5] || ${engineOfRunSql(runId)} || p.parts[7:], '${KEY_SEPARATOR}')
         from (select string_to_array(${key}, '${KEY_SEPARATOR}') as parts) p where ${engineOfRunSql(runId)} is not null), ${key})
       else ${key} end`;

/** SQL of what the definition of a task requires of a worker, as text; '': nothing. */
export const requirementsSql = (definition: string): string => `
  coalesce(nullif(case when ${definition} like '%"requires":{%'
    then cast(${definition} as json) -> 'environment' ->> 'requires' end, '{}'), '')`;

/** Where a run with a container can go on or begin. */
export interface RunPlace {
  /** The engine that its container is on; null: it has none. */
  readonly engine: string | null;
  /** What its task requires of a worker, as text. */
  readonly requires: string;
}

/** Where runs can go on or begin, by run. */
export async function placesOfRuns(db: Knex, runIds: readonly string[]): Promise<ReadonlyMap<string, RunPlace>> {
  if (runIds.length === 0) return new Map();
  const { rows }: { rows: (RunPlace & { id: string })[] } = await db.raw(
    `select r.id, ${engineOfRunSql('r.id')} as engine, ${requirementsSql('d.definition')} as requires
       from unnest(?::text[]) r(id)
       left join holdfast.runs u on u.id = r.id
       left join holdfast.tasks t on t.id = u.task_id
       left join holdfast.task_definitions d on d.tenant = t.tenant and d.hash = t.definition_hash`,
    [[...runIds]],
  );
  return new Map(rows.map(({ id, ...place }) => [id, place]));
}
