import { randomBytes } from 'node:crypto';
import { Agent } from '@openai/agents';
import { afterAll, expect, it } from 'vitest';
import { askHumanTool, bashTool, defineAgent, functionModel } from '../../../src/index.js';
import { describeEachDatabase } from '../../harness/database.js';
import { BUSYBOX, DOCKER_HOST, describeDocker } from '../../harness/docker.js';
import { ADMIN, decideAndRest, engineFor, eventsOf, restOf, runToRest } from '../../harness/engine.js';
import { containersOn, leftOn, removeLeft } from '../../harness/on-docker.js';
import { call, resultsIn, say, scripted } from '../../harness/script.js';

/** Containers that are opened beside the first model call, so that the first command finds them at work. */

const environment = { image: BUSYBOX, openEarly: true as const, limits: { memoryMb: 128, maxProcesses: 64 } };
const tools = [bashTool(), askHumanTool()];
const grants = ['container:exec:shell', 'human:ask:question'];

/** What the engine has of the run while its model thinks. */
let waits: { readonly runId: () => string; readonly seen: string[] };
const thinker = functionModel('thinker', async ({ input }) => {
  const results = resultsIn(input);
  if (results.length > 0) return [say('done')];
  const isUp = async () => (await containersOn(DOCKER_HOST, waits.runId())).find(({ State }) => State === 'running');
  while ((await isUp()) === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
  waits.seen.push((await isUp())?.Id ?? '');
  return [call('bash', { command: 'echo works; hostname' }, 'b')];
});
const agent = (name: string, model: Agent['model'], changes: object = {}) =>
  defineAgent({ agent: new Agent({ name, model, tools }), grants, environment, ...changes });

const config = {
  dockerHost: DOCKER_HOST,
  dockerPatienceMs: 500,
  workerId: `early-${randomBytes(3).toString('hex')}`,
  agents: [
    agent('thinker', thinker),
    agent(
      'asker',
      scripted([[call('ask_human', { question: 'On?' }, 'ask')], [call('bash', { command: 'pwd' }, 'b')]]),
    ),
    agent('quick', scripted([[say('nothing to do')]])),
    agent('imageless', scripted([[say('nothing to do')]]), {
      environment: { image: 'holdfast-test/none:1', openEarly: true },
    }),
    agent('needy', scripted([[call('bash', { command: 'true' }, 'b')]]), {
      environment: { image: 'holdfast-test/none:1', openEarly: true },
    }),
  ],
};

describeDocker('containers that are opened early', () => {
  describeEachDatabase('by a worker', (kind) => {
    const t = engineFor(kind, config);
    const mine: string[] = [];
    const rest = async (name: string) => {
      const run = await runToRest(t.engine, name);
      mine.push(run.id);
      return run;
    };
    const gone = (runId: string) => expect.poll(() => leftOn(DOCKER_HOST, runId), { timeout: 30_000 }).toBe(0);
    afterAll(() => removeLeft(DOCKER_HOST, mine));

    it('are at work before the first command, are the same for all commands, and go with the run', async () => {
      let runId = '';
      waits = { runId: () => runId, seen: [] };
      const started = await t.engine.startRun({ agent: 'thinker', input: 'go' }, ADMIN);
      runId = started.id;
      mine.push(runId);
      expect(await restOf(t.engine, runId)).toMatchObject({ status: 'completed' });
      const [ended] = await eventsOf(t.engine, runId, 'call.finished');
      const stdout = JSON.stringify(ended?.data);
      expect(stdout).toContain('works');
      expect(stdout).toContain(waits.seen[0]?.slice(0, 12));
      await gone(runId);
    });

    it('are down while a run pauses, also one that pauses at once, and go on with it', async () => {
      const paused = await rest('asker');
      expect(paused.status).toBe('paused');
      const states = async () => (await containersOn(DOCKER_HOST, paused.id)).map(({ State }) => State);
      await expect.poll(states, { timeout: 30_000 }).toEqual(['exited']);
      expect(await decideAndRest(t.engine, paused.id, { verdict: 'answer', value: 'yes' })).toMatchObject({
        status: 'completed',
      });
      await gone(paused.id);
    });

    it('leave nothing of a run without commands, and are no failure of one that needs none', async () => {
      const [quick, imageless] = [await rest('quick'), await rest('imageless')];
      expect([quick.status, imageless.status]).toEqual(['completed', 'completed']);
      await gone(quick.id);
      await gone(imageless.id);
      expect(await rest('needy')).toMatchObject({ status: 'failed', error: { code: 'image_unknown' } });
    });
  });
});
