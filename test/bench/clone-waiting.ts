import type { ComparedSide } from './side.js';

/** Tables with what belongs to a run, and by which column; in this order, since some refer to others. */
const TABLES: { readonly [S in ComparedSide]: readonly (readonly [table: string, column: string])[] } = {
  holdfast: [
    ['holdfast.runs', 'id'],
    ['holdfast.run_heads', 'run_id'],
    ['holdfast.run_keys', 'run_id'],
    ['holdfast.events', 'run_id'],
    ['holdfast.calls', 'run_id'],
    ['holdfast.interruptions', 'run_id'],
    ['holdfast.snapshots', 'run_id'],
    ['holdfast.timers', 'run_id'],
    ['dbos.workflow_status', 'workflow_uuid'],
    ['dbos.workflow_input', 'workflow_uuid'],
    ['dbos.workflow_output', 'workflow_uuid'],
    ['dbos.operation_outputs', 'workflow_uuid'],
  ],
  dbos: [
    ['dbos.workflow_status', 'workflow_uuid'],
    ['dbos.workflow_input', 'workflow_uuid'],
    ['dbos.operation_outputs', 'workflow_uuid'],
  ],
};

/** The ids in a waiting run, and how those of a copy are made. */
const IDS: { readonly [S in ComparedSide]: string } = {
  holdfast: `select id, 'run_' as prefix from holdfast.runs union all select id, 'int_' from holdfast.interruptions`,
  dbos: `select workflow_uuid as id, '' as prefix from dbos.workflow_status`,
};

/** Asks a database. */
export type Ask = (sql: string) => Promise<readonly Record<string, unknown>[]>;

/** Copies the only run of a database, which waits, so many times: all of its rows, under ids of their own. */
export async function cloneWaiting(ask: Ask, side: ComparedSide, count: number): Promise<void> {
  const ids = await ask(IDS[side]);
  const copied = ids.reduce(
    (text, { id, prefix }) => `replace(${text}, '${id}', '${prefix}' || md5('${id}' || n))`,
    'to_json(t)::text',
  );
  for (const [table, column] of TABLES[side]) {
    await ask(
      `insert into ${table} select made.* from ${table} t, generate_series(1, ${count}) n,
              json_populate_record(null::${table}, ${copied}::json) made where t.${column} = '${ids[0]?.['id']}'`,
    );
  }
  await ask('vacuum analyze');
}
