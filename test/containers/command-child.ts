import { DockerEngine } from '../../src/containers/docker/docker-engine.js';
import type { Command, EnvironmentIdentity } from '../../src/core/containers/environment.js';

/**
 * A process that runs one command in one environment and prints its outcome. Arguments: address, identity and command as JSON. In an
 * environment that verifies a run, the command judges, with the file `/tmp/tests/expected`.
 */

const [host = '', identity = '', command = ''] = process.argv.slice(2);
const place = {
  remove: ['/tmp/tests'],
  make: ['/tmp/tests'],
  files: [{ path: '/tmp/tests/expected', bytes: Buffer.from('effect\n'), mode: '600' }],
};
const engine = new DockerEngine({ host, certPath: null }, { patienceMs: 30_000 });
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
const outcome =
  parsed.purpose === 'verification'
    ? await environment.judge(asked, place, signal)
    : await environment.run(asked, signal);
process.stdout.write(`${JSON.stringify(outcome)}\n`);
process.exit(0);
