import { rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { checkEngine } from '../../src/cli/doctor/check-engine.js';
import { DockerEngine } from '../../src/containers/docker/docker-engine.js';
import { EngineConnection } from '../../src/containers/docker/engine-connection.js';
import { pullImage, WITHOUT_LOGIN } from '../../src/containers/docker/pull-image.js';
import { readyImage } from '../../src/containers/docker/ready-image.js';
import { type ImagePolicyConfig, imagePolicy } from '../../src/core/containers/image-policy.js';
import { BUSYBOX, DOCKER_HOST, describeDocker } from '../harness/docker.js';
import { dockerOf } from '../harness/on-docker.js';
import { never, newIdentity, noSecrets } from './environments.js';

/** Images under a policy. The engine is real; what it would fetch from a registry, which this machine does not reach, it is given here. */

const SOCKET = DOCKER_HOST.slice('unix://'.length);
const OURS = join(tmpdir(), `holdfast-images-${process.pid}.sock`);
const IMAGE = 'registry.test:5000/holdfast/box:1';
const docker = dockerOf(DOCKER_HOST);

describeDocker('images', () => {
  let pulls: string[] = [];
  let answer: () => Promise<object> = async () => ({ status: 'done' });
  const pass = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const { method, url, headers } = incoming;
    const asked = request({ socketPath: SOCKET, method, path: url, headers }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 500, reply.headers);
      reply.pipe(outgoing);
    });
    asked.on('error', () => outgoing.destroy());
    incoming.pipe(asked);
  };
  // What a container is made of goes into the address, too.
  const registry = createServer({ maxHeaderSize: 4 * 1024 * 1024 }, (incoming, outgoing) => {
    const url = new URL(incoming.url ?? '', 'http://engine');
    if (incoming.method !== 'POST' || !url.pathname.endsWith('/images/create')) return pass(incoming, outgoing);
    pulls.push(`${url.searchParams.get('fromImage')}:${url.searchParams.get('tag')}`);
    void answer().then((said) => outgoing.end(`${JSON.stringify(said)}\n`));
  });
  const forget = () =>
    docker
      .getImage(IMAGE)
      .remove()
      .catch(() => {});
  const fetched = async () => {
    await docker.getImage(BUSYBOX).tag({ repo: 'registry.test:5000/holdfast/box', tag: '1' });
    return { status: 'done' };
  };
  beforeAll(() => new Promise<void>((resolve) => registry.listen(OURS, resolve)));
  beforeEach(async () => {
    await forget();
    [pulls, answer] = [[], fetched];
  });
  afterAll(async () => {
    await forget();
    registry.closeAllConnections();
    registry.close();
    rmSync(OURS, { force: true });
  });
  const opened = async (policy: ImagePolicyConfig) => {
    const engine = new DockerEngine(
      { host: `unix://${OURS}`, certPath: null },
      { patienceMs: 1000, images: imagePolicy.parse(policy) },
    );
    const identity = newIdentity({ image: IMAGE });
    try {
      const options = { starting: async () => {}, secrets: noSecrets, signal: never };
      return await engine.open(identity, { ...options, begun: false });
    } finally {
      await engine.remove(identity, never);
    }
  };

  it('never pulls by default, and says what is missing', async () => {
    await expect(opened({})).rejects.toMatchObject({ code: 'image_unknown', message: expect.stringContaining(IMAGE) });
    expect(pulls).toEqual([]);
  });

  it('pulls a missing image once, and with `always` for each new container of a run', async () => {
    const engine = new EngineConnection({ host: `unix://${OURS}`, certPath: null }, 1000);
    const identity = newIdentity({ image: IMAGE });
    const ready = (pull: 'missing' | 'always', purpose: 'run' | 'verification' = 'run') =>
      readyImage(
        engine,
        { ...identity, purpose },
        { images: imagePolicy.parse({ pull }), pulls: WITHOUT_LOGIN, signal: never },
      );
    await ready('missing');
    await ready('missing');
    expect(pulls).toEqual([IMAGE]);
    await ready('always');
    // What is judged has the image that its agent had.
    await ready('always', 'verification');
    expect(pulls).toEqual([IMAGE, IMAGE]);
  });

  it('says why a registry gives none, after three tries', async () => {
    answer = async () => ({ error: 'manifest unknown', errorDetail: { message: 'manifest unknown' } });
    await expect(opened({ pull: 'missing' })).rejects.toMatchObject({
      ...{ code: 'image_unknown', message: expect.stringMatching(/cannot pull.*box:1: .*manifest unknown/) },
    });
    expect(pulls.length).toBe(3);
  });

  it('waits for a registry that takes minutes to answer, as long as a pull may take', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      let late: (said: object) => void = () => {};
      answer = () =>
        new Promise((resolve) => {
          late = resolve;
        });
      const done = pullImage(
        new EngineConnection({ host: `unix://${OURS}`, certPath: null }, 0),
        IMAGE,
        WITHOUT_LOGIN,
        never,
      );
      while (pulls.length === 0) await new Promise((resolve) => setImmediate(resolve));
      vi.advanceTimersByTime(20 * 60_000);
      late(await fetched());
      await done;
      expect(pulls).toEqual([IMAGE]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('refuses the beginning of an id where registries are named: it may be an image of any of them', async () => {
    const { Id } = await docker.getImage(BUSYBOX).inspect();
    const engine = new DockerEngine(
      { host: `unix://${OURS}`, certPath: null },
      { patienceMs: 1000, images: imagePolicy.parse({ registries: ['docker.io'] }) },
    );
    const short = Id.slice('sha256:'.length).slice(0, 12);
    for (const image of [short, `sha256:${short}`]) {
      const options = { begun: false, starting: async () => {}, secrets: noSecrets, signal: never };
      await expect(engine.open(newIdentity({ image }), options)).rejects.toMatchObject({ code: 'image_refused' });
    }
  });

  it('is what doctor looks for: a missing one fails where none is pulled, and one of another registry always', async () => {
    const found = (policy: ImagePolicyConfig) =>
      checkEngine({ dockerHost: DOCKER_HOST, dockerCertPath: null, role: 'all' }, { images: [IMAGE], policy });
    const lacks = { status: 'fail', detail: expect.stringContaining(IMAGE), wayOut: expect.stringContaining('pull') };
    expect(await found({})).toMatchObject([lacks]);
    expect(await found({ pull: 'missing' })).toMatchObject([{ status: 'ok', detail: expect.stringContaining(IMAGE) }]);
    const elsewhere = { status: 'fail', detail: expect.stringContaining('image_refused') };
    expect(await found({ pull: 'missing', registries: ['ghcr.io'] })).toMatchObject([{ status: 'ok' }, elsewhere]);
  });

  it('refuses an image of another registry before anything is made', async () => {
    const refused = opened({ pull: 'missing', registries: ['ghcr.io'] });
    await expect(refused).rejects.toMatchObject({
      ...{ code: 'image_refused', message: expect.stringContaining('registry.test:5000') },
    });
    expect(pulls).toEqual([]);
  });
});
