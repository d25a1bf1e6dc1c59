import type { Ask } from './clone-waiting.js';

/** A run that is copied, the interruption that it has, and which of fifty copies are of it. */
export interface Template {
  readonly id: string;
  /** Null: it has none. */
  readonly interruption: string | null;
  readonly slots: readonly number[];
}

/** So many copies have each slot once. */
export const SLOTS = 50;
const AGENTS = 19;
const TOOLS = 20;
const SECONDS_APART = 31;
/** So many of the newest copies have their events, and so many of the oldest: a page shows one end, and events are most of the bytes. */
const LOGGED = 25_000;

/** Tables with what belongs to a run, by which column, and what is different in each copy. */
const TABLES: readonly (readonly [table: string, column: string, other: Readonly<Record<string, string>>])[] = [
  [
    'holdfast.runs',
    'id',
    {
      agent: `'agent' || n % ${AGENTS}`,
      session_id: `case when n % 20 = 0 then 'session' || n % 1000 end`,
      metadata: `case when n % 50 = 1 then '{"tags":["monday"]}' else '{}' end`,
      cost_nano_usd: 'n % 991 * 1000',
    },
  ],
  ['holdfast.run_heads', 'run_id', { moved: 'false' }],
  ['holdfast.run_keys', 'run_id', {}],
  ['holdfast.events', 'run_id', {}],
  ['holdfast.charges', 'run_id', { model: `case when n % 10000 = 0 then 'rare' else 'usual' end` }],
  ['holdfast.interruptions', 'run_id', { agent: `'agent' || n % ${AGENTS}`, tool: `'tool' || n % ${TOOLS}` }],
  ['holdfast.decisions', 'run_id', {}],
];

/**
 * Copies runs into a history: of each table the rows, under ids of their own, each older than the next. Their logs do not
 * verify, because the payloads have other ids than the hashes.
 */
export async function cloneHistory(ask: Ask, templates: readonly Template[], count: number): Promise<void> {
  const kinds = templates.flatMap(({ id, interruption, slots }) =>
    slots.map((slot) => `(${slot}, '${id}', '${interruption ?? 'int_none'}')`),
  );
  for (const [table, column, other] of TABLES) {
    const columns = await ask(
      `select quote_ident(attname) as name, format_type(atttypid, null) as type from pg_attribute
        where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped`,
    );
    const copied = columns.map(({ name, type }) => {
      const own = other[String(name)];
      if (own !== undefined) return own;
      if (type === 'timestamp with time zone') return `t.${name} - (${count} - n + 1) * interval '${SECONDS_APART} s'`;
      return type === 'text'
        ? `replace(replace(t.${name}, k.id, 'run_' || md5(k.id || n)), k.interruption, 'int_' || md5(k.id || n))`
        : `t.${name}`;
    });
    // Without the triggers of foreign keys: what they refer to is copied before.
    await ask(
      `set session_replication_role = replica;
       insert into ${table} (${columns.map(({ name }) => name).join(', ')})
       select ${copied.join(', ')} from generate_series(1, ${count}) n
         join (values ${kinds.join(', ')}) k (slot, id, interruption) on k.slot = n % ${SLOTS}
         join ${table} t on t.${column} = k.id
        where ${table === 'holdfast.events' ? `n <= ${LOGGED} or n > ${count - LOGGED}` : 'true'}`,
    );
  }
  await ask('vacuum analyze');
}
