import type { Database } from '../../src/storage/database/database.js';

type Knex = Database['knex'];

/** What a run holds that goes when it goes: its key, its payloads, what DBOS recorded of it, and what was asked. */
const HELD = `
  select (select count(*) from holdfast.run_keys where run_id = :id)::int as keys,
    (select count(*) from holdfast.events where run_id = :id and data is not null)::int as payloads,
    (select count(*) from dbos.workflow_status where workflow_uuid like :id || '%')::int as workflows,
    (select count(*) from dbos.operation_outputs where workflow_uuid like :id || '%')::int as steps,
    (select count(*) from holdfast.runs where id = :id and input <> 'null')::int as inputs`;

/** What is kept of one that went. */
const KEPT = `
  select (select count(*) from holdfast.erasures e join holdfast.runs r on r.id = e.run_id
           where r.id = :id and r.erased_at is not null)::int as erased,
    (select count(*) from holdfast.removed_runs m where m.run_id = :id
        and not exists (select from holdfast.runs where id = :id))::int as removed`;

/** Every run that ever asked a model: what it cost stays. */
export const ranIn = async (knex: Knex): Promise<readonly string[]> =>
  knex('holdfast.charges').distinct().pluck('run_id');

/** Of each run `whole`, `erased` or `removed`, in the order of these words; anything else is half done, and says what is left. */
export async function statesOf(knex: Knex, ids: readonly string[]): Promise<readonly string[]> {
  const states: string[] = [];
  for (const id of ids) {
    const held = (await knex.raw(HELD, { id })).rows[0];
    const kept = (await knex.raw(KEPT, { id })).rows[0];
    const left = Object.values(held).filter((n) => n !== 0).length;
    if (left === 0 && kept.erased + kept.removed === 1) states.push(kept.erased === 1 ? 'erased' : 'removed');
    else if (left === Object.keys(held).length && kept.erased + kept.removed === 0) states.push('whole');
    else states.push(`half done: ${JSON.stringify({ ...held, ...kept })}`);
  }
  return states.sort();
}

/** The tables in which a text is. */
export async function canariesIn(knex: Knex, text: string): Promise<readonly string[]> {
  const { rows } = await knex.raw(
    "select table_schema as s, table_name as t from information_schema.tables where table_schema in ('dbos', 'holdfast')",
  );
  const found: string[] = [];
  for (const { s, t } of rows) {
    const { rows: some } = await knex.raw(
      'select 1 from ??.?? as x where strpos(row_to_json(x)::text, ?) > 0 limit 1',
      [...[s, t, text]],
    );
    if (some.length > 0) found.push(`${s}.${t}`);
  }
  return found;
}

/** What a process has left that died, and ends the time for which it had taken its work: half a minute, or a minute. */
export async function passTime(
  knex: Knex,
): Promise<{ readonly states: readonly string[]; readonly erasure: string | null }> {
  const states = await statesOf(knex, await ranIn(knex));
  await knex('holdfast.chores').update({ due_at: knex.raw("now() - interval '1 second'") });
  const working = await knex('holdfast.erasure_requests')
    .where({ status: 'working' })
    .update({ taken_until: knex.raw("now() - interval '1 second'") })
    .returning('id');
  return { states, erasure: working[0]?.id ?? null };
}
