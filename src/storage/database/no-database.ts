import knex, { type Knex } from 'knex';
import { HoldfastError } from '../../core/errors/errors.js';
import { silentLog } from './knex-log.js';

const refuse = async (): Promise<never> => {
  throw new HoldfastError('internal', 'What is executed here reads and writes no database.');
};

/** A knex that reaches nothing: every statement is refused. For what must have no effect, whatever it executes. */
export const noDatabase = (): Knex =>
  knex({ client: 'pg', connection: refuse, pool: { min: 0, max: 1 }, log: silentLog });
