import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import { AGENTS } from './baseline/agents.js';
import { BUDGETS } from './baseline/budgets.js';
import { CONTAINERS } from './baseline/containers.js';
import { EVIDENCE } from './baseline/evidence.js';
import { EXPORTS } from './baseline/exports.js';
import { INTERRUPTIONS } from './baseline/interruptions.js';
import { LOG } from './baseline/log.js';
import { OPS } from './baseline/ops.js';
import { QUEUE } from './baseline/queue.js';
import { RETENTION } from './baseline/retention.js';
import { RUNS } from './baseline/runs.js';
import { TASKS } from './baseline/tasks.js';
import { TRAJECTORIES } from './baseline/trajectories.js';

/** Tables that others refer to come first. */
const TABLES = [
  RUNS,
  AGENTS,
  LOG,
  INTERRUPTIONS,
  BUDGETS,
  TRAJECTORIES,
  EVIDENCE,
  RETENTION,
  EXPORTS,
  CONTAINERS,
  TASKS,
  QUEUE,
  OPS,
];

/** Creates every table of the first release. docs/schema.md describes each column. */
export async function up(knex: Knex): Promise<void> {
  for (const tables of TABLES) await knex.raw(tables);
  // Containers carry this id, so that two databases on one engine can tell theirs apart.
  await knex('holdfast.instance').insert({ id: randomBytes(5).toString('hex') });
  await knex.raw('INSERT INTO holdfast.system_event_head DEFAULT VALUES');
  await knex.raw(`INSERT INTO holdfast.chores (name, due_at)
    VALUES ('system_events', now()), ('retention', now() + interval '1 hour'), ('compact', '-infinity')`);
}
