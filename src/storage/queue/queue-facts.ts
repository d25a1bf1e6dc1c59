import type { Knex } from 'knex';
import { type RunRequirements, runRequirements } from '../../core/containers/worker-offer.js';
import { BAND_WIDTH, KEY_SEPARATOR, NEEDS_CONTAINER } from '../../core/queue/dispatch.js';
import type { QueueFacts } from '../../core/queue/queue-wait.js';
import { OLD } from './workers.js';

/** SQL of requirements in a key of the queue as JSON; null: none. */
export const requiredSql = (requires: string): string => `cast(nullif(${requires}, '') as jsonb)`;

/** SQL of a number in JSON; 0 where it is missing. */
export const numberSql = (json: string, name: 'cpuCores' | 'memoryMb'): string =>
  `coalesce(cast(${json} ->> '${name}' as float8), 0)`;

interface Used {
  readonly cpuCores: string;
  readonly memoryMb: string;
}

/** SQL of whether a worker has what a run requires, besides what runs at work there require. `offer` and `required` are JSON. */
export const fitsSql = (offer: string, required: string, used: Used): string => `
  (${required} is null or coalesce(${offer}, '{}') @> (${required} - 'cpuCores' - 'memoryMb')
    and ${(['cpuCores', 'memoryMb'] as const)
      .map(
        (name) => `(not jsonb_exists(${required}, '${name}')
     or ${numberSql(required, name)} <= ${numberSql(offer, name)} - ${used[name]})`,
      )
      .join(' and ')})`;

const part = (key: string, place: number): string => `split_part(${key}, '${KEY_SEPARATOR}', ${place})`;

/** The rows of `dbos.workflow_status` that count against a limit, which is `l`. */
const SAME = `case l.kind when 'agent' then ${part('w.queue_partition_key', 2)} when 'image' then ${part('w.queue_partition_key', 3)}
  when 'model' then ${part('w.queue_partition_key', 4)} else ${part('w.queue_partition_key', 1)} end
  = case l.kind when 'tenants' then q.tenant else l.name end`;

const BEGUN = `d.started_at > clock_timestamp() - l.rate_per_ms * interval '1 ms'
  and case l.kind when 'agent' then d.agent = q.agent else d.tenant = q.tenant end`;

/** Returns what keeps a segment in the queue, as of one moment; null: it is not in the queue. */
export async function queueFacts(
  db: Knex,
  { workflowId, queue }: { readonly workflowId: string; readonly queue: string },
): Promise<QueueFacts | null> {
  const { rows }: { rows: QueueFacts[] } = await db.raw(
    `with q as (
       select ${part('s.queue_partition_key', 1)} as tenant, ${part('s.queue_partition_key', 2)} as agent,
              ${part('s.queue_partition_key', 3)} as image, ${part('s.queue_partition_key', 4)} as model,
              ${part('s.queue_partition_key', 5)} = '${NEEDS_CONTAINER}' as contained,
              ${part('s.queue_partition_key', 6)} as engine, ${requiredSql(part('s.queue_partition_key', 7))} as required, s.priority >= ${BAND_WIDTH} as begins,
              coalesce(s.application_version, (select version_name from dbos.application_versions
                where application_name = s.application_name or application_name is null or s.application_name is null
                order by version_timestamp desc limit 1)) as version
         from dbos.workflow_status s
        where s.workflow_uuid = :workflowId and s.queue_name = :queue and s.status = 'ENQUEUED'
          and s.queue_partition_key is not null),
     used as (
       select u.executor_id as id, count(*)::int as containers, sum(${numberSql('u.required', 'cpuCores')}) as cpu,
              sum(${numberSql('u.required', 'memoryMb')}) as memory
         from (select executor_id, ${requiredSql(part('queue_partition_key', 7))} as required from dbos.workflow_status
                where queue_name = :queue and status = 'PENDING' and ${part('queue_partition_key', 5)} = '${NEEDS_CONTAINER}') u
        group by 1),
     live as (
       select w.containers and q.engine in ('', w.engine) as containers,
              q.engine = w.engine or ${fitsSql('w.offer::jsonb', 'q.required', { cpuCores: '0', memoryMb: '0' })} as has_required,
              w.running < w.capacity and (not q.contained or coalesce(u.containers, 0) < coalesce((w.offer::jsonb ->> 'containers')::int, w.capacity)
                and ${fitsSql('w.offer::jsonb', 'q.required', { cpuCores: 'coalesce(u.cpu, 0)', memoryMb: 'coalesce(u.memory, 0)' })}
                ) as has_capacity, q.version is null or w.recording_version::text = q.version as ours
         from holdfast.workers w cross join q left join used u on u.id = w.id
        where w.role <> 'api' and w.stopped_at is null and w.stop_asked is null and w.leaving_at is null
          and w.heartbeat_at > now() - ${OLD}),
     l as (
       select l.kind, l.name, l.concurrency, l.rate_runs, l.rate_per_ms from holdfast.dispatch_limits l cross join q
        where l.kind = 'agent' and l.name = q.agent or l.kind = 'tenant' and l.name = q.tenant
           or l.kind = 'image' and l.name = q.image or l.kind = 'model' and l.name = q.model
           or l.kind = 'tenants' and not exists (
                select from holdfast.dispatch_limits o where o.kind = 'tenant' and o.name = q.tenant)),
     counted as (
       select l.kind, l.name, l.concurrency, l.rate_runs, l.rate_per_ms,
              (select count(*) from dbos.workflow_status w
                where w.queue_name = :queue and w.status = 'PENDING' and w.queue_partition_key is not null and ${SAME}) as busy,
              (select count(*) from holdfast.dispatch_starts d where ${BEGUN}) as begun
         from l cross join q)
     select q.contained as "needsContainer", nullif(q.engine, '') as engine, q.begins,
            (select count(*)::int from live) as workers,
            (select count(*)::int from live where ours) as "ofVersion",
            (select count(*)::int from live where ours and containers) as "withEngine",
            q.required as requires, (select count(*)::int from live where ours and containers and has_required) as "withRequired",
            (select count(*)::int from live where ours and has_capacity and (containers or not q.contained)) as "withCapacity",
            coalesce((select json_agg(json_build_object('kind', kind, 'name', name, 'concurrency', concurrency, 'busy', busy,
              'rateRuns', rate_runs, 'ratePerMs', rate_per_ms, 'begun', begun) order by kind) from counted), '[]') as limits
       from q`,
    { workflowId, queue },
  );
  return rows[0] ?? null;
}

/** Keys of the queue that are looked at, each by one seek. */
const KEYS_MOST = 1000;
const GIVEN_MOST = 10;

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
        where k.n < ${KEYS_MOST} and k.key is not null and (cast(:tenant as text) is null or ${part('k.key', 1)} = :tenant))
     select distinct q.required from (
       select ${part('k.key', 6)} as engine, ${requiredSql(part('k.key', 7))} as required from keys k
        where k.key is not null and ${part('k.key', 5)} = '${NEEDS_CONTAINER}' and ${part('k.key', 7)} <> ''
          and (cast(:tenant as text) is null or ${part('k.key', 1)} = :tenant)) q
      where not exists (
        select from holdfast.workers w
         where w.containers and w.role <> 'api' and w.stopped_at is null and w.heartbeat_at > now() - ${OLD}
           and (w.engine = q.engine or ${fitsSql('cast(w.offer as jsonb)', 'q.required', { cpuCores: '0', memoryMb: '0' })}))
      order by q.required limit ${GIVEN_MOST}`,
    { queue, tenant },
  );
  return rows.map(({ required }) => runRequirements.parse(required));
}
