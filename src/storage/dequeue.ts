import type { Pool, PoolClient, QueryConfig, QueryResult } from 'pg';
import { BAND_WIDTH, KEY_SEPARATOR } from '../core/dispatch.js';
import { NOW_MS } from './clock.js';
import { runIdSql } from './workflow-id.js';

/** So many pairs of tenant and agent with something queued are looked at at once; where there are more, those after the last look. */
const KEYS_MAX = 200;
/** One worker at a time counts what is at work and takes more. The number is of no other meaning. */
const LOCK = `select pg_advisory_xact_lock(4731560815)`;

export interface Dequeue {
  readonly queue: string;
  readonly executor: string;
  /** The recording version of this process, and the application that it belongs to. */
  readonly version: string;
  readonly application: string;
  /** Written to what is taken: only its bearer may record steps of it. */
  readonly owner: string;
  /** How many at most. */
  readonly room: number;
  /** Tenants in the order in which something of theirs was taken here: who is last in it waits. */
  readonly served: readonly string[];
  /** The last key that was looked at, where there are too many for one look; '' otherwise. */
  readonly after: string;
}

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
  readonly after: string;
  /** In how many milliseconds a rate lets the next run begin; null: none holds one back. */
  readonly nextInMs: number | null;
}

const QUEUED = `s.queue_name = $1 and s.status = 'ENQUEUED' and s.queue_partition_key is not null`;
/** What this process can execute, as DBOS judges it: what has no version goes to the newest that was started. */
const OURS = `(s.application_version = $3 or s.application_version is null and (select newest from version))
  and (s.application_name = $4 or s.application_name is null)`;

/**
 * Rows of a key that may be taken, in their order. `most` is no less than the room, and the only bound that the server knows when it
 * plans for any values: without it, it expects many rows, and would rather plan anew each time, which takes as long as the look.
 */
const headsOf = (most: number, condition: string, room: string): string => `
  (select h.* from (
    select s.workflow_uuid as id, s.priority, s.created_at from dbos.workflow_status s
     where ${QUEUED} and s.queue_partition_key = o.key and ${OURS} and ${condition}
     order by s.priority, s.created_at, s.workflow_uuid limit ${most}) h
    order by h.priority, h.created_at, h.id limit greatest(0, least(${room})))`;

/** Room under the limit \`l\` of an agent or a tenant, besides what is at work; null: as much as one likes. */
const roomUnder = (column: 'agent' | 'tenant'): string => `
  l.concurrency - coalesce(b.busy, 0) as room,
  l.rate_runs - (select count(*)::int from holdfast.dispatch_starts d
    where d.${column} = g.${column} and d.started_at > clock_timestamp() - l.rate_per_ms * interval '1 ms') as starts,
  (select d.started_at from holdfast.dispatch_starts d where d.${column} = g.${column}
    order by d.started_at desc offset l.rate_runs - 1 limit 1) + l.rate_per_ms * interval '1 ms' as next_at`;

/** Room under the limit of an image or a model, where there is one. */
const roomOf = (column: 'image' | 'model'): string => `
  select g.${column}, l.concurrency - coalesce(b.busy, 0) as room
    from (select distinct ${column} from groups) g
    left join (select ${column}, sum(n)::int as busy from work group by 1) b using (${column})
    join holdfast.dispatch_limits l on l.kind = '${column}' and l.name = g.${column}`;

interface Limiting {
  /** Whether anything is taken. */
  readonly when: string;
  /** \`open\`: the keys, with what their tenants have at work, and the room that they have. */
  readonly open: string;
  readonly heads: (most: number) => string;
  /** \`chosen\`: what is taken of \`placed\`. */
  readonly chosen: string;
  readonly after: string;
  readonly nextInMs: string;
}

const WITHOUT_LIMITS: Limiting = {
  when: 'not exists (select from holdfast.dispatch_limits)',
  open: `open as (
  select g.*, coalesce(b.busy, 0) as busy
    from groups g left join (select tenant, sum(n)::int as busy from work group by 1) b using (tenant))`,
  heads: (most) => headsOf(most, 'true', '$6::int'),
  chosen: 'chosen as (select * from placed order by place limit $6)',
  after: '',
  nextInMs: 'null::float8',
};

/** Of what has no limit the room is null, which is not the least. */
const ROOMS = '$6, o.tenant_room, o.agent_room, o.image_room, o.model_room';

const UNDER_LIMITS: Limiting = {
  when: 'true',
  open: `tenants as (
  select g.tenant, coalesce(b.busy, 0) as busy, ${roomUnder('tenant')}
    from (select distinct tenant from groups) g
    left join (select tenant, sum(n)::int as busy from work group by 1) b using (tenant)
    left join lateral (select * from holdfast.dispatch_limits l
      where l.kind = 'tenant' and l.name = g.tenant or l.kind = 'tenants' order by l.kind limit 1) l on true),
agents as (
  select g.agent, ${roomUnder('agent')}
    from (select distinct agent from groups) g
    left join (select agent, sum(n)::int as busy from work group by 1) b using (agent)
    join holdfast.dispatch_limits l on l.kind = 'agent' and l.name = g.agent),
images as (${roomOf('image')}),
models as (${roomOf('model')}),
open as (
  select g.*, t.busy, coalesce(t.room, $6) as tenant_room, coalesce(a.room, $6) as agent_room,
         coalesce(t.starts, $6) as tenant_starts, coalesce(a.starts, $6) as agent_starts,
         i.room as image_room, m.room as model_room
    from groups g join tenants t using (tenant) left join agents a using (agent)
    left join images i using (image) left join models m using (model))`,
  heads: (most) => `${headsOf(most, `s.priority < ${BAND_WIDTH}`, ROOMS)}
    union all ${headsOf(most, `s.priority >= ${BAND_WIDTH}`, `${ROOMS}, o.tenant_starts, o.agent_starts`)}`,
  chosen: `counted as (
  select *, priority >= ${BAND_WIDTH} as begins,
         row_number() over (partition by tenant order by place) as of_tenant,
         row_number() over (partition by agent order by place) as of_agent,
         row_number() over (partition by image order by place) as of_image,
         row_number() over (partition by model order by place) as of_model,
         count(*) filter (where priority >= ${BAND_WIDTH}) over (partition by tenant order by place) as begin_of_tenant,
         count(*) filter (where priority >= ${BAND_WIDTH}) over (partition by agent order by place) as begin_of_agent
    from placed),
chosen as (
  select * from counted
   where of_tenant <= tenant_room and of_agent <= agent_room
     and (image_room is null or of_image <= image_room) and (model_room is null or of_model <= model_room)
     and (not begins or begin_of_tenant <= tenant_starts and begin_of_agent <= agent_starts)
   order by place limit $6)`,
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

const partsOf = (key: string): string =>
  ['tenant', 'agent', 'image', 'model']
    .map((name, place) => `split_part(${key}, '${KEY_SEPARATOR}', ${place + 1}) as ${name}`)
    .join(', ');

/**
 * Takes segments out of the queue, in one statement: what was resumed before what is new; among tenants whoever has least at
 * work, and then whoever waits longest; of one tenant by priority and age. The keys are found by seeks in DBOS's index on
 * \`queue_partition_key\`, and of each no more rows are read than may be taken, so that the length of the queue does not matter.
 */
const dequeueUnder = (limiting: Limiting, most: number): string => `
with recursive
version as (
  select coalesce((select version_name from dbos.application_versions
    where application_name = $4 or application_name is null order by version_timestamp desc limit 1), $3) = $3 as newest),
keys as (
  (select min(s.queue_partition_key) as key, 1 as n from dbos.workflow_status s
    where ${QUEUED} and s.queue_partition_key > $8 and ${limiting.when})
  union all
  select (select min(s.queue_partition_key) from dbos.workflow_status s where ${QUEUED} and s.queue_partition_key > k.key), n + 1
    from keys k where k.key is not null and n < ${KEYS_MAX}),
groups as (
  select key, ${partsOf('key')}
    from keys where key is not null),
work as (
  select ${partsOf('s.queue_partition_key')}, count(*)::int as n
    from dbos.workflow_status s
   where s.queue_name = $1 and s.status = 'PENDING' and s.queue_partition_key is not null group by 1, 2, 3, 4),
${limiting.open},
heads as (select * from open o cross join lateral (${limiting.heads(most)}) h),
placed as (
  select *, row_number() over (order by priority / ${BAND_WIDTH}, busy + nth,
           coalesce(array_position($7::text[], tenant), 0), priority, created_at, id) as place
    from (select *, row_number() over (partition by tenant order by priority, created_at, id) as nth from heads) h),
${limiting.chosen},
claimed as (
  update dbos.workflow_status s
     set status = 'PENDING', owner_xid = $5, executor_id = $2, application_version = $3,
         started_at_epoch_ms = ${NOW_MS}, rate_limited = false, application_name = coalesce(s.application_name, $4),
         recovery_attempts = s.recovery_attempts + 1, updated_at = ${NOW_MS},
         workflow_deadline_epoch_ms = coalesce(s.workflow_deadline_epoch_ms, ${NOW_MS} + s.workflow_timeout_ms)
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
       ${limiting.nextInMs} as "nextInMs"`;

/** Their names let the server keep their plans. */
interface Statement {
  readonly name: string;
  readonly text: string;
}
const MOST = [4, 32, 1_000_000];
const perRoom = (name: string, limiting: Limiting): readonly Statement[] =>
  MOST.map((most) => ({ name: `${name}_${most}`, text: dequeueUnder(limiting, most) }));
const FREELY = perRoom('holdfast_dequeue', WITHOUT_LIMITS);
const LIMITED = perRoom('holdfast_dequeue_limited', UNDER_LIMITS);

function statementFor(statements: readonly Statement[], room: number): Statement {
  const found = statements[MOST.findIndex((most) => room <= most)];
  if (found === undefined) throw new Error(`a worker has room for ${MOST.at(-1)} segments at most`);
  return found;
}

/** `none`: nothing is taken where there are limits. `kept`: they are, by one who takes alone; `shared`: also while others take. */
export type Limits = 'none' | 'kept' | 'shared';

export function dequeueStatement(
  wanted: Dequeue,
  limits: Limits,
): Required<Pick<QueryConfig, 'name' | 'text' | 'values'>> {
  const { queue, executor, version, application, owner, room, served, after } = wanted;
  const values = [queue, executor, version, application, owner, room, served, after];
  return { ...statementFor(limits === 'none' ? FREELY : LIMITED, room), values };
}

/** Takes what may be taken now. */
export async function dequeue(pool: Pool, wanted: Dequeue, limits: Limits): Promise<Dequeued> {
  const [row] =
    limits === 'shared'
      ? await underLock(pool, wanted)
      : (await pool.query<Dequeued>(dequeueStatement(wanted, limits))).rows;
  if (row === undefined) throw new Error('the statement that takes segments gives one row');
  return row;
}

/** What connections know by names. */
const prepared = new WeakMap<PoolClient, Set<string>>();

async function prepare(client: PoolClient, { name, text }: Statement): Promise<string> {
  const locked = `${name}_locked`;
  const known = prepared.get(client) ?? new Set();
  prepared.set(client, known);
  if (!known.has(locked))
    await client.query(`prepare ${locked} (text, text, text, text, text, int, text[], text) as ${text}`);
  known.add(locked);
  return locked;
}

/**
 * In one message, which is one transaction: a process that stands still in the middle must not keep the lock. The statement
 * comes after the one that waits, so that it sees what others took meanwhile.
 */
async function underLock(pool: Pool, wanted: Dequeue): Promise<readonly Dequeued[]> {
  const client = await pool.connect();
  try {
    const { queue, executor, version, application, owner, room, served, after } = wanted;
    const name = await prepare(client, statementFor(LIMITED, room));
    const texts = (values: readonly string[]) => values.map((value) => client.escapeLiteral(value)).join(', ');
    const values = `${texts([queue, executor, version, application, owner])}, ${Math.trunc(room)}, array[${texts(served)}]::text[], ${texts([after])}`;
    const results: unknown = await client.query(`${LOCK}; execute ${name} (${values})`);
    client.release();
    return (results as readonly QueryResult<Dequeued>[])[1]?.rows ?? [];
  } catch (error) {
    // It may be that nobody knows what state it is in.
    client.release(true);
    throw error;
  }
}
