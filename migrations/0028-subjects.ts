import type { Knex } from 'knex';

/** Whom runs are about, and the requests to erase all of somebody. */
export async function up(knex: Knex): Promise<void> {
  const schema = () => knex.schema.withSchema('holdfast');
  await schema().createTable('run_subjects', (table) => {
    table.text('tenant').notNullable().defaultTo('default');
    table.text('subject').notNullable();
    table.text('run_id').notNullable().references('id').inTable('holdfast.runs').onDelete('CASCADE');
    table.primary(['tenant', 'subject', 'run_id']);
    table.index(['run_id']);
  });
  await schema().createTable('erasure_requests', (table) => {
    table.text('id').primary();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('subject').nullable();
    table.text('status').notNullable();
    table.boolean('cancel').notNullable();
    table.text('actor').notNullable();
    table.text('reason').notNullable();
    table.integer('erased').notNullable().defaultTo(0);
    table.timestamp('taken_until').nullable();
    table.timestamp('requested_at').notNullable().defaultTo(knex.fn.now());
    table.timestamp('finished_at').nullable();
    // Those that are done are kept, and none of them is looked for by its subject.
    table.unique(['tenant', 'subject'], { predicate: knex.whereRaw("status = 'working'") });
  });
}
