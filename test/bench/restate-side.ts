import { AsyncLocalStorage } from 'node:async_hooks';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Runner } from '@openai/agents';
import type { Job, Side } from './side.js';
import { type Step, steppedAgent } from './stepped-agent.js';

/** Packages that the row needs and the project does not: they are installed for it alone. */
export const RESTATE_PACKAGES = ['@restatedev/restate-sdk', '@restatedev/restate-server'] as const;

const START_WITHIN_MS = 60_000;

interface Context {
  run<T>(name: string, work: () => Promise<T>): Promise<T>;
}

/** The same agent as a service of Restate, whose server runs beside it and keeps its journal on disk as it does by itself. */
export async function openRestate(job: Job): Promise<Side> {
  const restate = await import(RESTATE_PACKAGES[0]);
  const contexts = new AsyncLocalStorage<Context>();
  const step: Step = (name, work) => {
    const context = contexts.getStore();
    if (context === undefined) throw new Error('a step is taken inside of an invocation');
    return context.run(name, work);
  };
  const agent = steppedAgent(job.modelMs, step);
  const runner = new Runner({ tracingDisabled: true });
  const run = (context: Context, turns: number): Promise<unknown> =>
    contexts.run(context, async () => (await runner.run(agent, String(turns), { maxTurns: 10_000 })).finalOutput);
  const service = restate.service({ name: 'adder', handlers: { run } });
  // Its lines would be taken for what was measured.
  const endpoint = restate.endpoint().setLogger(() => {});
  const port: number = await endpoint.bind(service).listen(0);
  const server = await startServer(join(job.place.dataDir, 'restate'));
  await server.admin('deployments', { uri: `http://127.0.0.1:${port}` });
  const unmeasured = (): Promise<never> => Promise.reject(new Error('only whole runs are measured of Restate'));
  return {
    run: (turns) => server.ingress('adder/run', turns),
    ...{ start: unmeasured, pause: unmeasured, decide: unmeasured, ended: unmeasured },
    stop: async () => void server.stop(),
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a port was asked for');
  return address.port;
}

async function startServer(directory: string) {
  const binary = `${RESTATE_PACKAGES[1]}-${process.platform}-${process.arch}/bin/restate-server`;
  const [node, admin, ingress] = [await freePort(), await freePort(), await freePort()];
  const args = ['--base-dir', directory, '--listen-mode', 'tcp', '--bind-ip', '127.0.0.1', '--bind-port', String(node)];
  const child = spawn(createRequire(import.meta.url).resolve(binary), args, {
    env: {
      RESTATE_ADMIN__BIND_PORT: String(admin),
      RESTATE_INGRESS__BIND_PORT: String(ingress),
      RESTATE_DISABLE_TELEMETRY: 'true',
      RUST_LOG: 'error',
    },
    stdio: 'ignore',
  });
  process.once('exit', () => child.kill('SIGKILL'));
  const post = async (to: number, path: string, body: unknown): Promise<void> => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`http://127.0.0.1:${to}/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`Restate answered ${answer.status}: ${text}`);
  };
  const isThere = async (to: number, path: string): Promise<boolean> =>
    fetch(`http://127.0.0.1:${to}/${path}`).then(
      ({ ok }) => ok,
      () => false,
    );
  for (const until = performance.now() + START_WITHIN_MS; ; await sleep(50)) {
    if ((await isThere(admin, 'health')) && (await isThere(ingress, 'restate/health'))) break;
    if (child.exitCode !== null || performance.now() > until) throw new Error('the server of Restate does not start');
  }
  return {
    admin: (path: string, body: unknown) => post(admin, path, body),
    ingress: (path: string, body: unknown) => post(ingress, path, body),
    stop: () => child.kill('SIGKILL'),
  };
}
