import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { EngineConnection } from '../../src/containers/docker/engine-connection.js';
import { ourFilter } from '../../src/containers/lifecycle/filter.js';
import { never } from './environments.js';

/** What engines say of their filter, as Docker 20.10 to 28 and Podman 4.3 say it. On real ones: isolation.test.ts, podman.test.ts. */

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function saying(answers: Readonly<Record<string, unknown>>): Promise<EngineConnection> {
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? ''];
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? { message: 'page not found' }));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return new EngineConnection(
    { host: `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`, certPath: null },
    1000,
  );
}

const docker = (...SecurityOptions: string[]) =>
  saying({ '/version': { Version: '28.0.0', Components: [{ Name: 'Engine' }] }, '/info': { SecurityOptions } });
const podman = (seccompProfilePath: string) =>
  saying({
    '/version': { Version: '4.3.1', Components: [{ Name: 'Podman Engine' }] },
    '/info': { SecurityOptions: ['name=seccomp,profile=default'] },
    '/v4.0.0/libpod/info': { host: { security: { seccompProfilePath } } },
  });

it('is given where no one has chosen one: to Docker as a text, to Podman as a path', async () => {
  for (const profile of ['default', 'builtin', 'unconfined']) {
    const filter = await ourFilter(await docker('name=apparmor', `name=seccomp,profile=${profile}`), never);
    expect(JSON.parse(filter ?? '')).toMatchObject({ defaultAction: 'SCMP_ACT_ERRNO' });
  }
  for (const path of ['', '/usr/share/containers/seccomp.json'])
    expect(await ourFilter(await podman(path), never)).toMatch(/^\/.*\/src\/containers\/seccomp\.json$/);
});

it('is not given in place of one that someone has chosen, nor to an engine that has none', async () => {
  expect(await ourFilter(await docker('name=seccomp,profile=/etc/docker/ours.json'), never)).toBeNull();
  expect(await ourFilter(await docker('name=apparmor'), never)).toBeNull();
  expect(await ourFilter(await podman('/etc/containers/seccomp.json'), never)).toBeNull();
});
