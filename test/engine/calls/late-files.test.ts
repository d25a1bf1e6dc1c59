import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { DockerEngine } from '../../../src/containers/docker/docker-engine.js';
import { environmentSpec } from '../../../src/core/containers/environment-spec.js';
import { settleContainers } from '../../../src/engine/containers/settle-containers.js';
import { eraseLocked, removeLocked } from '../../../src/engine/retention/delete-run.js';
import { UNMETERED } from '../../../src/metrics/meter.js';
import type { Database } from '../../../src/storage/database/database.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import type { EnvironmentContext } from '../../../steps/containers/open-environment.js';
import { environmentOfCall } from '../../../steps/containers/run-environment.js';
import { reapOrphans, settleEnvironments } from '../../../steps/containers/settle-environments.js';
import { type HoldingProxy, holdingProxy } from '../../containers/holding-proxy.js';
import { insertBareRun } from '../../harness/bare-run.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../../harness/database.js';
import { BUSYBOX, DOCKER_HOST, describeDocker } from '../../harness/docker.js';
import { dockerOf, namesLeftOn, removeLeft } from '../../harness/on-docker.js';

/** Two workers: one makes files of a run on the engine in the moment in which the other one removes what there is of it. */

const { signal } = new AbortController();
const BY = { actor: 'ada', reason: 'asked for' };

const spec = environmentSpec.parse({
  ...{ image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64 }, snapshots: { keepHours: 1 } },
});

describeDocker('files that come late', () => {
  describeEachDatabase('two workers', (kind) => {
    let place: TestDatabase;
    const databases: Database[] = [];
    let proxy: HoldingProxy;
    /** One asks the engine through the proxy, the other one directly. */
    let slow: EnvironmentContext;
    let quick: EnvironmentContext;
    const mine: string[] = [];
    beforeAll(async () => {
      place = await createEngineDatabase(kind);
      databases.push(await openDatabase(place.options));
      // The embedded database has one session; a server has one for each.
      if (kind === 'postgres') databases.push(await openDatabase(place.options));
    });
    beforeEach(async () => {
      proxy = await holdingProxy(DOCKER_HOST);
      const world = (database: Database | undefined, host: string): EnvironmentContext => {
        if (database === undefined) throw new Error('a database was opened');
        return {
          knex: database.knex,
          now: Date.now,
          environments: new DockerEngine({ host, certPath: null }, { patienceMs: 1000 }),
        };
      };
      slow = world(databases[0], proxy.host);
      quick = world(databases.at(-1), DOCKER_HOST);
    });
    afterEach(() => proxy.close());
    afterAll(async () => {
      await removeLeft(DOCKER_HOST, mine);
      for (const database of databases) await database.close();
      await place.drop();
    });

    const newRun = async (): Promise<string> => {
      const id = await insertBareRun(quick.knex);
      mine.push(id);
      return id;
    };
    const commands = (world: EnvironmentContext, runId: string) =>
      environmentOfCall(
        world,
        { runId, tenant: 'default', spec, secrets: async () => new Map() },
        `${runId}:c`,
        signal,
      );
    const end = (id: string) =>
      quick.knex('holdfast.runs').where({ id }).update({ status: 'completed', completed_at: new Date() });
    /** A run that has worked in its container, over; the slow worker is about to make the container of its last snapshot. */
    const keeping = async () => {
      const runId = await newRun();
      await commands(quick, runId).run(['sh', '-c', 'echo one >file']);
      await end(runId);
      const come = proxy.holdNext('POST', `/containers/create\\?name=[^ ]*${runId}-s1`);
      const settling = settleEnvironments(slow, signal);
      await come;
      return { runId, settling };
    };
    const erase = (id: string) => quick.knex.transaction((trx) => eraseLocked(trx, id, BY));
    const isLate = (runId: string) =>
      quick
        .knex('holdfast.environments')
        .where({ run_id: runId })
        .whereNotNull('lease_until')
        .update({ lease_until: new Date(Date.now() - 1000) });
    const left = async (runId: string) => {
      // A container that is made without its volumes makes them, without labels.
      const { Volumes } = await dockerOf(DOCKER_HOST).listVolumes({ filters: { name: [runId] } });
      return [...(await namesLeftOn(DOCKER_HOST, { runId })), ...(Volumes ?? []).map(({ Name }) => Name)];
    };

    it('a run is erased while its last files are kept: they go when they are whole', async () => {
      const { runId, settling } = await keeping();
      expect(await erase(runId)).toMatchObject({ copies: [] });
      await settleEnvironments(quick, signal);
      proxy.release();
      await settling;
      await settleEnvironments(quick, signal);
      expect(await left(runId)).toEqual([]);
    });

    it('who makes them took longer than its time for it: it takes away what came of it', async () => {
      const { runId, settling } = await keeping();
      await erase(runId);
      await isLate(runId);
      await settleEnvironments(quick, signal);
      proxy.release();
      await settling;
      expect(await left(runId)).toEqual([]);
    });

    it('who makes them dies then: the other one finds them, long before their deadline', async () => {
      const { runId, settling } = await keeping();
      await erase(runId);
      await isLate(runId);
      await settleEnvironments(quick, signal);
      proxy.die();
      await expect(settling).rejects.toMatchObject({ code: 'engine_unreachable' });
      await expect.poll(() => left(runId), { timeout: 60_000 }).not.toEqual([]);
      await reapOrphans(quick, signal);
      expect(await left(runId)).toEqual([]);
    });

    it('nothing is kept of a run that was erased before', async () => {
      const runId = await newRun();
      await commands(quick, runId).run(['sh', '-c', 'echo one >file']);
      await end(runId);
      await erase(runId);
      await settleEnvironments(quick, signal);
      expect(await left(runId)).toEqual([]);
      expect(await quick.knex('holdfast.environments').where({ run_id: runId }).pluck('purpose')).toEqual(['run']);
    });

    it('a run is over while its container is made: that is no place to work, and goes', async () => {
      const runId = await newRun();
      const come = proxy.holdNext('POST', `/containers/create\\?name=[^ ]*${runId}-a1`);
      const command = commands(slow, runId)
        .run(['sh', '-c', 'echo one >file'])
        .then(
          () => null,
          (error: unknown) => error,
        );
      await come;
      await end(runId);
      await settleEnvironments(quick, signal);
      proxy.release();
      expect(await command).toMatchObject({ code: 'environment_lost' });
      expect(await left(runId)).toEqual([]);
    });

    it('a run is over while its volumes are given to their user: that does not make them again', async () => {
      const runId = await newRun();
      const come = proxy.holdNext('POST', `/containers/create\\?name=[^ ]*${runId}-a1`);
      const command = commands(slow, runId)
        .run(['true'])
        .then(
          () => null,
          (error: unknown) => error,
        );
      await come;
      await end(runId);
      await settleEnvironments(quick, signal);
      const given = proxy.holdNext('POST', `/containers/create\\?name=[^ ]*${runId}-a1-own-[0-9a-f]*`);
      proxy.release();
      await given;
      // As long as the one that made the container takes to find that the run is over.
      await sleep(500);
      proxy.release();
      expect(await command).toMatchObject({ code: 'environment_lost' });
      const { Volumes } = await dockerOf(DOCKER_HOST).listVolumes();
      expect((Volumes ?? []).map(({ Name }) => Name).filter((name) => name.includes(runId))).toEqual([]);
    });

    it('a run is removed with its log while its files are kept: they go, although nothing is known of them', async () => {
      const { runId, settling } = await keeping();
      await quick.knex.transaction((trx) => removeLocked(trx, runId, BY));
      proxy.release();
      await settling;
      await reapOrphans(quick, signal);
      expect(await left(runId)).toEqual([]);
    });

    /** A run that has worked in its container, and is over. */
    const worked = async () => {
      const runId = await newRun();
      await commands(quick, runId).run(['true']);
      await end(runId);
      return runId;
    };
    const unknown = async () => {
      const runId = await worked();
      await quick.knex.transaction((trx) => removeLocked(trx, runId, BY));
      return runId;
    };
    /** While `work` is done, a container of someone else mounts the workspace of a run, so that no one can remove it. */
    const whileHeld = async (runId: string, work: () => Promise<void>) => {
      const volume = (await left(runId)).find((name) => name.endsWith('-work')) ?? '';
      const holder = await dockerOf(DOCKER_HOST).createContainer({
        ...{ Image: BUSYBOX, Entrypoint: [], Cmd: ['sleep', '1000'] },
        HostConfig: { Mounts: [{ Type: 'volume', Source: volume, Target: '/held' }] },
      });
      try {
        await holder.start();
        await work();
        expect(await left(runId)).toContain(volume);
      } finally {
        await holder.remove({ force: true });
      }
    };

    it('one that cannot be removed holds up no other', async () => {
      const free = await unknown();
      // The newest container comes first.
      const held = await unknown();
      await whileHeld(held, async () => {
        await expect(reapOrphans(quick, signal)).rejects.toThrow('in use');
        expect(await left(free)).toEqual([]);
      });
      await reapOrphans(quick, signal);
      expect(await left(held)).toEqual([]);
    });

    it('what no run has goes, although the containers of runs cannot be removed', async () => {
      const free = await unknown();
      const held = await worked();
      const said: string[] = [];
      const say = (_fields: object, message: string) => void said.push(message);
      const log = { debug: say, info: say, warn: say, error: say };
      await whileHeld(held, async () => {
        const settling = settleContainers({
          stepContext: { ...quick, metrics: UNMETERED },
          log,
          imageCollection: null,
          imagesAhead: [],
        });
        settling.begin();
        await expect.poll(() => left(free), { timeout: 30_000 }).toEqual([]);
        await expect.poll(() => said).toHaveLength(2);
        await settling.stop();
      });
      expect(said).toEqual([
        'containers could not be settled; it is tried again',
        'containers that no run has were removed',
      ]);
    }, 60_000);
  });
});
