import type { Knex } from 'knex';

/** Definitions of tasks, each kept once by its hash, and the tasks that were submitted of them. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('task_definitions', (table) => {
    table.text('tenant').notNullable().defaultTo('default');
    table.text('hash').notNullable();
    table.text('name').notNullable();
    table.text('version').notNullable();
    table.text('definition').notNullable();
    table.timestamp('created_at').notNullable().defaultTo(knex.fn.now());
    table.primary(['tenant', 'hash']);
    table.index(['tenant', 'name', 'version', 'created_at']);
  });
  await knex.schema.withSchema('holdfast').createTable('tasks', (table) => {
    table.text('id').primary();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('definition_hash').notNullable();
    table.text('name').notNullable();
    table.text('version').notNullable();
    table.text('category').notNullable();
    table.text('difficulty').notNullable();
    table.specificType('tags', 'text[]').notNullable();
    table.text('agent').notNullable();
    table.text('parameters').notNullable();
    table.bigInteger('seed').notNullable();
    table.text('image').nullable();
    table.text('reward_function').nullable();
    table.integer('priority').notNullable();
    table.text('metadata').notNullable();
    table.text('run_id').notNullable().references('id').inTable('holdfast.runs').onDelete('CASCADE');
    table.integer('attempts').notNullable().defaultTo(1);
    table.text('status').notNullable().defaultTo('open');
    table.text('result_type').nullable();
    table.text('result').nullable();
    table.double('reward').nullable();
    table.boolean('verification_passed').nullable();
    table.timestamp('created_at').notNullable().defaultTo(knex.fn.now());
    table.timestamp('updated_at').notNullable().defaultTo(knex.fn.now());
    table.timestamp('completed_at').nullable();
    table.foreign(['tenant', 'definition_hash']).references(['tenant', 'hash']).inTable('holdfast.task_definitions');
    table.index(['run_id']);
    table.index(['tenant', 'created_at', 'id']);
    table.index(['tenant', 'status', 'created_at', 'id']);
    table.index(['tenant', 'name', 'created_at', 'id']);
    table.index(['tenant', 'category', 'created_at', 'id']);
    table.index(['tags'], undefined, 'gin');
  });
}
