import Docker from 'dockerode';
import { afterAll, expect, it } from 'vitest';
import { buildImage, type ImageBuild } from '../../src/containers/lifecycle/build-image.js';
import { BUSYBOX, DOCKER_HOST, describeDocker } from '../harness/docker.js';

const file = (text: string) => ({ content: Buffer.from(text), executable: false });
const wanted = (name: string, dockerfile: string, more: Partial<ImageBuild> = {}) => {
  const lines: string[] = [];
  const build: ImageBuild = {
    image: `holdfast-test/build:${name}`,
    files: new Map([
      ['Dockerfile', file(`FROM ${BUSYBOX}\n${dockerfile}\n`)],
      ['data/in.txt', file('hello\n')],
    ]),
    timeoutSeconds: 60,
    network: 'none',
    onLine: (line) => lines.push(line),
    ...more,
  };
  return { build, lines };
};

it('names the engine that does not answer', async () => {
  const { build } = wanted('away', '');
  await expect(buildImage({ host: 'unix:///no/engine', certPath: null }, build)).rejects.toMatchObject({
    code: 'engine_unreachable',
  });
});

describeDocker('an image of a task', () => {
  afterAll(async () => {
    const docker = new Docker({ socketPath: DOCKER_HOST.replace('unix://', '') });
    for (const name of ['once', 'network'])
      await docker.getImage(`holdfast-test/build:${name}`).remove({ force: true });
  });

  it('is built once, line by line, from the files of its context', async () => {
    const { build, lines } = wanted('once', 'COPY data /data\nRUN echo "it says $(cat /data/in.txt)"');
    expect(await buildImage({ host: DOCKER_HOST, certPath: null }, build)).toBe(true);
    expect(lines).toContain('it says hello');
    expect(await buildImage({ host: DOCKER_HOST, certPath: null }, build)).toBe(false);
  }, 60_000);

  it('has no network while it is built', async () => {
    const { build, lines } = wanted('network', 'RUN echo "interfaces: $(ls /sys/class/net | tr "\\n" " ")"');
    await buildImage({ host: DOCKER_HOST, certPath: null }, build);
    expect(lines).toContainEqual(expect.stringMatching(/^interfaces: lo ?$/));
  }, 60_000);

  it('fails with the lines that say why', async () => {
    const { build } = wanted('failed', 'RUN echo nothing found; exit 3');
    const error = await buildImage({ host: DOCKER_HOST, certPath: null }, build).then(
      String,
      (caught: unknown) => caught,
    );
    expect(error).toMatchObject({ code: 'build_failed', message: expect.stringContaining('\nnothing found') });
    expect(error).toMatchObject({ message: expect.stringContaining('had no network') });
  }, 60_000);

  it('fails where it takes too long', async () => {
    const { build } = wanted('slow', 'RUN sleep 30', { timeoutSeconds: 2 });
    await expect(buildImage({ host: DOCKER_HOST, certPath: null }, build)).rejects.toMatchObject({
      code: 'build_failed',
      message: expect.stringContaining('longer than 2 seconds'),
    });
  }, 60_000);
});
