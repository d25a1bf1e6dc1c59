import { Agent } from '@openai/agents';
import { afterAll, expect, it } from 'vitest';
import { sha256 } from '../../../src/core/json.js';
import type { EventData } from '../../../src/core/log/event.js';
import { defineAgent, sweScaffold } from '../../../src/index.js';
import { BUSYBOX, DOCKER_HOST, describeDocker } from '../../harness/docker.js';
import { ADMIN, dataOf, engineFor } from '../../harness/engine.js';
import { removeLeft } from '../../harness/on-docker.js';
import { call, say, scripted } from '../../harness/script.js';

const bash = (command: string, id: string) => call('bash', { command }, id);

describeDocker('file changes of an environment', () => {
  const t = engineFor('pglite', {
    dockerHost: DOCKER_HOST,
    dockerPatienceMs: 500,
    agents: [
      defineAgent({
        agent: new Agent({
          name: 'writer',
          model: scripted([
            [bash('mkdir d; echo one >a.txt; echo two >"d/b c.txt"; exit 3', 'first')],
            [bash('echo ONE >a.txt; touch -d 2001-01-01 a.txt; rm "d/b c.txt"; ln -s a.txt link', 'second')],
            [
              call('create_file', { path: '/work/n.txt', text: 'n' }, 'third'),
              call('find_file', { path: '/work', name: 'x' }, 'none'),
            ],
            [bash('for i in 1 2 3 4 5 6; do echo $i >f$i; done; sleep 0.1', 'many')],
            [say('done')],
          ]),
        }),
        grants: ['container:exec:shell', 'container:read:/work/**', 'container:write:/work/**', 'tool:call:submit'],
        environment: { image: BUSYBOX, limits: { memoryMb: 64, maxProcesses: 64 }, fileChanges: { most: 4 } },
        scaffold: sweScaffold(),
      }),
    ],
  });
  const ids: string[] = [];
  afterAll(() => removeLeft(DOCKER_HOST, ids));

  it('are in the log, the trajectory and a replay, with the exit code of each command', async () => {
    const { id } = await t.engine.startRun({ agent: 'writer', input: 'go' }, ADMIN);
    ids.push(id);
    const run = await t.engine.getRun(id, ADMIN, { waitMs: 60_000 });
    expect(run).toMatchObject({ status: 'completed', output: 'done' });
    const written = (path: string, text: string) => ({
      ...{ path, change: 'written', digest: sha256(text), sizeBytes: Buffer.byteLength(text) },
    });
    const finished = (await dataOf(t.engine, id, 'call.finished')) as unknown as EventData<'call.finished'>[];
    const seen = new Map(finished.map(({ callId, workspace }) => [callId, workspace]));
    const whole = { cwd: '/work', more: 0, complete: true };
    expect(seen.get('first')).toEqual({ ...whole, files: [written('a.txt', 'one\n'), written('d/b c.txt', 'two\n')] });
    const removed = { path: 'd/b c.txt', change: 'removed', digest: null, sizeBytes: null };
    expect(seen.get('second')).toEqual({ ...whole, files: [written('a.txt', 'ONE\n'), removed] });
    expect([seen.get('third'), seen.get('none')].flatMap((one) => one?.files ?? [])).toContainEqual(
      written('n.txt', 'n'),
    );
    expect(seen.get('many')).toMatchObject({
      more: 2,
      files: [{ path: 'f1' }, { path: 'f2' }, { path: 'f3' }, { path: 'f4' }],
    });

    const { steps } = await t.engine.getTrajectory(id, ADMIN);
    expect(steps.map(({ state }) => state.exitCode)).toEqual([null, 3, 0, 0, 0]);
    expect(steps[2]?.state.files).toEqual([{ path: 'a.txt', digest: sha256('ONE\n') }]);
    expect(steps[0]?.observation[0]?.workspace).toEqual(seen.get('first'));
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true, complete: true });
    expect(await t.engine.replayRun(id, {}, ADMIN)).toMatchObject({ result: 'same', whole: true });
  });
});
