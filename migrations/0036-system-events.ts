import type { Knex } from 'knex';

/** What happens in the whole system, in one order, and what of it was told last. */
export async function up(knex: Knex): Promise<void> {
  const schema = () => knex.schema.withSchema('holdfast');
  await schema().createTable('system_events', (table) => {
    table.bigIncrements('id');
    table.bigInteger('position').nullable();
    table.text('tenant').notNullable().defaultTo('default');
    table.boolean('shared').notNullable().defaultTo(false);
    table.text('kind').notNullable();
    table.text('key').nullable();
    table.text('task_id').nullable();
    table.text('run_id').nullable();
    table.text('worker_id').nullable();
    table.text('data').notNullable().defaultTo('{}');
    table.timestamp('at', { useTz: true }).notNullable().defaultTo(knex.raw('clock_timestamp()'));
  });
  await knex.raw('create index system_events_unplaced on holdfast.system_events (id) where position is null');
  await knex.raw('create unique index system_events_key on holdfast.system_events (key) where key is not null');
  await knex.raw(
    'create index system_events_placed on holdfast.system_events (position, tenant) where position is not null',
  );
  await schema().createTable('system_event_head', (table) => {
    table.boolean('single').primary().defaultTo(true);
    table.text('tenant').notNullable().defaultTo('default');
    table.bigInteger('position').notNullable().defaultTo(0);
    table.bigInteger('trimmed').notNullable().defaultTo(0);
    table.integer('queue_depth').notNullable().defaultTo(0);
    table.check('single');
  });
  await knex.raw('insert into holdfast.system_event_head default values');
  await schema().alterTable('workers', (table) => table.text('told_status').nullable());
  await knex.raw("insert into holdfast.chores (name, due_at) values ('system_events', now())");
}
