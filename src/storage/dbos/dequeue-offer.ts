import { NEEDS_CONTAINER } from '../../core/queue/dispatch.js';
import { NOW_MS } from '../database/columns.js';
import { fitsSql, numberSql, requiredSql } from '../queue/queue-facts.js';
import { OLD } from '../queue/workers.js';

/** Rows with what those before them take of the capacity of this worker. */
export const ranked = (rows: string): string => `
  select *, count(*) filter (where contained) over (order by place) as nth_container,
         sum(cpu) over (order by place) as cpu_until, sum(memory) over (order by place) as memory_until,
         row_number() over (partition by contained, bound, requires order by place) as nth_alike
    from (${rows}) p`;

/** After so many milliseconds in the queue a run goes to any worker with capacity, whatever share the others have. */
const SHARED_FOR_MS = 5000;
/** Whether the row `r` has a place: within the capacity of this worker, and within its share. */
export const HAS_PLACE = `(not contained or nth_container <= (select containers from me)
   and (cpu = 0 or cpu_until <= (select cpu from me)) and (memory = 0 or memory_until <= (select memory from me))
   and (bound or created_at < ${NOW_MS} - ${SHARED_FOR_MS}
     or nth_alike <= coalesce((select share from shares where shares.requires = r.requires), $6)))`;

/** Of each key of runs with a container so many rows are counted at most, where several workers share them. */
const COUNTED = 1000;

/**
 * What this worker has, what it has free, and its share of the new runs with containers: as many as make its part of the capacity in use
 * the same as that of the others which can take them.
 */
export const sharesSql = (rowsOfKey: (most: number) => string): string => `
me as (
  select offer, containers - busy as containers, containers as all_containers, busy,
         ${numberSql('offer', 'cpuCores')} - cpu as cpu, ${numberSql('offer', 'memoryMb')} - memory as memory
    from (select $12::jsonb as offer, coalesce(cast($12::jsonb ->> 'containers' as int), $6) as containers) r
   cross join (select coalesce(sum(n), 0)::int as busy, coalesce(sum(n * ${numberSql(requiredSql('requires'), 'cpuCores')}), 0) as cpu,
                      coalesce(sum(n * ${numberSql(requiredSql('requires'), 'memoryMb')}), 0) as memory
                 from work where executor = $2 and needs = '${NEEDS_CONTAINER}') u),
groups as (
  select * from (
    select g.*, coalesce(t.turn, 0) as turn, g.needs = '${NEEDS_CONTAINER}' as contained, g.engine <> '' as bound,
           case when g.needs = '${NEEDS_CONTAINER}' then ${requiredSql('g.requires')} end as required
      from parted g
      left join unnest($7::text[]) with ordinality t(tenant, turn) using (tenant)) g
   cross join lateral (select ${numberSql('g.required', 'cpuCores')} as cpu, ${numberSql('g.required', 'memoryMb')} as memory) c
   where not g.contained
      or not (select leaves from elsewhere) and not exists (select from others where others.engine = g.engine)
     and (select containers from me) > 0 and c.cpu <= greatest((select cpu from me), 0)
     and c.memory <= greatest((select memory from me), 0)
     and (g.bound and g.engine = $10 or ${fitsSql('(select offer from me)', 'g.required', { cpuCores: '0', memoryMb: '0' })})),
peers as (
  select w.id, w.offer, w.containers, coalesce(sum(u.n), 0)::int as busy,
         coalesce(sum(u.n * ${numberSql(requiredSql('u.requires'), 'cpuCores')}), 0) as cpu,
         coalesce(sum(u.n * ${numberSql(requiredSql('u.requires'), 'memoryMb')}), 0) as memory
    from (select w.id, cast(w.offer as jsonb) as offer, coalesce(cast(cast(w.offer as jsonb) ->> 'containers' as int), w.capacity) as containers
            from holdfast.workers w
           where w.id <> $2 and w.containers and w.role <> 'api' and w.stopped_at is null and w.stop_asked is null
             and w.leaving_at is null and w.alone_run_id is null and w.running < w.capacity
             and (w.recording_version is null or w.recording_version::text = $3)
             and w.heartbeat_at > clock_timestamp() - ${OLD}) w
    left join work u on u.executor = w.id and u.needs = '${NEEDS_CONTAINER}'
   group by 1, 2, 3),
kinds as (
  select g.requires, g.required, sum((
    select count(*) from (${rowsOfKey(COUNTED)}) s))::int as n
    from groups g where g.contained and not g.bound and exists (select from peers) group by 1, 2),
shares as (
  select k.requires, greatest(0, ceil(m.all_containers * (m.busy + p.busy + k.n)::float8 / (m.all_containers + p.containers)) - m.busy) as share
    from kinds k cross join me m
   cross join lateral (
     select sum(p.containers) as containers, sum(least(p.busy, p.containers)) as busy
       from peers p where ${fitsSql('p.offer', 'k.required', { cpuCores: 'p.cpu', memoryMb: 'p.memory' })}) p
   where p.containers > 0),`;
