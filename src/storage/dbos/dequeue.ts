import type { Pool, PoolClient, QueryConfig, QueryResult } from 'pg';
import { BAND_WIDTH, KEY_SEPARATOR, NEEDS_CONTAINER } from '../../core/queue/dispatch.js';
import { NOW_MS } from '../database/columns.js';
import type { Database } from '../database/database.js';
import { HAS_PLACE, ranked, sharesSql } from './dequeue-offer.js';
import { claimSql, newestVersionSql } from './queued-segments.js';
import { runIdSql } from './workflow-id.js';

/** So many pairs of tenant and agent with something queued are looked at at once; where there are more, those after the last look. */
const KEYS_MAX = 200;

export interface Dequeue {
  readonly queue: string;
  readonly executor: string;
  /** The recording version of this process, and the application that it belongs to. */
  readonly version: string;
  readonly application: string;
  /** Written to what is taken: only its bearer may record steps of it. */
  readonly owner: string;
  /** How many at most. */
  readonly capacity: number;
  /** Tenants in the order in which something of theirs was taken here: who is last in it waits. */
  readonly served: readonly string[];
  /** The last key that was looked at, where there are too many for one look; '' otherwise. */
  readonly after: string;
  /**
   * Runs that need a container are left to workers whose engine answers, while one of those was heard of in so many milliseconds.
   * 0: the engine of this worker answers. -1: they are left in the queue, also where no other worker is there.
   */
  readonly deferContainersMs: number;
  /** The container engine of this worker; '': it has none, or has not been asked who it is. */
  readonly engine: string;
  /** Runs whose container is on another engine are left to its workers, while one of those was heard of in so many milliseconds. */
  readonly engineAwayMs: number;
  /** What this worker has for containers, as JSON. */
  readonly offer: string;
}

/** `none`: nothing is taken where there are limits. `kept`: they are, by one who takes alone. */
export type Limits = 'none' | 'kept';

const QUEUED = `s.queue_name = $1 and s.status = 'ENQUEUED' and s.queue_partition_key is not null`;
/** What this process can execute, as DBOS judges it: what has no version goes to the newest that was started. */
const OURS = `(s.application_version = $3 or s.application_version is null and (select newest from version))
  and (s.application_name = $4 or s.application_name is null)`;

/** The first rows of a part of the queue, in the order of DBOS's index on `queue_partition_key`. */
const firstOf = (columns: string, condition: string, most: number): string => `
  select ${columns} from dbos.workflow_status s where ${QUEUED} and ${condition}
   order by s.queue_partition_key, s.priority, s.created_at, s.workflow_uuid limit ${most}`;
const PLACE = 's.workflow_uuid as id, s.priority, s.created_at';
const FIRST_OF_KEY = `s.queue_partition_key as key, ${PLACE}, (${OURS}) is true as ours`;

/**
 * Rows of a key that may be taken, in their order. `most` is no less than what is free, and the only bound that the server knows when it
 * plans for any values: without it, it expects many rows, and would rather plan again each time, which takes as long as the look.
 */
const headsOf = (most: number, condition: string, free: string): string => `
  (select h.* from (${firstOf(PLACE, `s.queue_partition_key = o.key and ${OURS} and ${condition}`, most)}) h
    order by h.priority, h.created_at, h.id limit greatest(0, least(${free})))`;

/** Rows with the place in which they may be taken. */
const placed = (rows: string): string => `
  select *, row_number() over (order by priority / ${BAND_WIDTH}, busy + nth, turn, priority, created_at, id) as place
    from (select *, row_number() over (partition by tenant order by priority, created_at, id) as nth from ${rows}) h`;

/** Room under the limit `l` of an agent or a tenant, besides what is at work; null: as much as one likes. */
const slotsUnderRate = (column: 'agent' | 'tenant'): string => `
  l.concurrency - coalesce(b.busy, 0) as free,
  case when l.rate_runs is not null then l.rate_runs - (select count(*)::int from holdfast.dispatch_starts d
    where d.${column} = g.${column} and d.started_at > clock_timestamp() - l.rate_per_ms * interval '1 ms') end as starts,
  case when l.rate_runs is not null then (select d.started_at from holdfast.dispatch_starts d where d.${column} = g.${column}
    order by d.started_at desc offset l.rate_runs - 1 limit 1) + l.rate_per_ms * interval '1 ms' end as next_at`;

/** Room under the limit of an image or a model, where there is one. */
const slotsOfLimit = (column: 'image' | 'model'): string => `
  select l.name as ${column}, l.concurrency - coalesce(b.busy, 0) as free
    from holdfast.dispatch_limits l
    left join (select ${column}, sum(n)::int as busy from work group by 1) b on b.${column} = l.name
   where l.kind = '${column}'`;

interface Limiting {
  /** Whether anything is taken. */
  readonly when: string;
  /** `open`: the keys that have capacity free, with their first row and with what their tenants have at work. */
  readonly open: string;
  /** What of a key holds for all of its rows. */
  readonly ofKey: string;
  readonly heads: (most: number) => string;
  /** What is taken of rows with their places. */
  readonly chosen: (rows: string) => string;
  readonly after: string;
  readonly nextInMs: string;
}

const OF_KEY = 'o.tenant, o.agent, o.image, o.model, o.turn, o.busy, o.contained, o.bound, o.requires, o.cpu, o.memory';
const BUSY = 'select tenant, sum(n)::int as busy from work group by 1';

const WITHOUT_LIMITS: Limiting = {
  when: 'not exists (select from holdfast.dispatch_limits)',
  open: `open as (select g.*, coalesce(b.busy, 0) as busy from groups g left join (${BUSY}) b using (tenant))`,
  ofKey: OF_KEY,
  heads: (most) => headsOf(most, 'true', '$6::int'),
  chosen: (rows) => `select * from (${ranked(rows)}) r where ${HAS_PLACE} order by place limit $6`,
  after: '',
  nextInMs: 'null::float8',
};

/** What is free of what has no limit is null, which is not the least. */
const FREE_OF_KEY = 'o.tenant_free, o.agent_free, o.image_free, o.model_free';
const FREE = `$6, ${FREE_OF_KEY}`;
const STARTS = 'o.tenant_starts, o.agent_starts';
const BEGINS = `priority >= ${BAND_WIDTH}`;

const UNDER_LIMITS: Limiting = {
  when: 'true',
  open: `tenants as (
  select g.tenant, coalesce(b.busy, 0) as busy, ${slotsUnderRate('tenant')}
    from (select distinct tenant from groups) g
    left join (${BUSY}) b using (tenant)
    left join holdfast.dispatch_limits o on o.kind = 'tenant' and o.name = g.tenant
    left join holdfast.dispatch_limits l on l.kind = coalesce(o.kind, 'tenants') and l.name = coalesce(o.name, '')),
agents as (
  select g.agent, ${slotsUnderRate('agent')}
    from (select distinct agent from groups) g
    left join (select agent, sum(n)::int as busy from work group by 1) b using (agent)
    join holdfast.dispatch_limits l on l.kind = 'agent' and l.name = g.agent),
images as (${slotsOfLimit('image')}),
models as (${slotsOfLimit('model')}),
open as (
  select * from (
    select g.*, t.busy, coalesce(t.free, $6) as tenant_free, coalesce(a.free, $6) as agent_free,
           coalesce(t.starts, $6) as tenant_starts, coalesce(a.starts, $6) as agent_starts,
           i.free as image_free, m.free as model_free
      from groups g join tenants t using (tenant) left join agents a using (agent)
      left join images i using (image) left join models m using (model)) o
   where least(${FREE}) > 0 and (o.priority < ${BAND_WIDTH} or least(${STARTS}) > 0))`,
  ofKey: `${OF_KEY}, ${FREE_OF_KEY}, ${STARTS}`,
  heads: (most) => `${headsOf(most, `s.priority < ${BAND_WIDTH}`, FREE)}
    union all ${headsOf(most, `s.${BEGINS}`, `${FREE}, ${STARTS}`)}`,
  chosen: (rows) => `
  select * from (
    select *, ${BEGINS} as begins,
           row_number() over (partition by tenant order by place) as of_tenant,
           row_number() over (partition by agent order by place) as of_agent,
           row_number() over (partition by image order by place) as of_image,
           row_number() over (partition by model order by place) as of_model,
           count(*) filter (where ${BEGINS}) over (partition by tenant order by place) as begin_of_tenant,
           count(*) filter (where ${BEGINS}) over (partition by agent order by place) as begin_of_agent
      from (select * from (${ranked(rows)}) r where ${HAS_PLACE}) p) c
   where of_tenant <= tenant_free and of_agent <= agent_free
     and (image_free is null or of_image <= image_free) and (model_free is null or of_model <= model_free)
     and (not begins or begin_of_tenant <= tenant_starts and begin_of_agent <= agent_starts)
   order by place limit $6`,
  after: `, begun as (
  insert into holdfast.dispatch_starts (run_id, tenant, agent, started_at, expires_at)
  select ${runIdSql('t.id')}, t.tenant, t.agent, clock_timestamp(),
         clock_timestamp() + max(l.rate_per_ms) * interval '1 ms'
    from taken t join holdfast.dispatch_limits l on l.rate_runs is not null
     and (l.kind = 'agent' and l.name = t.agent or l.kind = 'tenant' and l.name = t.tenant or l.kind = 'tenants')
   where t.begins group by t.id, t.tenant, t.agent
  on conflict (run_id) do nothing)`,
  nextInMs: `(select (extract(epoch from min(next_at) - clock_timestamp()) * 1000)::float8
    from (select next_at from tenants where starts <= 0 union all select next_at from agents where starts <= 0) n)`,
};

/** So many times as many first rows as may be taken are counted under limits: where those let too few through, one looks again. */
const AHEAD = 8;

const partsOf = (key: string): string =>
  ['tenant', 'agent', 'image', 'model', 'needs', 'engine', 'requires']
    .map((name, place) => `split_part(${key}, '${KEY_SEPARATOR}', ${place + 1}) as ${name}`)
    .join(', ');

/**
 * Takes segments out of the queue, in one statement: what was resumed before what is new; among tenants the one that has least at
 * work, and then the one that waits longest; of one tenant by priority and age. The keys are found, each with its first row, by seeks in
 * DBOS's index on `queue_partition_key`, so that the length of the queue does not matter. A row is taken only where the first one
 * of its key is: therefore the others are read of those keys alone whose first rows would be taken, were there no others.
 */
const dequeueSql = (limiting: Limiting, most: number): string => `
with recursive
version as (
  select coalesce(${newestVersionSql('$4')}, $3) = $3 as newest),
keys as (
  (select f.*, 1 as n from (${firstOf(FIRST_OF_KEY, `s.queue_partition_key > $8 and ${limiting.when}`, 1)}) f)
  union all
  select f.*, k.n + 1 from keys k
   cross join lateral (${firstOf(FIRST_OF_KEY, 's.queue_partition_key > k.key', 1)}) f
   where k.n < ${KEYS_MAX}),
firsts as (
  select key, id, priority, created_at from keys where ours
  union all
  select o.key, f.* from keys o
   cross join lateral (${firstOf(PLACE, `s.queue_partition_key = o.key and ${OURS}`, 1)}) f where not o.ours),
elsewhere as (
  select $9::int < 0 or $9::int > 0 and exists (
    select from holdfast.workers where containers and heartbeat_at > clock_timestamp() - $9::int * interval '1 ms') as leaves),
parted as (select *, ${partsOf('key')} from firsts),
others as (
  select distinct engine from holdfast.workers
   where engine <> $10 and heartbeat_at > clock_timestamp() - $11::int * interval '1 ms'),
work as (
  select ${partsOf('s.queue_partition_key')}, s.executor_id as executor, count(*)::int as n
    from dbos.workflow_status s
   where s.queue_name = $1 and s.status = 'PENDING' and s.queue_partition_key is not null group by 1, 2, 3, 4, 5, 6, 7, 8),
${sharesSql((most) => firstOf('s.workflow_uuid', 's.queue_partition_key = g.key', most))}
${limiting.open},
ahead as (${limiting.chosen(`select * from (${placed('open')}) p where place <= ${AHEAD * most}`)}),
heads as (select ${limiting.ofKey}, h.* from ahead o cross join lateral (${limiting.heads(most)}) h),
chosen as (${limiting.chosen(placed('heads'))}),
claimed as (
  update dbos.workflow_status s
     set ${claimSql({ owner: '$5', executor: '$2', version: '$3', application: '$4' })}
   where s.status = 'ENQUEUED' and s.workflow_uuid = any(array(
     select s.workflow_uuid from dbos.workflow_status s
      where s.workflow_uuid = any(array(select id from chosen)) and ${QUEUED} for update skip locked))
  returning s.workflow_uuid as id, s.recovery_attempts = 1 as first),
taken as (select c.*, claimed.first from chosen c join claimed using (id))${limiting.after}
select exists (select from holdfast.dispatch_limits) as limited,
       array(select id from taken order by place) as ids, array(select tenant from taken order by place) as tenants,
       array(select greatest(0, ${NOW_MS} - created_at)::float8 from taken where first) as waited,
       (select count(*)::int from chosen) as chosen,
       coalesce((select key from keys where n = ${KEYS_MAX}), '') as after,
       exists (select from parted where needs = '${NEEDS_CONTAINER}' and (select leaves from elsewhere)) as leaves,
       ${limiting.nextInMs} as "nextInMs"`;

/** Their names let the server keep their plans. */
interface Statement {
  readonly name: string;
  readonly text: string;
}
const MOST = [4, 32, 1_000_000];
const statementsOf = (name: string, limiting: Limiting): readonly Statement[] =>
  MOST.map((most) => ({ name: `${name}_${most}`, text: dequeueSql(limiting, most) }));
const FREELY = statementsOf('holdfast_dequeue', WITHOUT_LIMITS);
const LIMITED = statementsOf('holdfast_dequeue_limited', UNDER_LIMITS);

function statementFor(statements: readonly Statement[], capacity: number): Statement {
  const found = statements[MOST.findIndex((most) => capacity <= most)];
  if (found === undefined) throw new Error(`a worker has capacity for ${MOST.at(-1)} segments at most`);
  return found;
}

/** The types of its values, as `prepare` wants them. */
const VALUE_TYPES = 'text, text, text, text, text, int, text[], text, int, text, int, text';

export function dequeueStatement(
  wanted: Dequeue,
  limits: Limits,
): Required<Pick<QueryConfig, 'name' | 'text'>> & { readonly values: (string | number | string[])[] } {
  const { queue, executor, version, application, owner, capacity, served, after } = wanted;
  const containers = [wanted.deferContainersMs, wanted.engine, wanted.engineAwayMs, wanted.offer];
  const values = [queue, executor, version, application, owner, capacity, [...served], after, ...containers];
  return { ...statementFor(limits === 'none' ? FREELY : LIMITED, capacity), values };
}

/** One worker at a time counts what is at work and takes more. The number is of no other meaning. */
const LOCK = 'select pg_advisory_xact_lock(4731560815)';
/** To plan it takes as long as to execute it, and each connection would do so five times before it keeps a plan. */
const ONE_PLAN = 'set local plan_cache_mode = force_generic_plan';

type Asked = readonly [wanted: Dequeue, limits: Limits];

export interface Dequeued {
  /** Whether there are limits. Without a lock nothing is taken then. */
  readonly limited: boolean;
  readonly ids: readonly string[];
  /** The tenant of each. */
  readonly tenants: readonly string[];
  /** How many milliseconds each of those that are taken for the first time has waited. */
  readonly waited: readonly number[];
  /** How many were there to be taken: others may have been faster. */
  readonly chosen: number;
  /** Whether runs that need a container were left to workers that have an engine. */
  readonly leaves: boolean;
  readonly after: string;
  /** In how many milliseconds a rate lets the next run begin; null: none holds one back. */
  readonly nextInMs: number | null;
}

/** Takes what may be taken now. */
export async function dequeue({ kind, pool }: Pick<Database, 'kind' | 'pool'>, ...asked: Asked): Promise<Dequeued> {
  const [row] =
    kind === 'postgres'
      ? await inOneMessage(pool, asked)
      : (await pool.query<Dequeued>(dequeueStatement(...asked))).rows;
  if (row === undefined) throw new Error('the statement that takes segments gives one row');
  return row;
}

/** What connections know by names. */
const prepared = new WeakMap<PoolClient, Set<string>>();

async function prepare(client: PoolClient, name: string, text: string): Promise<void> {
  const known = prepared.get(client) ?? new Set();
  prepared.set(client, known);
  if (!known.has(name)) await client.query(`prepare ${name} (${VALUE_TYPES}) as ${text}`);
  known.add(name);
}

/**
 * In one message, which is one transaction: a process that hangs in the middle must not keep the lock. The statement
 * comes after the one that waits, so that it sees what others took meanwhile.
 */
async function inOneMessage(pool: Pool, asked: Asked): Promise<readonly Dequeued[]> {
  const client = await pool.connect();
  try {
    const { name, text, values } = dequeueStatement(...asked);
    const kept = `${name}_kept`;
    await prepare(client, kept, text);
    const literal = (value: string | number | readonly string[]): string => {
      if (typeof value === 'number') return String(Math.trunc(value));
      return typeof value === 'string' ? client.escapeLiteral(value) : `array[${value.map(literal).join()}]::text[]`;
    };
    const before = asked[1] === 'kept' ? [LOCK, ONE_PLAN] : [ONE_PLAN];
    const message = [...before, `execute ${kept} (${values.map(literal).join()})`].join('; ');
    const results: unknown = await client.query(message);
    client.release();
    return (results as readonly QueryResult<Dequeued>[]).at(-1)?.rows ?? [];
  } catch (error) {
    // It may be that no one knows what state it is in.
    client.release(true);
    throw error;
  }
}
