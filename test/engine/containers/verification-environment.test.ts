import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DockerEngine } from '../../../src/containers/docker/docker-engine.js';
import { environmentSpec } from '../../../src/core/containers/environment-spec.js';
import type { RunStatus } from '../../../src/core/runs/run.js';
import { instanceId } from '../../../src/storage/containers/environments.js';
import type { Database } from '../../../src/storage/database/database.js';
import { openDatabase } from '../../../src/storage/database/open-database.js';
import { insertRun } from '../../../src/storage/runs/runs.js';
import type { EnvironmentContext, EnvironmentOwner } from '../../../steps/containers/open-environment.js';
import { environmentOfCall } from '../../../steps/containers/run-environment.js';
import { settleEnvironments } from '../../../steps/containers/settle-environments.js';
import { environmentForVerification } from '../../../steps/verification/verification-environment.js';
import { createEngineDatabase, type TestDatabase } from '../../harness/database.js';
import { BUSYBOX, DOCKER_HOST, describeDocker } from '../../harness/docker.js';
import { containersOn, dockerOf, labelled, leftOn } from '../../harness/on-docker.js';

/** Where a run is judged: on its files, beside it, and gone with it. */

const docker = dockerOf(DOCKER_HOST);
const { signal } = new AbortController();

describeDocker('verification', () => {
  let place: TestDatabase;
  let db: Database;
  let world: EnvironmentContext;
  const engine = new DockerEngine({ host: DOCKER_HOST, certPath: null }, { patienceMs: 1000 });
  const owners: EnvironmentOwner[] = [];
  beforeAll(async () => {
    place = await createEngineDatabase('pglite');
    db = await openDatabase(place.options);
    world = { knex: db.knex, now: Date.now, environments: engine };
  });
  afterAll(async () => {
    const instance = await instanceId(db.knex);
    for (const { runId } of owners) {
      for (const purpose of ['run', 'verification'] as const)
        await engine.remove({ instance, runId, purpose, attempt: 1 }, signal);
    }
    await db.close();
    await place.drop();
  });

  const setStatus = (runId: string, status: RunStatus) =>
    db.knex('holdfast.runs').where({ id: runId }).update({ status });
  const running = async (security: object = {}): Promise<EnvironmentOwner> => {
    const runId = `run_${randomBytes(16).toString('hex')}`;
    await db.knex.transaction(async (trx) => {
      const agent = { agent: 'a', agentVersion: '1', agentHash: 'h', priority: 1, input: 'go' };
      const limits = { maxTurns: 1, maxTotalTokens: null, maxDurationMs: null };
      await insertRun(trx, { id: runId, tenant: 'default', ...agent, grants: [], limits, metadata: {} });
    });
    await setStatus(runId, 'running');
    const secrets = async () => new Map([['key', 'correct-horse-battery']]);
    const spec = environmentSpec.parse({
      ...{ image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64 }, secrets: ['key'], security },
    });
    const owner = { runId, tenant: 'default', spec, secrets };
    owners.push(owner);
    return owner;
  };
  const say = async (environment: ReturnType<typeof environmentOfCall>, text: string): Promise<string> =>
    (await environment.run(['sh', '-c', text])).stdout.text;
  const work = (owner: EnvironmentOwner, text: string, key = 'call') =>
    say(environmentOfCall(world, owner, `${owner.runId}:${key}`, signal), text);
  const judge = (owner: EnvironmentOwner, text: string, key = 'verify') =>
    say(environmentForVerification(world, owner, `${owner.runId}:${key}`, signal), text);
  const containersOf = ({ runId }: EnvironmentOwner) => containersOn(DOCKER_HOST, runId);

  it('that a worker was stopping when it stopped itself is not held for the whole of its lease', async () => {
    const owner = await running();
    await work(owner, 'echo done >answer');
    await setStatus(owner.runId, 'paused');
    await expect(settleEnvironments(world, AbortSignal.abort(new Error('the worker stops')))).rejects.toThrow();
    const kept = () => db.knex('holdfast.environments').where({ run_id: owner.runId }).first();
    const { state, lease_until: until } = await kept();
    expect({ state, soon: until.getTime() < Date.now() + 30_000 }).toEqual({ state: 'stopping', soon: true });
  });

  it('sees the files of the run without its secrets, stops it, and runs each command once', async () => {
    const owner = await running();
    expect(await work(owner, 'echo done >answer; ls /run/secrets')).toBe('key\n');
    const test = 'cat answer; ls /run/secrets 2>/dev/null; echo test >>tests; wc -l <tests';
    expect(await judge(owner, test)).toBe('done\n1\n');
    expect(await judge(owner, test)).toBe('done\n1\n');
    expect(await judge(owner, 'wc -l <tests', 'later')).toBe('1\n');
    const states = (await containersOf(owner)).map(({ Labels, State }) => `${Labels['holdfast.purpose']} ${State}`);
    expect(states.sort()).toEqual(['run exited', 'verification running']);
  });

  it('is in a container that the run never sees', async () => {
    const owner = await running();
    await work(owner, 'echo done >answer');
    await judge(owner, 'echo hidden >hidden_test');
    expect(await work(owner, 'ls', 'after')).toBe('answer\n');
  });

  it('of a run that has done nothing begins with nothing', async () => {
    const owner = await running();
    expect(await judge(owner, 'ls -A | wc -l; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "')).toBe('0\nlo\n');
    expect(await containersOf(owner)).toHaveLength(1);
  });

  it('is removed with its run, with the image of its root', async () => {
    const owner = await running({ readOnlyRoot: false });
    await work(owner, 'echo root >/anyone/file');
    expect(await judge(owner, 'cat /anyone/file')).toBe('root\n');
    const ofRun = labelled(owner.runId);
    expect(await docker.listImages(ofRun)).toHaveLength(1);
    expect(await settleEnvironments(world, signal)).toBe(0);
    await setStatus(owner.runId, 'completed');
    expect(await settleEnvironments(world, signal)).toBe(2);
    expect(await leftOn(DOCKER_HOST, owner.runId)).toBe(0);
    expect(await docker.listImages(ofRun)).toEqual([]);
    await expect(judge(owner, 'true')).rejects.toMatchObject({ code: 'environment_lost' });
  });
});
