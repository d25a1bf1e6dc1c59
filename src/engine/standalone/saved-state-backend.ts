import type { Knex } from 'knex';
import { readSavedState, removeSavedState, writeSavedState } from '../../storage/agents/saved-states.js';
import type { RunStateBackend } from './run-state-store.js';

/** Keeps a saved state in the database of an engine, under a name of a tenant. */
export const savedStateBackend = (db: Knex, tenant: string, name: string): RunStateBackend => ({
  place: `the saved state ${JSON.stringify(name)}`,
  read: () => readSavedState(db, tenant, name),
  write: (text) => writeSavedState(db, tenant, name, text),
  remove: () => removeSavedState(db, tenant, name),
});
