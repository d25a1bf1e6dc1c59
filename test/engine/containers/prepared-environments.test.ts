import { randomBytes } from 'node:crypto';
import { Agent } from '@openai/agents';
import type Docker from 'dockerode';
import { afterAll, expect, it } from 'vitest';
import { defineAgent, minimalScaffold, type Scaffold } from '../../../src/index.js';
import { BUSYBOX, DOCKER_HOST, describeDocker } from '../../harness/docker.js';
import { ADMIN, dataOf, engineFor, eventsOf, kindsOf, restOf, runToRest } from '../../harness/engine.js';
import { containersOn, removeLeft } from '../../harness/on-docker.js';
import { call, say, scripted } from '../../harness/script.js';

/** Scaffolds that prepare the container of a run before its first turn, and the one that ships with nothing to prepare. */

const containersOf = (runId: string) => containersOn(DOCKER_HOST, runId);

const environment = { image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64 } };
const grants = ['container:exec:shell', 'container:read:/work/**', 'container:write:/work/**'];
const bash = (command: string, id: string) => call('bash', { command }, id);

type Initialize = NonNullable<Scaffold['initialize']>;
const agent = (name: string, initialize: Initialize | null, outputs: Parameters<typeof scripted>[0], changes = {}) =>
  defineAgent({
    agent: new Agent({ name, model: scripted(outputs) }),
    ...{ grants, environment, ...changes },
    scaffold: { ...minimalScaffold(), ...(initialize && { initialize, name: 'prepared' }) },
  });

const sh = (script: string) => ['sh', '-c', script];
const show = [[bash('cat prepared written', 'show')]];

const config = {
  dockerHost: DOCKER_HOST,
  dockerPatienceMs: 500,
  workerId: `box-${randomBytes(3).toString('hex')}`,
  agents: [
    agent(
      'prepared',
      async (box) => {
        await box.run(sh('echo once >>prepared'));
        await box.write(`${box.workdir}/written`, Buffer.from('written\n'));
        const { exitCode } = await box.run(sh('[ $(wc -l <prepared) = 1 ]'));
        if (exitCode !== 0) throw new Error('it was prepared before');
      },
      show,
    ),
    agent('slow', (box) => box.run(sh('echo once >>prepared; sleep 3; touch written')).then(() => {}), show),
    agent(
      'failing',
      (box) => box.run(sh('exit 7')).then(({ exitCode }) => Promise.reject(new Error(`it says ${exitCode}`))),
      show,
    ),
    agent('imageless', (box) => box.run(sh('true')).then(() => {}), show, {
      environment: { image: 'holdfast-test/none:1' },
    }),
    agent('minimal', null, [
      [call('edit', { path: '/work/a.txt', oldText: '', newText: 'one\n' }, 'edit')],
      [call('read', { path: '/work/a.txt' }, 'read')],
      [bash('wc -c <a.txt', 'bash')],
    ]),
    agent('idle', null, [[say('Nothing to do.')]]),
  ],
};

describeDocker('environments that a scaffold prepares', () => {
  const t = engineFor('pglite', config);
  const mine: string[] = [];
  const start = async (name: string) => {
    const { id } = await t.engine.startRun({ agent: name, input: 'go' }, ADMIN);
    mine.push(id);
    return id;
  };
  const rest = async (name: string) => restOf(t.engine, await start(name));
  afterAll(() => removeLeft(DOCKER_HOST, mine));
  const until = async (id: string, holds: (found: Docker.ContainerInfo[]) => boolean) => {
    while (!holds(await containersOf(id))) await new Promise((resolve) => setTimeout(resolve, 50));
  };

  it('are prepared in one step before the first turn', async () => {
    const run = await rest('prepared');
    expect(run).toMatchObject({ status: 'completed' });
    expect((await kindsOf(t.engine, run.id)).slice(0, 4)).toEqual([
      ...['run.created', 'segment.started', 'environment.prepared', 'model.requested'],
    ]);
    expect(await dataOf(t.engine, run.id, 'environment.prepared')).toEqual([
      { image: BUSYBOX, scaffold: { name: 'prepared', version: '1' } },
    ]);
    expect(await dataOf(t.engine, run.id, 'call.finished')).toMatchObject([
      { outcome: { output: { stdout: 'once\nwritten\n' } } },
    ]);
    expect(await t.engine.verifyRun(run.id, ADMIN)).toMatchObject({ ok: true, complete: true });
    expect(await t.engine.replayRun(run.id, {}, ADMIN)).toMatchObject({ result: 'same' });
    const [, begun, prepared] = await eventsOf(t.engine, run.id);
    await expect(t.engine.forkRun(run.id, { at: prepared?.seq ?? 0 }, ADMIN)).rejects.toMatchObject({
      code: 'fork_invalid',
    });
    const fork = await t.engine.forkRun(run.id, { at: begun?.seq ?? 0 }, ADMIN);
    mine.push(fork.id);
    expect(await restOf(t.engine, fork.id)).toMatchObject({ status: 'completed' });
    expect(await dataOf(t.engine, fork.id, 'call.finished')).toMatchObject([
      { outcome: { output: { stdout: 'once\nwritten\n' } } },
    ]);
  });

  it('are prepared once, the one that dies over it', async () => {
    const id = await start('slow');
    await until(id, ([found]) => found?.State === 'running');
    await t.restart();
    expect(await restOf(t.engine, id)).toMatchObject({ status: 'completed' });
    expect(await dataOf(t.engine, id, 'call.finished')).toMatchObject([{ outcome: { output: { stdout: 'once\n' } } }]);
  });

  it('end the run by name where that fails, and leave nothing', async () => {
    const failed = await rest('failing');
    expect(failed).toMatchObject({
      ...{ status: 'failed', turns: 0 },
      error: { code: 'scaffold_failed', message: 'initialize of the scaffold prepared threw: it says 7.' },
    });
    expect(await rest('imageless')).toMatchObject({ status: 'failed', error: { code: 'image_unknown' } });
    const id = await start('slow');
    await until(id, ([found]) => found?.State === 'running');
    await t.engine.cancelRun(id, null, ADMIN);
    expect(await restOf(t.engine, id)).toMatchObject({ status: 'cancelled', turns: 0 });
    for (const over of [failed.id, id]) await until(over, (found) => found.length === 0);
  });

  it('are not made where there is nothing to prepare', async () => {
    const run = await runToRest(t.engine, 'idle');
    expect(run).toMatchObject({ status: 'completed' });
    expect(await kindsOf(t.engine, run.id)).not.toContain('environment.prepared');
    expect(await containersOf(run.id)).toEqual([]);
  });

  it('the minimal scaffold edits, reads and runs', async () => {
    const run = await rest('minimal');
    expect(run.status).toBe('completed');
    expect((await dataOf(t.engine, run.id, 'call.finished')).map(({ outcome }) => outcome)).toMatchObject([
      ...[{ output: { sizeBytes: 4 } }, { output: { content: '1\tone' } }, { output: { stdout: '4\n' } }],
    ]);
    expect(await t.engine.getTrajectory(run.id, ADMIN)).toMatchObject({ scaffold: 'minimal' });
  });
});
