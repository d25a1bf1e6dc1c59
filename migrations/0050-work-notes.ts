import type { Knex } from 'knex';

/** Which process works at what beside the runs: a note that stays is one of a process that died with it. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('work_notes', (table) => {
    table.bigIncrements('id');
    table.text('tenant').notNullable().defaultTo('default');
    table.text('name').notNullable();
    table.text('worker').notNullable();
    table.integer('epoch').notNullable();
    table.timestamp('began_at', { useTz: true }).notNullable().defaultTo(knex.fn.now());
    table.index(['tenant', 'name'], 'work_notes_name_index');
    table.index(['worker', 'epoch'], 'work_notes_worker_index');
  });
}
