import type { Knex } from 'knex';

/** What knex would print, it also throws. */
export const silentLog: Knex.Logger = { warn() {}, error() {}, debug() {} };
