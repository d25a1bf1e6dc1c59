import type { Pool, PoolClient, QueryResult } from 'pg';
import type { Database } from '../database/database.js';
import { type Dequeue, dequeueStatement, type Limits, VALUE_TYPES } from './dequeue-statement.js';

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
 * In one message, which is one transaction: a process that stands still in the middle must not keep the lock. The statement
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
    // It may be that nobody knows what state it is in.
    client.release(true);
    throw error;
  }
}
