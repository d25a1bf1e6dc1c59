import type { Caller } from '../core/caller.js';
import { HoldfastError } from '../core/errors.js';
import { STEPS_LIMIT, STEPS_MAX_CHARS, type Trajectory } from '../core/trajectory.js';
import { readTrajectory } from '../storage/read-trajectory.js';
import { assertNotErased, findRun } from '../storage/runs.js';
import type { Parts } from './parts.js';

/** The record of a run, with steps after a step. Throws `run_unknown`, `run_erased`. */
export async function getTrajectory(
  parts: Parts,
  id: string,
  caller: Caller,
  { after = 0, limit = STEPS_LIMIT }: { readonly after?: number; readonly limit?: number } = {},
): Promise<Trajectory> {
  const { knex } = parts.world;
  const row = await findRun(knex, caller.tenant, id);
  if (row === undefined) throw new HoldfastError('run_unknown', `There is no run ${JSON.stringify(id)}.`);
  assertNotErased(row);
  return (await readTrajectory(knex, row, { after, limit, maxChars: STEPS_MAX_CHARS })).record;
}
