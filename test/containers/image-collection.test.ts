import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { DockerEngine } from '../../src/containers/docker/docker-engine.js';
import { environmentSpec } from '../../src/core/containers/environment-spec.js';
import { imagePolicy } from '../../src/core/containers/image-policy.js';
import { settleContainers } from '../../src/engine/containers/settle-containers.js';
import { SILENT } from '../../src/engine/engine-config.js';
import { UNMETERED } from '../../src/metrics/meter.js';
import { Metrics } from '../../src/metrics/metrics.js';
import {
  beginImageRemoval,
  forgetImage,
  pulledImages,
  savePulled,
  useImage,
} from '../../src/storage/containers/pulled-images.js';
import type { Database } from '../../src/storage/database/database.js';
import { openDatabase } from '../../src/storage/database/open-database.js';
import { type CollectedImage, collectImages } from '../../steps/containers/collect-images.js';
import type { EnvironmentContext } from '../../steps/containers/open-environment.js';
import { environmentOfCall } from '../../steps/containers/run-environment.js';
import { settleEnvironments } from '../../steps/containers/settle-environments.js';
import { insertBareRun } from '../harness/bare-run.js';
import { createEngineDatabase, describeEachDatabase, type TestDatabase } from '../harness/database.js';
import { DOCKER_HOST } from '../harness/docker.js';
import { dockerOf, removeLeft } from '../harness/on-docker.js';
import { describeWithRegistry, startRegistry, type TestRegistry } from './registry.js';

/** Images that were pulled for runs go when nothing needs them, and no others. The engine pulls them from a registry. */

const { signal } = new AbortController();
const docker = dockerOf(DOCKER_HOST);
const SPACE = { aboveGb: 0.001, keep: [] };

describeWithRegistry('the collection of images', () => {
  describeEachDatabase('of one engine', (kind) => {
    let place: TestDatabase;
    let database: Database;
    let registry: TestRegistry;
    let world: EnvironmentContext;
    let engineId = '';
    const runs: string[] = [];
    const images: string[] = [];
    beforeAll(async () => {
      place = await createEngineDatabase(kind);
      database = await openDatabase(place.options);
      registry = await startRegistry();
      const policy = imagePolicy.parse({ pull: 'missing' });
      const environments = new DockerEngine(
        { host: DOCKER_HOST, certPath: null },
        { patienceMs: 1000, images: policy },
      );
      world = { knex: database.knex, now: Date.now, environments };
      engineId = await environments.id(signal);
    });
    beforeEach(() => world.knex('holdfast.pulled_images').delete());
    afterAll(async () => {
      await removeLeft(DOCKER_HOST, runs);
      for (const image of images)
        await docker
          .getImage(image)
          .remove({ force: true })
          .catch(() => {});
      await registry.close();
      await database.close();
      await place.drop();
    });

    const published = async (tag = '1') => {
      const name = `holdfast/box-${randomBytes(4).toString('hex')}`;
      const id = await registry.publish(name, tag);
      images.push(id);
      return { id, image: `${registry.host}/${name}:${tag}`, name };
    };
    const newRun = async (): Promise<string> => {
      const id = await insertBareRun(world.knex);
      runs.push(id);
      return id;
    };
    /** Runs a command of a run on an image. */
    const worked = async (image: string, runId: string) => {
      const spec = environmentSpec.parse({ image, limits: { memoryMb: 128, maxProcesses: 64 } });
      const secrets = async () => new Map<string, string>();
      const at = environmentOfCall(world, { runId, tenant: 'default', spec, secrets }, `${runId}:c`, signal);
      return (await at.run(['echo', 'works'])).stdout.text;
    };
    const over = async (runId: string) => {
      await world.knex('holdfast.runs').where({ id: runId }).update({ status: 'completed', completed_at: new Date() });
      await settleEnvironments(world, signal);
    };
    const unusedFor = (hours: number) =>
      world.knex('holdfast.pulled_images').update({
        used_at: world.knex.raw("now() - ? * interval '1 hour'", [hours]),
      });
    const collected = async (collection: Parameters<typeof collectImages>[1]) => {
      const gone: CollectedImage[] = [];
      await collectImages(world, collection, (image) => gone.push(image), signal);
      return gone.map(({ name, reason }) => `${name} ${reason}`);
    };
    const byHand = async (image: string) => {
      const stream: NodeJS.ReadableStream = await docker.pull(image);
      await new Promise((resolve) => void docker.modem.followProgress(stream, resolve));
    };
    const has = (id: string) =>
      docker
        .getImage(id)
        .inspect()
        .then(
          () => true,
          () => false,
        );

    it('removes an image after its last container and its time, and a later run pulls it again', async () => {
      const { id, image } = await published();
      const run = await newRun();
      expect(await worked(image, run)).toBe('works\n');
      await unusedFor(48);
      // Its container is there: that counts as use.
      expect(await collected({ unusedHours: 24, keep: [] })).toEqual([]);
      expect((await pulledImages(world.knex, engineId))[0]?.usedAt.getTime()).toBeGreaterThan(Date.now() - 60_000);
      await over(run);
      expect(await collected({ unusedHours: 24, keep: [] })).toEqual([]);
      await unusedFor(48);
      expect(await collected({ unusedHours: 24, keep: [image] })).toEqual([]);
      expect(await collected({ unusedHours: 24, keep: [] })).toEqual([`${image} unused`]);
      expect([await has(id), await pulledImages(world.knex, engineId)]).toEqual([false, []]);
      const later = await newRun();
      expect(await worked(image, later)).toBe('works\n');
      await over(later);
      await unusedFor(1);
      expect(await collected(SPACE)).toEqual([`${image} space`]);
    });

    it('never removes an image that the engine had, that got a name of its own, or that a task names', async () => {
      const [theirs, tagged, named] = [await published(), await published(), await published()];
      await byHand(theirs.image);
      for (const { image } of [theirs, tagged, named]) {
        const run = await newRun();
        await worked(image, run);
        await over(run);
      }
      expect((await pulledImages(world.knex, engineId)).map(({ id }) => id).sort()).toEqual(
        [tagged.id, named.id].sort(),
      );
      await docker.getImage(tagged.id).tag({ repo: 'holdfast-test/mine', tag: randomBytes(4).toString('hex') });
      await unusedFor(48);
      const waits = await newRun();
      const spec = environmentSpec.parse({ image: named.image });
      await world.knex('holdfast.environments').insert({
        ...{ run_id: waits, attempt: 1, engine: engineId, key: 'k', spec: JSON.stringify(spec), spec_hash: 'h' },
        deadline: new Date(),
      });
      expect(await collected(SPACE)).toEqual([]);
      await world.knex('holdfast.environments').where({ run_id: waits }).update({ state: 'gone' });
      await unusedFor(48);
      expect(await collected(SPACE)).toEqual([`${named.image} space`]);
      expect([await has(theirs.id), await has(tagged.id)]).toEqual([true, true]);
    });

    it('forgets an image that is gone, so that one that a person pulls again is theirs', async () => {
      const [removed, died] = [await published(), await published()];
      for (const { image } of [removed, died]) {
        const run = await newRun();
        await worked(image, run);
        await over(run);
      }
      await unusedFor(48);
      // A person removed one. The worker that removed the other died before it said so.
      for (const { id } of [removed, died]) await docker.getImage(id).remove();
      await world
        .knex('holdfast.pulled_images')
        .where({ id: died.id })
        .update({
          ...{ state: 'removing', lease_until: new Date(0) },
        });
      expect(await collected(SPACE)).toEqual([]);
      expect(await pulledImages(world.knex, engineId)).toEqual([]);
      await byHand(removed.image);
      expect(await collected(SPACE)).toEqual([]);
      expect(await has(removed.id)).toBe(true);
    });

    it('removes what a tag has left, and an image with several names', async () => {
      const { id, image, name } = await published();
      const first = await newRun();
      await worked(image, first);
      await over(first);
      await registry.publish(name, '1');
      const always = imagePolicy.parse({ pull: 'always' });
      const environments = new DockerEngine(
        { host: DOCKER_HOST, certPath: null },
        { patienceMs: 1000, images: always },
      );
      const second = await newRun();
      world = { ...world, environments };
      await worked(image, second);
      await over(second);
      const [old, now] = await pulledImages(world.knex, engineId);
      expect([old?.names, now?.names].flat()).toContain(image);
      await unusedFor(2);
      expect((await collected(SPACE)).length).toBe(2);
      expect(await has(id)).toBe(false);
    });

    it('gives way to the run that needs it at the same moment, and continues after a crash', async () => {
      const { id, image } = await published();
      const run = await newRun();
      await worked(image, run);
      await over(run);
      const terms = { unusedMs: 0, leaseMs: 60_000 };
      // Another worker removes it: a run waits for that, and pulls the image again.
      expect(await beginImageRemoval(world.knex, engineId, id, terms)).toBe(true);
      expect(await useImage(world.knex, engineId, id)).toBe(false);
      const next = await newRun();
      const works = worked(image, next);
      await expect.poll(() => world.knex('holdfast.environments').where({ run_id: next }).first('state')).toBeDefined();
      await docker.getImage(id).remove();
      await forgetImage(world.knex, engineId, id);
      expect(await works).toBe('works\n');
      // A worker that forgets it late leaves what was pulled meanwhile.
      expect(await beginImageRemoval(world.knex, engineId, id, { ...terms, unusedMs: -1 })).toBe(true);
      await savePulled(world.knex, engineId, { id, names: [image], isNew: true });
      await forgetImage(world.knex, engineId, id);
      expect((await pulledImages(world.knex, engineId)).map((one) => one.id)).toEqual([id]);
      // The other worker died: what it began is done when its lease is over, unless a run uses the image first.
      await world.knex('holdfast.pulled_images').update({ state: 'removing', lease_until: new Date(0) });
      expect(await useImage(world.knex, engineId, id)).toBe(true);
      await over(next);
      await world.knex('holdfast.pulled_images').update({ state: 'removing', lease_until: new Date(0) });
      await unusedFor(2);
      expect(await collected(SPACE)).toEqual([`${image} space`]);
    });

    it('leaves what workers pull before a run needs it, beside images that cannot be pulled', async () => {
      const { id, image } = await published();
      const said: object[] = [];
      const log = { ...SILENT, warn: (fields: object) => void said.push(fields) };
      const imagesAhead = [`${registry.host}/holdfast/none:1`, image];
      const imageCollection = { ...SPACE, keep: imagesAhead };
      const stepContext = { ...world, metrics: UNMETERED };
      const settling = settleContainers({ stepContext, log, imageCollection, imagesAhead });
      settling.begin();
      await expect.poll(() => has(id), { timeout: 30_000 }).toBe(true);
      await expect
        .poll(() => said, { timeout: 30_000 })
        .toMatchObject([{ event: 'images_not_ahead', error: expect.stringContaining('none:1') }]);
      await settling.stop();
      await expect.poll(() => pulledImages(world.knex, engineId)).toMatchObject([{ id }]);
      await unusedFor(48);
      expect(await collected(imageCollection)).toEqual([]);
      expect(await collected(SPACE)).toEqual([`${image} space`]);
    });

    it('is done by workers, which say so', async () => {
      const { image } = await published();
      const run = await newRun();
      await worked(image, run);
      await over(run);
      await unusedFor(48);
      const said: object[] = [];
      const log = { ...SILENT, info: (fields: object) => void said.push(fields) };
      const metrics = new Metrics();
      const imageCollection = { unusedHours: 24, keep: [] };
      const settling = settleContainers({ stepContext: { ...world, metrics }, log, imageCollection, imagesAhead: [] });
      settling.begin();
      await expect
        .poll(() => said, { timeout: 30_000 })
        .toMatchObject([{ component: 'containers', event: 'image_removed', image, reason: 'unused' }]);
      await settling.stop();
      expect((await metrics.expose()).text).toContain('holdfast_images_removed_total{reason="unused"} 1');
      metrics.close();
    });
  });
});
