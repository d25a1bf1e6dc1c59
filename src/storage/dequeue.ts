import type { Pool, PoolClient, QueryResult } from 'pg';
import { type Dequeue, dequeueStatement, type Limits, VALUE_TYPES } from './dequeue-statement.js';

/** One worker at a time counts what is at work and takes more. The number is of no other meaning. */
const LOCK = `select pg_advisory_xact_lock(4731560815)`;

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
async function underLock(pool: Pool, wanted: Dequeue): Promise<readonly Dequeued[]> {
  const client = await pool.connect();
  try {
    const { name, text, values } = dequeueStatement(wanted, 'shared');
    const locked = `${name}_locked`;
    await prepare(client, locked, text);
    const literal = (value: string | number | readonly string[]): string => {
      if (typeof value === 'number') return String(Math.trunc(value));
      return typeof value === 'string' ? client.escapeLiteral(value) : `array[${value.map(literal).join()}]::text[]`;
    };
    const results: unknown = await client.query(`${LOCK}; execute ${locked} (${values.map(literal).join()})`);
    client.release();
    return (results as readonly QueryResult<Dequeued>[])[1]?.rows ?? [];
  } catch (error) {
    // It may be that nobody knows what state it is in.
    client.release(true);
    throw error;
  }
}
