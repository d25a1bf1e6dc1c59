import type { Knex } from 'knex';

/** Tools that are declared deterministic and were seen to give something else for the same input. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('tool_marks', (table) => {
    table.text('tenant').notNullable();
    table.text('tool').notNullable();
    table.text('tool_version').notNullable();
    table.text('run_id').notNullable();
    table.integer('seq').notNullable();
    table.timestamp('marked_at', { useTz: true }).notNullable().defaultTo(knex.fn.now());
    table.primary(['tenant', 'tool', 'tool_version']);
  });
}
