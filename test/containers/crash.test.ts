import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import type { Command, CommandOutcome, EnvironmentIdentity } from '../../src/core/containers/environment.js';
import { FEW_STRIDE } from '../harness/database.js';
import { DOCKER_HOST, describeDockerSlowly } from '../harness/docker.js';
import { countingProxy } from './counting-proxy.js';
import { commandId, never, newIdentity, openedFor, shell } from './environments.js';

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

  /** Whether the first process died at that piece. Where a run is verified, the command judges. */
  const lives = async (purpose: 'run' | 'verification', piece: number): Promise<boolean> => {
    const identity = { ...newIdentity(), purpose };
    const effects = purpose === 'run' ? '/work/effects' : '/tmp/effects';
    const said = purpose === 'run' ? 'echo effect' : 'cat /tmp/tests/expected';
    const command = shell(`${said} >>${effects}; echo out; sleep 0.1; echo err >&2; exit 3`, { timeoutSeconds: 5 });
    const proxy = await countingProxy(DOCKER_HOST);
    const first = start(proxy.host, identity, command);
    proxy.onPiece = (count) => {
      if (count === piece) first.kill();
    };
    const { signal } = await first.ended;
    await proxy.close();
    const again = async (asked: Command): Promise<CommandOutcome> =>
      JSON.parse((await start(DOCKER_HOST, identity, asked).ended).said);
    let outcome = await again(command);
    // One that judges is begun again under another id where it was cut off before its first byte.
    if (purpose === 'verification' && outcome.type === 'unknown')
      outcome = await again({ ...command, id: commandId() });
    expect(outcome, `after piece ${piece}`).toMatchObject({
      ...{ type: 'ended', exitCode: 3, timedOut: false },
      stdout: { text: 'out\n', omittedBytes: 0 },
      stderr: { text: 'err\n', omittedBytes: 0 },
    });
    const environment = await open(identity, true);
    const read = purpose === 'run' ? environment.read : environment.readOwn;
    expect(String((await read(effects, 1000, never)).bytes), `after piece ${piece}`).toBe('effect\n');
    return signal === 'SIGKILL';
  };

  it.each(['run', 'verification'] as const)(
    'leaves one effect and one outcome, whenever it dies: in a container for a %s',
    { timeout: 900_000 },
    async (purpose) => {
      let piece = 1;
      while (await lives(purpose, piece)) piece += EVERY;
      expect(piece).toBeGreaterThan(10);
    },
  );
});
