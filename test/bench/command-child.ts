import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from '@openai/agents';
import Docker from 'dockerode';
import { bashTool, createEngine, defineAgent, functionModel, LOCAL_CALLER } from 'holdfast';
import { call, resultsIn, say } from '../harness/script.js';
import type { Place } from './place.js';

/** One process of a measurement of commands in containers: says how many milliseconds each took, for each run. */

interface CommandJob {
  readonly place: Place;
  readonly dockerHost: string;
  readonly image: string;
  readonly side: 'holdfast' | 'early' | 'docker' | 'docker run';
  /** For so long the model thinks before its first call; in which a container that is opened early can start. */
  readonly thinksMs?: number;
  readonly runs: number;
  /** Of each run. */
  readonly commands: number;
}

const {
  place,
  dockerHost,
  image,
  side,
  runs,
  commands,
  thinksMs = 0,
}: CommandJob = JSON.parse(process.argv[2] ?? '{}');
const COMMAND = 'echo enough';
const EXPECTED = 'enough\n';

/** Milliseconds of each command of each run. */
type Took = readonly (readonly number[])[];

/** From each answer of the model to its next question: the model's step, the command's, and what is between them. */
async function inRuns(): Promise<Took> {
  const asked: number[] = [];
  const answered: number[] = [];
  const model = functionModel('commands', async ({ input }) => {
    asked.push(performance.now());
    const results = resultsIn(input);
    const wrong = results.find(({ text }) => (JSON.parse(text) as { stdout: string }).stdout !== EXPECTED);
    if (wrong !== undefined) throw new Error(`a command said ${wrong.text}`);
    if (results.length === 0) await sleep(thinksMs);
    answered.push(performance.now());
    return results.length < commands ? [call('bash', { command: COMMAND }, `c${results.length}`)] : [say('enough')];
  });
  const engine = await createEngine({
    agents: [
      defineAgent({
        agent: new Agent({ name: 'worker', model, tools: [bashTool()] }),
        grants: ['container:exec:shell'],
        environment: { image, ...(side === 'early' && { openEarly: true as const }) },
        maxTurns: commands + 1,
      }),
    ],
    ...place,
    dockerHost,
    workerId: 'bench',
  });
  const took: number[][] = [];
  for (let n = 0; n < runs; n++) {
    asked.length = 0;
    answered.length = 0;
    const { id } = await engine.startRun({ agent: 'worker', input: 'go' }, LOCAL_CALLER);
    const { status } = await engine.getRun(id, LOCAL_CALLER, { waitMs: 600_000 });
    if (status !== 'completed') throw new Error(`the run is ${status}`);
    took.push(asked.slice(1).map((at, index) => at - (answered[index] ?? at)));
    await gone(id);
  }
  await engine.stop();
  return took;
}

const docker = new Docker({ socketPath: dockerHost.slice('unix://'.length) });

/** What is cleared away after a run is no part of the next one. */
async function gone(runId: string): Promise<void> {
  const filters = { label: [`holdfast.run=${runId}`] };
  while ((await docker.listContainers({ all: true, filters })).length > 0) await sleep(50);
}

/** A container for each command. */
async function each(command: () => Promise<{ readonly code: number | null; readonly text: string }>): Promise<Took> {
  const took: number[][] = [];
  for (let n = 0; n < runs * commands; n++) {
    const begun = performance.now();
    const { code, text } = await command();
    if (code !== 0 || text !== EXPECTED) throw new Error(`a command ended with ${code}: ${text}`);
    took.push([performance.now() - begun]);
  }
  return took;
}

/** As `docker run --rm` makes it, without the start of a program for it. */
async function byApi() {
  const container = await docker.createContainer({
    ...{ Image: image, Cmd: ['sh', '-c', COMMAND], HostConfig: { NetworkMode: 'none' } },
  });
  const stream = await container.attach({ stream: true, stdout: true, stderr: true });
  const said: Buffer[] = [];
  stream.on('data', (piece: Buffer) => said.push(piece));
  const over = Promise.all([container.wait(), once(stream, 'end')]);
  await container.start();
  const [{ StatusCode }] = (await over) as [{ StatusCode: number }, unknown];
  await container.remove();
  // A frame has eight bytes before its text.
  return { code: StatusCode, text: Buffer.concat(said).subarray(8).toString() };
}

async function byProgram() {
  const args = ['--host', dockerHost, 'run', '--rm', '--network', 'none', image, 'sh', '-c', COMMAND];
  const program = spawn('docker', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  program.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  const [code] = (await once(program, 'close')) as [number | null];
  return { code, text };
}

const MEASURED = { holdfast: inRuns, early: inRuns, docker: () => each(byApi), 'docker run': () => each(byProgram) };

process.stdout.write(`${JSON.stringify(await MEASURED[side]())}\n`);
process.exit(0);
