import { randomBytes } from 'node:crypto';
import { Agent } from '@openai/agents';
import type Docker from 'dockerode';
import { afterAll, expect, it } from 'vitest';
import { z } from 'zod';
import { DockerEngine } from '../../../src/containers/docker/docker-engine.js';
import { environmentSpec, specHashOf } from '../../../src/core/containers/environment-spec.js';
import {
  askHumanTool,
  bashTool,
  containerEditTool,
  containerReadTool,
  defineAgent,
  defineTool,
  secret,
} from '../../../src/index.js';
import { literalSecret } from '../../../src/models/secrets/secret.js';
import { instanceId } from '../../../src/storage/containers/environments.js';
import { BUSYBOX, DOCKER_HOST, describeDocker } from '../../harness/docker.js';
import { ADMIN, decideAndRest, engineFor, eventsOf, restOf, runToRest } from '../../harness/engine.js';
import { containersOn, dockerOf, removeLeft, volumesOn } from '../../harness/on-docker.js';
import { call, scripted } from '../../harness/script.js';

/** Agents with a container of their own, from the first command to its removal. */

const docker = dockerOf(DOCKER_HOST);
const containersOf = (runId: string) => containersOn(DOCKER_HOST, runId);
const volumesOf = (runId: string) => volumesOn(DOCKER_HOST, runId);

async function until<T>(ask: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await ask();
    if (holds(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const environment = { image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64 } };
const tools = [bashTool(), containerEditTool(), containerReadTool(), askHumanTool()];
const grants = ['container:exec:shell', 'container:read:/work/**', 'container:write:/work/**', 'human:ask:question'];
const bash = (command: string, id: string) => call('bash', { command }, id);

/** Runs two commands in one call; dies between them as often as `deaths` says. */
const build = defineTool({
  name: 'build',
  description: 'Builds.',
  input: z.object({}),
  output: z.string(),
  effect: 'idempotent',
  capabilities: ['container:exec:shell'],
  execute: async (_input, { environment }) => {
    const first = await environment.run(['sh', '-c', 'echo one >>steps; wc -l <steps']);
    const second = await environment.run(['sh', '-c', 'echo two >>steps; wc -l <steps']);
    return `${first.stdout.text}${second.stdout.text}`;
  },
});

const agent = (name: string, outputs: Parameters<typeof scripted>[0], changes: object = {}) =>
  defineAgent({
    agent: new Agent({ name, model: scripted(outputs), tools: [...tools, build] }),
    ...{ grants, environment, ...changes },
  });

const config = {
  dockerHost: DOCKER_HOST,
  dockerPatienceMs: 500,
  workerId: `box-${randomBytes(3).toString('hex')}`,
  agents: [
    agent('files', [
      [call('edit', { path: '/work/a.txt', oldText: '', newText: 'one\ntwo\n' }, 'new')],
      [call('edit', { path: '/work/a.txt', oldText: 'two', newText: 'three' }, 'edit')],
      [bash('cat a.txt; echo warn >&2; exit 4', 'cat')],
      [call('read', { path: '/work/a.txt', firstLine: 2 }, 'read')],
    ]),
    agent(
      'replaced',
      [
        [
          bash(
            "printf 'a \\357\\277\\275 b' >real; printf 'a \\377 b' >bytes; printf '\\357\\277\\275 \\377' >both",
            'make',
          ),
        ],
        [call('edit', { path: '/work/real', oldText: 'a \uFFFD', newText: 'c' }, 'real')],
        [call('edit', { path: '/work/bytes', oldText: 'a', newText: 'c' }, 'bytes')],
        [call('edit', { path: '/work/both', oldText: '\uFFFD', newText: 'c' }, 'both')],
        [bash('cat real', 'cat')],
      ],
      { onDenied: 'tell' },
    ),
    agent('spaces', [
      [bash("printf x | tee b 'b ' >'b\t'", 'make')],
      [call('edit', { path: '/work/b ', oldText: 'x', newText: 'space' }, 'space')],
      [call('read', { path: '/work/b\t' }, 'read')],
      [bash("cat b 'b '", 'cat')],
    ]),
    agent('arguments', [
      [bash(`echo ${'語'.repeat(60_000)}`, 'long')],
      [bash('echo a\0b', 'nul')],
      [bash('echo still here', 'short')],
    ]),
    agent('asker', [
      [bash('echo kept >file; sleep 1000 & echo began', 'begin')],
      [call('ask_human', { question: 'On?' }, 'ask')],
      [bash('cat file; ps | grep -c "[s]leep 1000"', 'after')],
    ]),
    agent('slow', [[bash('echo run >>file; sleep 1.5; cat file', 's')]]),
    agent('builder', [[call('build', {}, 'build')]]),
    agent('denied', [[bash('true', 'b')]], { grants: [] }),
    agent('outside', [[call('read', { path: '/etc/passwd' }, 'r')]], { onDenied: 'tell' }),
    agent('linked', [[bash('ln -s /etc/passwd link', 'l')], [call('read', { path: '/work/link' }, 'r')]], {
      onDenied: 'tell',
    }),
    agent(
      'keyed',
      [
        [bash('cat /run/secrets/key; env; ls -l /run/secrets | cut -c1-10', 'k')],
        [call('ask_human', { question: 'On?' }, 'ask')],
        [bash('wc -c </run/secrets/key', 'again')],
      ],
      {
        environment: { ...environment, secrets: { key: literalSecret('correct-horse-battery') } },
      },
    ),
    defineAgent({
      agent: new Agent({
        ...{ name: 'cuts', tools: [bashTool({ maxOutputBytes: 1000 }), containerReadTool()] },
        model: scripted([
          [bash('printf %990s; cat /run/secrets/key; printf %990s >&2; cat /run/secrets/key >&2', 'cut')],
          [bash('fold -w 6 /run/secrets/key >/work/folded; { printf %1990s; cat /run/secrets/key; } >/work/long', 'w')],
          [call('read', { path: '/work/folded' }, 'folded')],
          [call('read', { path: '/work/long' }, 'long')],
        ]),
      }),
      ...{ grants, environment: { ...environment, secrets: { key: literalSecret('Pz61kTm8WcQv93JyLd05') } } },
    }),
    agent('keyless', [[bash('true', 'k')]], {
      environment: { ...environment, secrets: { key: secret.env('NO_SUCH_KEY') } },
    }),
    agent('bare', [[bash('true', 'b')]], { environment: undefined }),
    agent('imageless', [[bash('true', 'b')]], { environment: { image: 'holdfast-test/none:1' } }),
    agent('lost', [[bash('true', 'a')], [call('ask_human', { question: 'On?' }, 'ask')], [bash('true', 'b')]]),
  ],
};

describeDocker('agents with an environment', () => {
  const t = engineFor('pglite', config);
  const outcomes = async (runId: string) =>
    Object.fromEntries(
      (await eventsOf(t.engine, runId, 'call.finished')).map(({ data }) => {
        const { callId, outcome } = data as { callId: string; outcome: unknown };
        return [callId, outcome];
      }),
    );
  const mine: string[] = [];
  const rest = async (name: string) => {
    const run = await runToRest(t.engine, name);
    mine.push(run.id);
    return run;
  };
  afterAll(() => removeLeft(DOCKER_HOST, mine));

  it('edits, runs and reads in it, and leaves nothing', async () => {
    const run = await rest('files');
    expect(run).toMatchObject({ status: 'completed' });
    expect(await outcomes(run.id)).toEqual({
      new: { type: 'output', output: { sizeBytes: 8 } },
      edit: { type: 'output', output: { sizeBytes: 10 } },
      cat: { type: 'output', output: { exitCode: 4, stdout: 'one\nthree\n', stderr: 'warn\n' } },
      read: { type: 'output', output: { content: '2\tthree', totalLines: 2 } },
    });
    expect(await t.engine.verifyRun(run.id, ADMIN)).toMatchObject({ ok: true, complete: true });
    await until(
      () => containersOf(run.id),
      (left) => left.length === 0,
    );
    expect(
      await until(
        () => volumesOf(run.id),
        (left) => left.length === 0,
      ),
    ).toEqual([]);
  });

  it('edits a text with U+FFFD in it, and nothing that is no text', async () => {
    const run = await rest('replaced');
    const refused = { type: 'error', code: 'file_unwritable', message: expect.stringContaining('not text in UTF-8') };
    expect(await outcomes(run.id)).toMatchObject({
      ...{ real: { output: { sizeBytes: 3 } }, bytes: refused, both: refused },
      cat: { output: { exitCode: 0, stdout: 'c b' } },
    });
  });

  it('edits the file that is named, also where its name ends with a space', async () => {
    const run = await rest('spaces');
    expect(await outcomes(run.id)).toMatchObject({
      space: { output: { sizeBytes: 5 } },
      cat: { output: { exitCode: 0, stdout: 'xspace' } },
    });
  });

  it('tells the model of arguments that no program can have, and goes on', async () => {
    const run = await rest('arguments');
    expect(run.status).toBe('completed');
    expect(await outcomes(run.id)).toMatchObject({
      long: { type: 'error', message: expect.stringContaining('131071') },
      nul: { type: 'error', message: expect.stringContaining('NUL') },
      short: { output: { stdout: 'still here\n' } },
    });
  });

  it('costs no process while it is paused, and goes on with its files, also under another worker', async () => {
    const paused = await rest('asker');
    expect(paused.status).toBe('paused');
    const isDown = (left: Docker.ContainerInfo[]) => left.length === 1 && left[0]?.State === 'exited';
    await until(() => containersOf(paused.id), isDown);
    await t.restart();
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'answer', value: 'yes' });
    expect(done.status).toBe('completed');
    expect(await outcomes(paused.id)).toMatchObject({ after: { output: { stdout: 'kept\n0\n' } } });
    await until(
      () => containersOf(paused.id),
      (left) => left.length === 0,
    );
  });

  it('gives each command of a call its own record', async () => {
    const run = await rest('builder');
    expect(await outcomes(run.id)).toEqual({ build: { type: 'output', output: '1\n2\n' } });
  });

  it('a run that is cancelled leaves nothing', async () => {
    const paused = await rest('asker');
    await t.engine.cancelRun(paused.id, null, ADMIN);
    await until(
      () => containersOf(paused.id),
      (left) => left.length === 0,
    );
    await until(
      () => volumesOf(paused.id),
      (left) => left.length === 0,
    );
  });

  it('goes although its row was changed, and so do the others', async () => {
    const [broken, other] = [await rest('asker'), await rest('asker')];
    await t.between((knex) => knex('holdfast.environments').where({ run_id: broken.id }).update({ spec: 'no JSON' }));
    for (const { id } of [broken, other]) await t.engine.cancelRun(id, null, ADMIN);
    for (const { id } of [broken, other]) {
      await until(
        async () => [...(await containersOf(id)), ...(await volumesOf(id))],
        (left) => left.length === 0,
      );
    }
  });

  it('is not entered without a grant', async () => {
    const denied = await rest('denied');
    expect(denied).toMatchObject({ status: 'failed', error: { code: 'capability_denied' } });
    expect(await containersOf(denied.id)).toEqual([]);
    const outside = await rest('outside');
    expect(await outcomes(outside.id)).toMatchObject({ r: { type: 'refused', why: 'denied' } });
    const linked = await rest('linked');
    expect(await outcomes(linked.id)).toMatchObject({
      r: { type: 'refused', message: expect.stringContaining('/etc/passwd') },
    });
  });

  it('what fails with the container ends the run by name, and is never told to the model', async () => {
    const failed = async (name: string) => (await rest(name)).error?.code;
    expect(await failed('bare')).toBe('environment_missing');
    expect(await failed('imageless')).toBe('image_unknown');
    const paused = await rest('lost');
    for (const { Id } of await containersOf(paused.id)) await docker.getContainer(Id).remove({ force: true });
    const lost = await decideAndRest(t.engine, paused.id, { verdict: 'answer', value: 'yes' });
    expect(lost).toMatchObject({ status: 'failed', error: { code: 'environment_lost' } });
    await t.restart({ dockerHost: 'unix:///tmp/holdfast-no-engine.sock' });
    expect(await failed('files')).toBe('engine_unreachable');
    await t.restart();
  });

  it('is forked from before its first command, and not from after it', async () => {
    const run = await rest('builder');
    const events = await eventsOf(t.engine, run.id);
    const seqOf = (kind: string) => events.find((event) => event.kind === kind)?.seq ?? 0;
    await expect(t.engine.forkRun(run.id, { at: seqOf('call.finished') }, ADMIN)).rejects.toMatchObject({
      code: 'fork_invalid',
      message: expect.stringContaining('container'),
    });
    const fork = await t.engine.forkRun(run.id, { at: seqOf('model.responded') }, ADMIN);
    mine.push(fork.id);
    expect(await restOf(t.engine, fork.id)).toMatchObject({ status: 'completed' });
    expect(await outcomes(fork.id)).toEqual({ build: { type: 'output', output: '1\n2\n' } });
  });

  it('gives secrets as files in memory, which are in no answer and in nothing that an engine shows', async () => {
    const paused = await rest('keyed');
    expect(paused.status).toBe('paused');
    const found = (await outcomes(paused.id)) as { k: { output: { stdout: string } } };
    expect(found.k.output.stdout).toContain('[redacted]');
    expect(found.k.output.stdout).toContain('-rw-------');
    const shown = await Promise.all((await containersOf(paused.id)).map(({ Id }) => docker.getContainer(Id).inspect()));
    expect(JSON.stringify(shown)).toContain('/run/secrets');
    expect(JSON.stringify([shown, found, await eventsOf(t.engine, paused.id)])).not.toContain('correct-horse');
    const done = await decideAndRest(t.engine, paused.id, { verdict: 'answer', value: 'yes' });
    expect(done.status).toBe('completed');
    expect(await outcomes(paused.id)).toMatchObject({ again: { output: { stdout: '21\n' } } });
    expect(await rest('keyless')).toMatchObject({ status: 'failed', error: { code: 'secret_unreadable' } });
  });

  it('leaves no part of a secret where an output is cut, or where lines of a file are numbered', async () => {
    const { id, status } = await rest('cuts');
    expect(status).toBe('completed');
    const found = JSON.stringify(await outcomes(id));
    expect(found).toContain('more bytes of stdout');
    for (const part of ['Pz6', '1kTm', 'Qv93', 'Ld05']) expect(found).not.toContain(part);
  });

  it('what has no row and is past its deadline is removed, and nothing else', async () => {
    const engine = new DockerEngine({ host: DOCKER_HOST, certPath: null }, { patienceMs: 500 });
    const left = async (instance: string, deadlineMs: number) => {
      const runId = `run_${randomBytes(8).toString('hex')}`;
      const spec = environmentSpec.parse(environment);
      const deadline = new Date(deadlineMs).toISOString();
      const name = { instance, runId, purpose: 'run' as const, attempt: 1 };
      const identity = { ...name, source: null, spec, specHash: specHashOf(spec), deadline };
      await engine.open(identity, {
        begun: false,
        starting: async () => {},
        secrets: async () => new Map(),
        signal: new AbortController().signal,
      });
      mine.push(runId);
      return runId;
    };
    const hour = 3_600_000;
    // No one may remove what is late while it is still being made.
    const [late, early, foreign] = await t.between(async (knex) => {
      const database = await instanceId(knex);
      return [
        await left(database, Date.now() - hour),
        await left(database, Date.now() + hour),
        await left(`${database}x`, Date.now() - hour),
      ] as const;
    });
    await until(
      () => containersOf(late),
      (found) => found.length === 0,
    );
    await until(
      () => volumesOf(late),
      (found) => found.length === 0,
    );
    expect([await containersOf(early), await containersOf(foreign)]).toMatchObject([[{}], [{}]]);
  });

  it('a command whose container was stopped under it is asked about, and runs again when a person says so', async () => {
    const { id } = await t.engine.startRun({ agent: 'slow', input: 'go' }, ADMIN);
    mine.push(id);
    const [container] = await until(
      () => containersOf(id),
      (found) => found[0]?.State === 'running',
    );
    // The shell around it has the same words in its own line, and more.
    const began = async () => (await docker.getContainer(container?.Id ?? '').top()).Processes.flat();
    await until(began, (words) => words.includes('sleep 1.5'));
    await docker.getContainer(container?.Id ?? '').kill();
    const paused = await restOf(t.engine, id);
    expect(paused.status).toBe('paused');
    const done = await decideAndRest(t.engine, id, { verdict: 'approve' });
    expect(done.status).toBe('completed');
    expect(await outcomes(id)).toMatchObject({ s: { type: 'output', output: { stdout: 'run\nrun\n' } } });
  });
});
