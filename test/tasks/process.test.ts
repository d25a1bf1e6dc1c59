import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SubmitTask } from '../../src/index.js';
import { BUSYBOX, DOCKER_HOST, describeDocker } from '../harness/docker.js';
import { ADMIN, openTestEngine, restOf, type TestEngine } from '../harness/engine.js';
import { obedient, told } from './obedient.js';

/** How an agent worked, and what its program prints, by the log of a real run. */

describeDocker('rules for the process', () => {
  let place: TestEngine;
  beforeAll(async () => {
    place = await openTestEngine('pglite', { agents: [obedient], retries: { most: 0 }, dockerHost: DOCKER_HOST });
  });
  afterAll(() => place.close());

  it('break a result by name, and outputs are compared line by line', async () => {
    const task = {
      ...{ name: 'prints', version: '1.0.0', category: 'shell', difficulty: 'easy' },
      instruction: told('printf "echo 4\\necho 5\\n" >sum; touch done', 'git push --force || true'),
      environment: { image: BUSYBOX, limits: { memoryMb: 64, maxProcesses: 64 } },
      expectedOutputs: ['4\n5\n', '4\n6\n'],
      antiHardcoding: { scanForExpectedOutputs: false },
      process: { requiredCommands: ['touch *'], forbiddenCommands: ['git push'], mostSteps: 100 },
      verification: {
        tests: [
          { name: 'right', command: 'sh sum', prints: 0 },
          { name: 'other', command: 'sh sum', prints: 1 },
        ],
      },
    };
    const { id, runId } = await place.engine.submitTask({ task, agent: 'obedient' } as SubmitTask, ADMIN);
    await restOf(place.engine, runId);
    const { reward } = await place.engine.getTrajectory(runId, ADMIN);
    expect(reward).toMatchObject({ reward: 0, verificationPassed: false });
    expect(reward?.reason).toContain('forbiddenCommands: git push (it ran "git push --force")');
    expect(reward?.reason).toContain('other (line 2 is "5" where "6" is expected)');
    expect(reward?.signals).toMatchObject({ 'process:forbiddenCommands: git push': 0, 'test:other': 0 });
    expect(Object.keys(reward?.signals ?? {})).not.toContain('test:right');
    expect(await place.engine.getTask(id, ADMIN)).toMatchObject({ status: 'completed' });
    expect(await place.engine.replayRun(runId, {}, ADMIN)).toMatchObject({ result: 'same' });
  });
});
