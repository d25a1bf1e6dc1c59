import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import type { Command, CommandOutcome, EnvironmentIdentity } from '../../src/core/containers/environment.js';
import { FEW_STRIDE } from '../harness/database.js';
import { DOCKER_HOST, describeDockerSlowly } from '../harness/docker.js';
import { countingProxy } from './counting-proxy.js';
import { never, newIdentity, openedFor, shell } from './environments.js';

/** The process that asks for a command dies at every instant; who comes next finds out what came of it. */

const start = (host: string, identity: EnvironmentIdentity, command: Command) => {
  const args = [
    'dist/programs/test/containers/command-child.js',
    host,
    JSON.stringify(identity),
    JSON.stringify(command),
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = once(child, 'close').then(([, signal]) => ({ signal, said }));
  return { kill: () => child.kill('SIGKILL'), ended };
};

/** Each piece of traffic is an instant; where the crash matrix is tried thinly, so is this. */
const EVERY = Number(process.env['HOLDFAST_CRASH_STRIDE'] ?? 24) >= FEW_STRIDE ? 4 : 1;

describeDockerSlowly('a process that dies around a command', () => {
  const { open } = openedFor();

  /** True: it died at that piece. */
  const lives = async (piece: number): Promise<boolean> => {
    const identity = newIdentity();
    const command = shell('echo effect >>/work/effects; echo out; sleep 0.1; echo err >&2; exit 3');
    const proxy = await countingProxy(DOCKER_HOST);
    const first = start(proxy.host, identity, command);
    proxy.onPiece = (count) => {
      if (count === piece) first.kill();
    };
    const { signal } = await first.ended;
    await proxy.close();
    const second = await start(DOCKER_HOST, identity, command).ended;
    const outcome: CommandOutcome = JSON.parse(second.said);
    expect(outcome, `after piece ${piece}`).toMatchObject({
      ...{ type: 'ended', exitCode: 3, timedOut: false },
      stdout: { text: 'out\n', omittedBytes: 0 },
      stderr: { text: 'err\n', omittedBytes: 0 },
    });
    const environment = await open(identity, true);
    const effects = await environment.read('/work/effects', 1000, never);
    expect(String(effects.bytes), `after piece ${piece}`).toBe('effect\n');
    return signal === 'SIGKILL';
  };

  it('leaves one effect and one outcome, whenever it dies', async () => {
    let piece = 1;
    while (await lives(piece)) piece += EVERY;
    expect(piece).toBeGreaterThan(10);
  }, 600_000);
});
