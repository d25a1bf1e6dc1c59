import { APPLICATION, RECORDING_VERSION } from '../../engine/dbos/recording-version.js';
import type { Database } from '../../storage/database/database.js';
import { livingWorkers, newestVersion, type Stray, strandedRuns, straysOf } from '../../storage/dbos/strays.js';
import { hasSegments } from '../../storage/dbos/takeover.js';
import { type Finding, fail, ok, warn } from './finding.js';

const CHECK = 'strays';
const NAMED_AT_MOST = 5;

/** Runs that are stuck although nothing that was asked for keeps them, each kind with its remedy. Changes nothing. */
export async function checkStrays(db: Database['knex']): Promise<readonly Finding[]> {
  if (!(await hasSegments(db))) return [ok(CHECK, 'none: no engine was started on this database yet')];
  const living = await livingWorkers(db);
  const findings = [...(await broken(db, living)), ...(await newerVersion(db))];
  for (const group of groups(await straysOf(db, RECORDING_VERSION, NAMED_AT_MOST + 1)))
    findings.push(findingOf(group, living));
  return findings.length > 0 ? findings : [ok(CHECK, `none; ${living} workers live`)];
}

async function broken(db: Database['knex'], living: number): Promise<Finding[]> {
  const found = await strandedRuns(db, [], NAMED_AT_MOST + 1);
  if (found.length === 0) return [];
  const runs = found.map(({ id, segment, workflow, since }) => {
    const state = workflow === null ? 'is missing' : `is ${workflow}`;
    return `${id} (segment ${segment} ${state}, since ${since.toISOString()})`;
  });
  const who =
    living > 0 ? 'A worker ends them as failed within seconds' : 'Start `holdfast serve`: it ends them as failed';
  return [
    warn(CHECK, `runs whose segment cannot go on: ${listed(runs)}`, `${who}; \`holdfast retry <run>\` goes on then.`),
  ];
}

/** Workers of an older version leave alone what is in the queue for a newer one. */
async function newerVersion(db: Database['knex']): Promise<Finding[]> {
  const newest = await newestVersion(db, APPLICATION);
  if (newest === null || Number(newest) <= RECORDING_VERSION) return [];
  return [
    fail(
      CHECK,
      `recording version ${newest} was started on this database last, and this build has ${RECORDING_VERSION}: it takes nothing from the queue`,
      `Start workers of the build with version ${newest}.`,
    ),
  ];
}

const groups = (strays: readonly Stray[]): readonly (readonly [Stray, ...Stray[]])[] => {
  const found = new Map<string, [Stray, ...Stray[]]>();
  for (const stray of strays) {
    const key = JSON.stringify([stray.kind, stray.worker, stray.version]);
    const group = found.get(key);
    if (group === undefined) found.set(key, [stray]);
    else group.push(stray);
  }
  return [...found.values()];
};

function findingOf(group: readonly [Stray, ...Stray[]], living: number): Finding {
  const [{ kind, worker, version, since, count }] = group;
  const runs = listed(
    group.map(({ runId }) => runId),
    count,
  );
  const when = `since ${since.toISOString()}`;
  if (kind === 'queued')
    return warn(CHECK, `${count} in the queue, and no worker lives, ${when}: ${runs}`, 'Start `holdfast serve`.');
  if (kind === 'left') {
    const takesOver = 'Another worker takes them over when its lock is free: end its process if it hangs.';
    const wayOut = living > 0 ? takesOver : 'Start `holdfast serve`: it goes on with them.';
    return warn(CHECK, `${count} at work under worker ${worker}, which has been silent ${when}: ${runs}`, wayOut);
  }
  return fail(
    CHECK,
    `${count} recorded under version ${version}, and this build goes on with up to ${RECORDING_VERSION}, ${when}: ${runs}`,
    `Start a worker of the build with version ${version}. Giving them up: docs/operate/deploys.md.`,
  );
}

function listed(names: readonly string[], count = names.length): string {
  const more = Math.max(count, names.length) - NAMED_AT_MOST;
  const named = names.slice(0, NAMED_AT_MOST).join(', ');
  return more > 0 ? `${named} and more` : named;
}
