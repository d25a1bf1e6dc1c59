import { DockerEngine } from '../../src/containers/docker/docker-engine.js';
import type { Command, EnvironmentIdentity } from '../../src/core/containers/environment.js';

/** A process that runs one command in one environment and prints what came of it. Arguments: address, identity and command as JSON. */

const [host = '', identity = '', command = ''] = process.argv.slice(2);
const engine = new DockerEngine(host, { patienceMs: 30_000 });
const { signal } = new AbortController();
const parsed: EnvironmentIdentity = JSON.parse(identity);
const asked: Command = JSON.parse(command);
const environment = await engine.open(parsed, {
  begun: false,
  starting: async () => {},
  secrets: async () => new Map(),
  lookLater: true,
  signal,
});
process.stdout.write(`${JSON.stringify(await environment.run(asked, signal))}\n`);
process.exit(0);
