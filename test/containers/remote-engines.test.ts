import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { DockerEngine } from '../../src/containers/docker/docker-engine.js';
import { lookAtEngine } from '../../src/containers/docker/look-at-engine.js';
import type { EngineAddress } from '../../src/core/containers/engine-address.js';
import { DOCKER_HOST, describeDocker } from '../harness/docker.js';
import { freePort } from '../harness/free-port.js';
import { endedOf, newIdentity, openedFor, shell } from './environments.js';

/** An engine that is reached by TLS or by SSH, as one on another machine is: 127.0.0.2 is not the address of this machine to the engine. */

const REMOTE = '127.0.0.2';
const SOCKET = DOCKER_HOST.slice('unix://'.length);
const folder = mkdtempSync(join(tmpdir(), 'holdfast-remote-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const at = (address: EngineAddress): DockerEngine => new DockerEngine(address, { patienceMs: 0 });
const never = new AbortController().signal;

function reachesIt(address: () => EngineAddress): void {
  const { open } = openedFor(at({ host: DOCKER_HOST, certPath: null }));

  it('runs commands, carries input and files both ways, and several at once', { timeout: 120_000 }, async () => {
    const engine = at(address());
    try {
      const identity = newIdentity();
      await open(identity);
      const environment = await engine.open(identity, {
        ...{ begun: true, starting: async () => {}, secrets: async () => new Map(), signal: never },
      });
      const text = 'x'.repeat(1_000_000);
      await environment.write('/work/large', Buffer.from(text), never);
      expect(String((await environment.read('/work/large', 2_000_000, never)).bytes)).toBe(text);
      const ended = endedOf(await environment.run(shell('tail -c 5 /work/large; echo oops >&2; exit 3'), never));
      expect(ended).toMatchObject({ exitCode: 3, stdout: { text: 'xxxxx' }, stderr: { text: 'oops\n' } });
      const many = await Promise.all(
        [1, 2, 3, 4, 5, 6].map((n) => environment.run(shell(`echo ${n}; exit ${n}`), never)),
      );
      expect(many.map((one) => endedOf(one).exitCode)).toEqual([1, 2, 3, 4, 5, 6]);
    } finally {
      engine.close();
    }
  });
}

const openssl = (...args: string[]): void => void execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });

function certificates(): void {
  const subject = (name: string): string[] => ['-subj', `/CN=${name}`, '-nodes', '-newkey', 'rsa:2048'];
  for (const ca of ['ca', 'other'])
    openssl('req', '-x509', ...subject(ca), '-keyout', `${ca}-key.pem`, '-out', `${ca}.pem`);
  writeFileSync(join(folder, 'names'), `subjectAltName=IP:${REMOTE}`);
  for (const name of ['server', 'cert']) {
    const key = name === 'cert' ? 'key.pem' : 'server-key.pem';
    openssl('req', ...subject(name), '-keyout', key, '-out', `${name}.csr`);
    const signed = ['-CA', 'ca.pem', '-CAkey', 'ca-key.pem', '-CAcreateserial', '-extfile', 'names'];
    openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.pem`, ...signed);
  }
  mkdirSync(join(folder, 'strange'));
  for (const name of ['cert.pem', 'key.pem']) writeFileSync(join(folder, 'strange', name), file(name));
  writeFileSync(join(folder, 'strange', 'ca.pem'), file('other.pem'));
}

const file = (name: string): string => readFileSync(join(folder, name), 'utf8');

describeDocker('an engine by TLS', () => {
  let server: Server;
  let host = '';
  beforeAll(async () => {
    certificates();
    const keys = { key: file('server-key.pem'), cert: file('server.pem'), ca: file('ca.pem') };
    server = createServer({ ...keys, requestCert: true, rejectUnauthorized: true }, (client) => {
      const engine = connect(SOCKET);
      client.pipe(engine).pipe(client);
      for (const end of [client, engine]) end.on('error', () => [client, engine].map((one) => one.destroy()));
    });
    const port = await freePort();
    await new Promise<void>((done) => server.listen(port, REMOTE, done));
    host = `tcp://${REMOTE}:${port}`;
  }, 60_000);
  afterAll(() => server.close());

  reachesIt(() => ({ host, certPath: folder }));

  it('is refused without certificates, since anyone could read and change what is sent', () => {
    expect(() => at({ host, certPath: null })).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  });

  it('names the file of a certificate that is not there', () => {
    const missing = { code: 'secret_unreadable', message: expect.stringContaining(join('/nowhere', 'ca.pem')) };
    expect(() => at({ host, certPath: '/nowhere' })).toThrow(expect.objectContaining(missing));
  });

  it('is not trusted with a certificate of another authority', async () => {
    const engine = at({ host, certPath: join(folder, 'strange') });
    const answer = { code: 'engine_unreachable', message: expect.stringMatching(/certificate|self-signed/) };
    await expect(engine.look()).rejects.toMatchObject(answer);
    await expect(engine.id(never)).rejects.toMatchObject(answer);
  });

  it('is not trusted under another name than that of its certificate', async () => {
    const elsewhere = host.replace(REMOTE, 'localhost');
    server.close();
    await new Promise<void>((done) => server.listen(Number(host.split(':').at(-1)), '0.0.0.0', done));
    const answer = { code: 'engine_unreachable', message: expect.stringContaining('altnames') };
    await expect(at({ host: elsewhere, certPath: folder }).id(never)).rejects.toMatchObject(answer);
  });
});

const SSHD = '/usr/sbin/sshd';
const HAS_SSH = spawnSync(SSHD, ['-?']).error === undefined && spawnSync('ssh', ['-V']).error === undefined;
const REQUIRED = (process.env['HOLDFAST_TEST_REQUIRE'] ?? '').split(',').includes('ssh');
if (!HAS_SSH && REQUIRED) throw new Error('sshd or ssh is not installed, and HOLDFAST_TEST_REQUIRE names ssh');

describe.runIf(HAS_SSH)('by SSH', () => {
  describeDocker('an engine by SSH', () => {
    const { username: user } = userInfo();
    const { PATH } = process.env;
    let sshd: ChildProcess;
    let port = 0;
    const host = (): string => `ssh://${user}@${REMOTE}:${port}${SOCKET}`;

    beforeAll(async () => {
      port = await freePort();
      const dir = join(folder, 'ssh');
      mkdirSync(dir, { mode: 0o700 });
      for (const name of ['host', 'user', 'stranger'])
        execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(dir, name)]);
      const key = (name: string): string => readFileSync(join(dir, `${name}.pub`), 'utf8');
      writeFileSync(join(dir, 'authorized'), key('user'), { mode: 0o600 });
      writeFileSync(join(dir, 'known'), `[${REMOTE}]:${port} ${key('host')}`);
      writeFileSync(join(dir, 'strangers'), `[${REMOTE}]:${port} ${key('stranger')}`);
      const config = [
        ...[`ListenAddress ${REMOTE}:${port}`, `HostKey ${join(dir, 'host')}`, 'PidFile none', 'UsePAM no'],
        ...[`AuthorizedKeysFile ${join(dir, 'authorized')}`, 'StrictModes no', 'PasswordAuthentication no'],
        ...['PermitRootLogin prohibit-password', 'MaxStartups 100'],
      ];
      writeFileSync(join(dir, 'sshd_config'), config.join('\n'));
      if (user === 'root') mkdirSync('/run/sshd', { recursive: true });
      sshd = spawn(SSHD, ['-D', '-e', '-f', join(dir, 'sshd_config')], { stdio: 'ignore' });
      for (const known of ['known', 'strangers']) {
        const bin = join(dir, `bin-${known}`);
        mkdirSync(bin);
        const options = `-F none -i ${join(dir, 'user')} -o IdentitiesOnly=yes -o UserKnownHostsFile=${join(dir, known)}`;
        writeFileSync(join(bin, 'ssh'), `#!/bin/sh\nexec /usr/bin/ssh ${options} "$@"\n`);
        chmodSync(join(bin, 'ssh'), 0o755);
      }
      knows('known');
      await vi.waitFor(async () => expect(await listens(port)).toBe(true), { timeout: 30_000 });
    }, 60_000);
    afterAll(() => {
      process.env['PATH'] = PATH;
      sshd.kill();
    });

    const knows = (which: string): void => {
      process.env['PATH'] = `${join(folder, 'ssh', `bin-${which}`)}:${PATH}`;
    };

    reachesIt(() => ({ host: host(), certPath: null }));
    const { open } = openedFor();

    it('may cut connections: a command at work ends once, with its outcome', { timeout: 60_000 }, async () => {
      const engine = new DockerEngine({ host: host(), certPath: null }, { patienceMs: 20_000 });
      try {
        const identity = newIdentity();
        await open(identity);
        const environment = await engine.open(identity, {
          ...{ begun: true, starting: async () => {}, secrets: async () => new Map(), signal: never },
        });
        const ends = environment.run(shell('echo run >>/work/effects; sleep 3; echo done'), never);
        await vi.waitFor(async () => environment.read('/work/effects', 100, never), { timeout: 20_000 });
        spawnSync('pkill', ['-f', join(folder, 'ssh', 'user')]);
        expect(endedOf(await ends)).toMatchObject({ exitCode: 0, stdout: { text: 'done\n' } });
        expect(String((await environment.read('/work/effects', 100, never)).bytes)).toBe('run\n');
      } finally {
        engine.close();
      }
    });

    it('leaves no program behind a look, however often it looks', async () => {
      const engine = at({ host: host(), certPath: null });
      const programs = (): number =>
        spawnSync('pgrep', ['-f', `^/usr/bin/ssh .*${join(folder, 'ssh', 'user')}`])
          .stdout.toString()
          .trim()
          .split('\n')
          .filter((line) => line !== '').length;
      const before = programs();
      for (let look = 0; look < 5; look++) await engine.look();
      expect(programs()).toBe(before + 1);
      for (let look = 0; look < 3; look++) await lookAtEngine({ host: host(), certPath: null }, [], never);
      engine.close();
      await vi.waitFor(() => expect(programs()).toBe(before), { timeout: 10_000 });
    });

    it('is not asked when its key is not the known one', async () => {
      knows('strangers');
      const answer = { code: 'engine_unreachable', message: expect.stringContaining('Host key verification failed') };
      await expect(at({ host: host(), certPath: null }).look()).rejects.toMatchObject(answer);
      knows('known');
    });

    it('says what ssh says of a machine that does not answer', async () => {
      const nobody = `ssh://${user}@${REMOTE}:${await freePort()}`;
      const answer = { code: 'engine_unreachable', message: expect.stringContaining('Connection refused') };
      await expect(at({ host: nobody, certPath: null }).look()).rejects.toMatchObject(answer);
    });

    it('takes no path for a command of the shell there', async () => {
      const made = join(folder, 'made');
      const strange = `ssh://${user}@${REMOTE}:${port}/tmp/x';touch$IFS${made};'`;
      await expect(at({ host: strange, certPath: null }).look()).rejects.toMatchObject({ code: 'engine_unreachable' });
      expect(() => readFileSync(made)).toThrow('ENOENT');
    });
  });
});

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, REMOTE, () => resolve(true));
    socket.on('connect', () => socket.destroy()).on('error', () => resolve(false));
  });
