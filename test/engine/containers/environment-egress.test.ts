import { randomBytes } from 'node:crypto';
import { Agent } from '@openai/agents';
import { expect, it } from 'vitest';
import { bashTool, defineAgent } from '../../../src/index.js';
import { DOCKER_HOST, describeDocker, TOOLS } from '../../harness/docker.js';
import { dataOf, engineFor, runToRest } from '../../harness/engine.js';
import { leftOn } from '../../harness/on-docker.js';
import { call, scripted } from '../../harness/script.js';

/** What a worker lets out of the containers of its runs, and says when it does not. */
const fetched = (url: string) =>
  `python3 -c 'import urllib.request; urllib.request.urlopen("${url}", timeout=10)' 2>&1 | tail -n 1`;
const METADATA = 'http://169.254.169.254/latest';
const said: { readonly values: object; readonly message: string }[] = [];
const quiet = () => {};

const config = {
  dockerHost: DOCKER_HOST,
  workerId: `box-${randomBytes(3).toString('hex')}`,
  log: {
    ...{ debug: quiet, info: quiet, error: quiet },
    warn: (values: object, message: string) => void said.push({ values, message }),
  },
  agents: [
    defineAgent({
      agent: new Agent({
        name: 'reacher',
        model: scripted([
          [call('bash', { command: fetched('http://evil.example/') }, 'unnamed')],
          [call('bash', { command: fetched(METADATA) }, 'private')],
        ]),
        tools: [bashTool()],
      }),
      grants: ['container:exec:shell'],
      environment: {
        image: TOOLS,
        limits: { memoryMb: 256 },
        security: { allowedEgress: ['169.254.169.254', '*.allowed.example'] },
      },
    }),
  ],
};

describeDocker('egress of runs', () => {
  const t = engineFor('pglite', config);

  it('is denied to what no rule names and to what is not public, and told', async () => {
    const run = await runToRest(t.engine, 'reacher');
    expect(run).toMatchObject({ status: 'completed' });
    const denied = 'urllib.error.HTTPError: HTTP Error 403: Forbidden\n';
    expect(await dataOf(t.engine, run.id, 'call.finished')).toMatchObject([
      { callId: 'unnamed', outcome: { output: { stdout: denied } } },
      { callId: 'private', outcome: { output: { stdout: denied } } },
    ]);
    expect(said.map(({ values }) => values)).toMatchObject([
      { runId: run.id, host: 'evil.example', port: 80, why: 'no rule of allowedEgress names it' },
      { runId: run.id, host: '169.254.169.254', port: 80, why: expect.stringContaining('not a public address') },
    ]);
    await expect.poll(() => leftOn(DOCKER_HOST, run.id), { timeout: 60_000 }).toBe(0);
  });
});
