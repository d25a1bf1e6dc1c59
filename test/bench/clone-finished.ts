import type { Ask } from './clone-waiting.js';

/** Tables with what an export reads of a run, and by which column; in this order, since some refer to others. */
const TABLES = [
  ['holdfast.runs', 'id'],
  ['holdfast.run_keys', 'run_id'],
  ['holdfast.run_heads', 'run_id'],
  ['holdfast.events', 'run_id'],
] as const;

/** Copies a run that is over so many times, under ids of their own, and with something else in the place of `mark` in each. */
export async function cloneFinished(ask: Ask, id: string, mark: string, count: number): Promise<void> {
  for (const [table, column] of TABLES) {
    const columns = await ask(
      `select quote_ident(attname) as name, atttypid = 'text'::regtype as words from pg_attribute
        where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped`,
    );
    const copied = columns.map(({ name, words }) =>
      words === true
        ? `replace(replace(t.${name}, '${id}', 'run_' || md5('${id}' || n)), '${mark}', md5(n::text))`
        : `t.${name}`,
    );
    await ask(
      `insert into ${table} (${columns.map(({ name }) => name).join(', ')}) select ${copied.join(', ')}
         from ${table} t, generate_series(1, ${count}) n where t.${column} = '${id}'`,
    );
  }
  // What has moved would be entered into the log of all runs meanwhile.
  await ask('update holdfast.run_heads set moved = false');
  await ask('vacuum analyze');
}
