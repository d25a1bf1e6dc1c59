import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';

/** Containers of runs, kept before anything of them exists, and the name by which containers know this database. */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.withSchema('holdfast').createTable('environments', (table) => {
    table.text('run_id').notNullable().references('id').inTable('holdfast.runs').onDelete('CASCADE');
    table.integer('attempt').notNullable();
    table.text('tenant').notNullable().defaultTo('default');
    table.text('engine').notNullable();
    table.text('key').notNullable();
    table.text('spec').notNullable();
    table.text('spec_hash').notNullable();
    table.text('state').notNullable().defaultTo('new');
    table.timestamp('lease_until').nullable();
    table.timestamp('deadline').notNullable();
    table.timestamp('started_at').nullable();
    table.timestamp('created_at').notNullable().defaultTo(knex.fn.now());
    table.timestamp('updated_at').notNullable().defaultTo(knex.fn.now());
    table.primary(['run_id', 'attempt']);
  });
  // What has gone is looked at no more.
  await knex.raw(`create index environments_here on holdfast.environments (engine, state) where state <> 'gone'`);
  await knex.schema.withSchema('holdfast').createTable('instance', (table) => {
    table.text('id').primary();
    table.text('tenant').notNullable().defaultTo('default');
    table.boolean('single').notNullable().defaultTo(true).unique();
    table.check('single');
  });
  await knex('holdfast.instance').insert({ id: randomBytes(5).toString('hex') });
}
