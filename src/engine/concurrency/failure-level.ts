import { databaseTrouble } from '../../storage/database/database-trouble.js';

/** Returns the level of a line about work that is tried again. Of a database that is away or takes no writes, a line says so for all. */
export function levelOfFailure(error: unknown): 'debug' | 'warn' {
  const trouble = databaseTrouble(error);
  return trouble === null || trouble === 'conflict' ? 'warn' : 'debug';
}
