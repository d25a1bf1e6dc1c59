import { once } from 'node:events';
import { Agent } from '@openai/agents';
import Docker from 'dockerode';
import { bashTool, createEngine, defineAgent, functionModel, LOCAL_CALLER } from '../../src/index.js';
import { call, resultsIn, say } from '../harness/script.js';
import type { Place } from './place.js';

/** One process of a measurement of commands in containers: says how many milliseconds each took. */

interface CommandJob {
  readonly place: Place;
  readonly dockerHost: string;
  readonly image: string;
  readonly side: 'holdfast' | 'docker';
  readonly commands: number;
}

const { place, dockerHost, image, side, commands }: CommandJob = JSON.parse(process.argv[2] ?? '{}');
const COMMAND = 'echo enough';
const EXPECTED = 'enough\n';

/** From one question to the model to the next one: the model's step, the command's, and what is between them. */
async function inRun(): Promise<readonly number[]> {
  const asked: number[] = [];
  const model = functionModel('commands', async ({ input }) => {
    asked.push(performance.now());
    const results = resultsIn(input);
    const wrong = results.find(({ text }) => (JSON.parse(text) as { stdout: string }).stdout !== EXPECTED);
    if (wrong !== undefined) throw new Error(`a command said ${wrong.text}`);
    return results.length < commands ? [call('bash', { command: COMMAND }, `c${results.length}`)] : [say('enough')];
  });
  const engine = await createEngine({
    agents: [
      defineAgent({
        agent: new Agent({ name: 'worker', model, tools: [bashTool()] }),
        grants: ['container:exec:shell'],
        environment: { image },
        maxTurns: commands + 1,
      }),
    ],
    ...place,
    dockerHost,
    workerId: 'bench',
  });
  const { id } = await engine.startRun({ agent: 'worker', input: 'go' }, LOCAL_CALLER);
  const { status } = await engine.getRun(id, LOCAL_CALLER, { waitMs: 600_000 });
  if (status !== 'completed') throw new Error(`the run is ${status}`);
  await engine.stop();
  return asked.slice(1).map((at, index) => at - (asked[index] ?? at));
}

/** A container for each command, as `docker run --rm` makes it, without the start of a program for it. */
async function bare(): Promise<readonly number[]> {
  const docker = new Docker({ socketPath: dockerHost.slice('unix://'.length) });
  const taken: number[] = [];
  for (let n = 0; n < commands; n++) {
    const begun = performance.now();
    const container = await docker.createContainer({
      ...{ Image: image, Cmd: ['sh', '-c', COMMAND], HostConfig: { NetworkMode: 'none' } },
    });
    const stream = await container.attach({ stream: true, stdout: true, stderr: true });
    const said: Buffer[] = [];
    stream.on('data', (piece: Buffer) => said.push(piece));
    const over = Promise.all([container.wait(), once(stream, 'end')]);
    await container.start();
    const [{ StatusCode }] = (await over) as [{ StatusCode: number }, unknown];
    // A frame has eight bytes before its text.
    const text = Buffer.concat(said).subarray(8).toString();
    if (StatusCode !== 0 || text !== EXPECTED) throw new Error(`a command ended with ${StatusCode}: ${text}`);
    await container.remove();
    taken.push(performance.now() - begun);
  }
  return taken;
}

process.stdout.write(`${JSON.stringify(await (side === 'holdfast' ? inRun() : bare()))}\n`);
process.exit(0);
