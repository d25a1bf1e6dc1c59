import type { Knex } from 'knex';

/** Keeps how many events a webhook was told of, when last, and how many were given up. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`ALTER TABLE holdfast.webhooks
    ADD COLUMN delivered bigint NOT NULL DEFAULT 0,
    ADD COLUMN delivered_at timestamptz,
    ADD COLUMN given_up bigint NOT NULL DEFAULT 0`);
}
