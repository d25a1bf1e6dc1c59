import type { Knex } from 'knex';
import { KEY_SEPARATOR, NEEDS_CONTAINER } from '../../core/queue/dispatch.js';
import { engineOfRunSql, requirementsSql } from '../queue/run-engines.js';
import { runIdSql } from './workflow-id.js';

/**
 * Which images and models are limited, and what runs of an agent have of both where nothing else is said. An agent without an image
 * has no container.
 */
export interface LimitedNames {
  readonly images: readonly string[];
  readonly models: readonly string[];
  readonly agents: {
    readonly [name: string]: {
      readonly image: string | null;
      readonly model: string | null;
      /** What its environment requires of a worker, as text. */
      readonly requires?: string;
    };
  };
}

export const namesAnything = ({ images, models }: LimitedNames): boolean => images.length + models.length > 0;

/**
 * Keys of runs: tenant and agent, image and model where one of them is limited, whether a container is needed, the engine that it is
 * on, and what a worker must have. Those of a task are the task's.
 */
const keysOf = (which: string): string => `
  select id, tenant || :separator || agent ||
         case when image = '' and model = '' and not contained then '' else :separator || image || :separator || model end ||
         case when not contained then '' when requires = '' then :separator || :needsContainer || coalesce(:separator || engine, '')
              else :separator || :needsContainer || :separator || coalesce(engine, '') || :separator || requires end as key
    from (select r.id, r.tenant, r.agent, coalesce(i.name, '') as image, coalesce(m.name, '') as model,
                 r.task_id is not null or cast(:agents as json) -> r.agent ->> 'image' is not null as contained,
                 ${engineOfRunSql('r.id')} as engine,
                 case when r.task_id is not null then ${requirementsSql('d.definition')}
                      else coalesce(cast(:agents as json) -> r.agent ->> 'requires', '') end as requires
            from holdfast.runs r
            left join holdfast.tasks t on t.id = r.task_id
            left join holdfast.task_definitions d on d.tenant = t.tenant and d.hash = t.definition_hash
            left join json_array_elements_text(cast(:images as json)) i(name) on i.name = coalesce(
              t.image, cast(d.definition as json) -> 'environment' ->> 'image', cast(:agents as json) -> r.agent ->> 'image')
            left join json_array_elements_text(cast(:models as json)) m(name) on m.name = coalesce(
              r.model, cast(:agents as json) -> r.agent ->> 'model')
           where ${which}) names`;

const bindings = ({ images, models, agents }: LimitedNames) => ({
  ...{ separator: KEY_SEPARATOR, needsContainer: NEEDS_CONTAINER, images: JSON.stringify(images) },
  ...{ models: JSON.stringify(models), agents: JSON.stringify(agents) },
});

/** Whether a run works in a container: that of its task, or that of its agent. */
export const needsContainer = (
  { agent, task_id: task }: { readonly agent: string; readonly task_id: string | null },
  { agents }: LimitedNames,
): boolean => task !== null || (Object.hasOwn(agents, agent) && agents[agent]?.image != null);

/** The keys of runs whose rows, and those of their tasks, are there. */
export async function keysOfRuns(
  trx: Knex.Transaction,
  runIds: readonly string[],
  limited: LimitedNames,
): Promise<ReadonlyMap<string, string>> {
  const found: { rows: { id: string; key: string }[] } = await trx.raw(keysOf('r.id = any(:runIds)'), {
    ...bindings(limited),
    runIds: [...runIds],
  });
  return new Map(found.rows.map(({ id, key }) => [id, key]));
}

export function keyOf(keys: ReadonlyMap<string, string>, runId: string): string {
  const key = keys.get(runId);
  if (key === undefined) throw new Error(`run ${runId} is put into the queue before its row is there`);
  return key;
}

/** Gives all that is queued or at work the keys that follow from what is limited now. */
export async function keyAnew(db: Knex, queue: string, limited: LimitedNames): Promise<void> {
  const present = `s.queue_name = :queue and s.status in ('ENQUEUED', 'PENDING')`;
  await db.raw(
    `update dbos.workflow_status s set queue_partition_key = k.key
       from (${keysOf(`r.id in (select ${runIdSql('s.workflow_uuid')} from dbos.workflow_status s where ${present})`)}) k
      where ${present} and k.id = ${runIdSql('s.workflow_uuid')} and s.queue_partition_key is distinct from k.key`,
    { ...bindings(limited), queue },
  );
}
