import { afterAll, beforeAll, expect, it } from 'vitest';
import { DockerEngine } from '../../../src/containers/docker/docker-engine.js';
import { environmentSpec } from '../../../src/core/containers/environment-spec.js';
import { wholeSnapshots } from '../../../src/storage/containers/environment-snapshots.js';
import { findEnvironment, instanceId } from '../../../src/storage/containers/environments.js';
import type { Database } from '../../../src/storage/database/database.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import type { EnvironmentContext } from '../../../steps/containers/open-environment.js';
import { environmentOfCall } from '../../../steps/containers/run-environment.js';
import { settleEnvironments } from '../../../steps/containers/settle-environments.js';
import { countingProxy } from '../../containers/counting-proxy.js';
import { insertBareRun } from '../../harness/bare-run.js';
import { createEngineDatabase, type TestDatabase } from '../../harness/database.js';
import { BUSYBOX, DOCKER_HOST, describeDockerSlowly } from '../../harness/docker.js';

/** A worker dies while it keeps the files of a run that is over: the next one keeps them whole, once, and removes the container. */

const { signal } = new AbortController();

describeDockerSlowly('a worker that dies over a snapshot', () => {
  let place: TestDatabase;
  let db: Database;
  let world: EnvironmentContext;
  let instance = '';
  const engine = new DockerEngine({ host: DOCKER_HOST, certPath: null }, { patienceMs: 1000 });
  beforeAll(async () => {
    place = await createEngineDatabase('pglite');
    db = await openDatabase(place.options);
    instance = await instanceId(db.knex);
    world = { knex: db.knex, now: Date.now, environments: engine };
  });
  afterAll(async () => {
    await db.close();
    await place.drop();
  });

  const spec = environmentSpec.parse({
    ...{ image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64 }, snapshots: { keepHours: 1 } },
  });
  /** A run that has worked in its container and is over. */
  const over = async (): Promise<string> => {
    const id = await insertBareRun(db.knex);
    const owner = { runId: id, tenant: 'default', spec, secrets: async () => new Map() };
    await environmentOfCall(world, owner, `${id}:call`, signal).run(['sh', '-c', 'echo one >file']);
    await db.knex('holdfast.runs').where({ id }).update({ status: 'completed', completed_at: new Date() });
    return id;
  };

  /** True: it died at that piece of its traffic with the engine. */
  const lives = async (piece: number): Promise<boolean> => {
    const runId = await over();
    const proxy = await countingProxy(DOCKER_HOST);
    const death = new AbortController();
    proxy.onPiece = (count) => {
      if (count === piece) death.abort(new Error('died'));
    };
    const dying = {
      ...world,
      environments: new DockerEngine({ host: proxy.host, certPath: null }, { patienceMs: 1000 }),
    };
    const died = await settleEnvironments(dying, death.signal).then(
      () => false,
      () => true,
    );
    await proxy.close();
    const late = new Date(Date.now() - 1000);
    await db
      .knex('holdfast.environments')
      .where({ run_id: runId })
      .whereNotNull('lease_until')
      .update({ lease_until: late });
    await settleEnvironments(world, signal);
    const kept = await wholeSnapshots(db.knex, instance, runId);
    expect(kept, `after piece ${piece}`).toMatchObject([{ seq: 1, state: 'down' }]);
    const run = { runId, purpose: 'run' as const };
    expect((await findEnvironment(db.knex, instance, run))?.state, `after piece ${piece}`).toBe('gone');
    const [snapshot] = kept;
    if (snapshot === undefined) throw new Error('it was expected to be there');
    const heir = { ...snapshot.identity, ...run, attempt: 2, source: snapshot.identity };
    const options = { begun: false, starting: async () => {}, secrets: async () => new Map(), signal };
    const file = await (await engine.open(heir, options)).read('/work/file', 100, signal);
    expect(String(file.bytes), `after piece ${piece}`).toBe('one\n');
    await engine.remove(heir, signal);
    await engine.remove(snapshot.identity, signal);
    const left = (await engine.list(instance, signal)).filter((one) => one.runId === runId);
    expect(left, `after piece ${piece}`).toEqual([]);
    return died;
  };

  it('leaves it to the next one, whenever it dies', { timeout: 600_000 }, async () => {
    let piece = 2;
    while (await lives(piece)) piece += 8;
    expect(piece).toBeGreaterThan(10);
  });
});
