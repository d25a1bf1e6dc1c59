import type { Knex } from 'knex';

/** What lists of trajectories are narrowed by: one row for each run that is over, and which of them have none yet. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('trajectories', (table) => {
    table.text('run_id').primary().references('id').inTable('holdfast.runs').onDelete('CASCADE');
    table.text('tenant').notNullable().defaultTo('default');
    table.text('agent').notNullable();
    table.text('task_id').nullable();
    table.specificType('tags', 'text[]').notNullable();
    table.specificType('models', 'text[]').notNullable();
    table.text('result').notNullable();
    table.double('reward').nullable();
    table.integer('steps').notNullable();
    table.text('counts').notNullable();
    table.double('quality').nullable();
    table.double('diversity').notNullable();
    table.text('sketch').notNullable();
    table.integer('score_version').notNullable();
    table.timestamp('created_at').notNullable();
    table.timestamp('completed_at').notNullable();
    table.index(['tenant', 'created_at', 'run_id']);
    table.index(['tenant', 'result', 'created_at', 'run_id']);
    table.index(['tenant', 'agent', 'created_at', 'run_id']);
    table.index(['tenant', 'task_id', 'created_at', 'run_id']);
    table.index(['tenant', 'reward']);
    table.index(['tags'], undefined, 'gin');
    table.index(['models'], undefined, 'gin');
  });
  await knex.schema.withSchema('holdfast').createTable('trajectories_due', (table) => {
    table.text('run_id').primary().references('id').inTable('holdfast.runs').onDelete('CASCADE');
    table.text('tenant').notNullable().defaultTo('default');
    table.integer('tries').notNullable().defaultTo(0);
    table.timestamp('due_at').notNullable().defaultTo(knex.fn.now());
    table.index(['due_at', 'run_id']);
    table.index(['tenant', 'due_at']);
  });
  await knex.raw(
    `insert into holdfast.trajectories_due (run_id, tenant, due_at)
     select id, tenant, completed_at from holdfast.runs where completed_at is not null`,
  );
}
