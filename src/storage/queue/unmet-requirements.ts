import type { Knex } from 'knex';
import { type RunRequirements, runRequirements } from '../../core/containers/worker-offer.js';
import { KEY_SEPARATOR, NEEDS_CONTAINER } from '../../core/queue/dispatch.js';
import { fitsSql, requiredSql } from './offer-sql.js';
import { OLD } from './workers.js';

/** Keys of the queue that are looked at, each by one seek. */
const KEYS_MOST = 1000;
const GIVEN_MOST = 10;

const part = (place: number): string => `split_part(k.key, '${KEY_SEPARATOR}', ${place})`;
const NEXT = `select min(s.queue_partition_key) as key from dbos.workflow_status s
  where s.queue_name = :queue and s.status = 'ENQUEUED' and s.queue_partition_key > `;

/** Returns what runs in the queue require that no worker has, each once. `tenant`: null = of all tenants. */
export async function unmetRequirements(
  db: Knex,
  { queue, tenant }: { readonly queue: string; readonly tenant: string | null },
): Promise<readonly RunRequirements[]> {
  const { rows }: { rows: { required: unknown }[] } = await db.raw(
    `with recursive keys as (
       select 1 as n, (${NEXT} coalesce(cast(:tenant as text) || '${KEY_SEPARATOR}', '')) as key
       union all
       select k.n + 1, (${NEXT} k.key) from keys k
        where k.n < ${KEYS_MOST} and k.key is not null and (cast(:tenant as text) is null or ${part(1)} = :tenant))
     select distinct q.required from (
       select ${part(6)} as engine, ${requiredSql(part(7))} as required from keys k
        where k.key is not null and ${part(5)} = '${NEEDS_CONTAINER}' and ${part(7)} <> ''
          and (cast(:tenant as text) is null or ${part(1)} = :tenant)) q
      where not exists (
        select from holdfast.workers w
         where w.containers and w.role <> 'api' and w.stopped_at is null and w.heartbeat_at > now() - ${OLD}
           and (w.engine = q.engine or ${fitsSql('cast(w.offer as jsonb)', 'q.required', { cpuCores: '0', memoryMb: '0' })}))
      order by q.required limit ${GIVEN_MOST}`,
    { queue, tenant },
  );
  return rows.map(({ required }) => runRequirements.parse(required));
}
