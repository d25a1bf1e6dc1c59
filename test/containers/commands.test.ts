import Docker from 'dockerode';
import { expect, it } from 'vitest';
import { environmentName } from '../../src/core/containers/environment.js';
import { BUSYBOX, DOCKER_HOST, describeDocker, TOOLS } from '../harness/docker.js';
import { command, endedOf, never, newEngine, newIdentity, noSecrets, openedFor, shell } from './environments.js';

/** What a command comes to, the one that asks for it and however often. */

const docker = new Docker({ socketPath: DOCKER_HOST.slice('unix://'.length) });

describeDocker('commands', () => {
  const { open, run } = openedFor();

  it('gives exit code and both streams, and takes arguments as they are', async () => {
    const environment = await open(newIdentity());
    const text = 'printf "%s|" "$@"; echo oops >&2; exit 3';
    const outcome = await environment.run(command(['sh', '-c', text, 'sh', 'a b', '$HOME', "'", '']), never);
    expect(outcome).toMatchObject({
      ...{ type: 'ended', exitCode: 3, timedOut: false, outOfMemory: false },
      stdout: { text: "a b|$HOME|'||", omittedBytes: 0 },
      stderr: { text: 'oops\n', omittedBytes: 0 },
    });
  });

  it('runs a command once, the one that asks for it at the same time', async () => {
    const identity = newIdentity();
    const here = await open(identity);
    const there = await newEngine().open(identity, {
      begun: true,
      starting: async () => {},
      secrets: noSecrets,
      signal: never,
    });
    const asked = shell('echo run >>/work/effects; sleep 0.3; echo done');
    const outcomes = await Promise.all([here.run(asked, never), there.run(asked, never), here.run(asked, never)]);
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1);
    expect(endedOf(await there.run(asked, never)).stdout.text).toBe('done\n');
    expect(String((await here.read('/work/effects', 100, never)).bytes)).toBe('run\n');
  });

  it('keeps files from one command to the next, and variables not', async () => {
    const environment = await open(newIdentity());
    await environment.run(shell('x=1; echo kept >file'), never);
    const next = endedOf(await environment.run(shell('echo "$(cat file) $x"'), never));
    expect(next.stdout.text).toBe('kept \n');
  });

  it('keeps the beginning of what is printed, counts the rest, and fills no disk', async () => {
    const ended = await run({}, 'head -c 300000000 /dev/zero | tr "\\0" x; echo late >&2', { maxOutputBytes: 1000 });
    expect(ended.stdout.text).toBe('x'.repeat(1000));
    expect(ended.stdout.omittedBytes + ended.stdout.text.length).toBe(300_000_000);
    expect(ended).toMatchObject({ exitCode: 0, stderr: { text: 'late\n', omittedBytes: 0 } });
  });

  // Both have a `timeout` of their own.
  for (const image of [BUSYBOX, TOOLS]) {
    const at = (seconds: string) => `cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" "\\n" | grep -cx "${seconds}"`;
    const inSession =
      image === BUSYBOX
        ? 'setsid sleep 1001'
        : "python3 -c \"import os; os.setsid(); os.execlp(*['sleep'] * 2, '1001')\"";

    it(`ends a command of ${image} in time with all that it has started, also what left its session`, async () => {
      const environment = await open(newIdentity({ image }));
      const text = `${inSession} & (sleep 1002 &) ; trap "" TERM; sleep 1003; sleep 1003`;
      const ended = endedOf(await environment.run(shell(text, { timeoutSeconds: 1 }), never));
      expect(ended).toMatchObject({ timedOut: true, exitCode: expect.any(Number) });
      const left = endedOf(await environment.run(shell(at('100[123]')), never));
      expect(left.stdout.text).toBe('0\n');
    });

    it(`leaves what a command of ${image} started in the background at work, control of the one above`, async () => {
      const environment = await open(newIdentity({ image }));
      const began = endedOf(await environment.run(shell('sleep 1004 & echo began'), never));
      expect(began.stdout.text).toBe('began\n');
      const left = endedOf(await environment.run(shell(at('100[4]')), never));
      expect(left.stdout.text).toBe('1\n');
    });
  }

  const hides = {
    'has dropped its variables and its session': 'env -i setsid sh -c "while :; do echo x >>grown; sleep 0.05; done" &',
    'has taken the name of a command before it':
      'env HOLDFAST_COMMAND="$(cat name)" setsid sh -c "while :; do echo x >>grown; sleep 0.05; done" &',
    'has a name that looks like another field of its process':
      'cp /bin/busybox "busybox) S 1 1"; env -i setsid "./busybox) S 1 1" sh -c "while :; do echo x >>grown; sleep 0.05; done" &',
    'is always another process': [
      'printf "#!/bin/sh\necho x >>grown\nenv -i setsid ./hop &\n" >hop; chmod +x hop; env -i setsid ./hop &',
    ].join(''),
  };
  for (const [what, program] of Object.entries(hides)) {
    it(`ends what a command has started in time, although it ${what}`, async () => {
      const environment = await open(newIdentity());
      await environment.run(shell('echo "$HOLDFAST_COMMAND" >name; sleep 1004 &'), never);
      const ended = endedOf(await environment.run(shell(`${program} sleep 1003`, { timeoutSeconds: 1 }), never));
      expect(ended.timedOut).toBe(true);
      const grown = endedOf(await environment.run(shell('wc -c <grown; sleep 1; wc -c <grown'), never));
      const [before, after] = grown.stdout.text.trim().split('\n');
      expect(Number(before)).toBeGreaterThan(0);
      expect(after).toBe(before);
    });
  }

  it('ends at a timeout nothing that other commands have started', async () => {
    const environment = await open(newIdentity());
    const tick = (name: string) => `(while :; do echo x >>${name}; sleep 0.05; done) >/dev/null 2>&1 &`;
    await environment.run(shell(tick('before')), never);
    const timedOut = environment.run(shell('sleep 1003', { timeoutSeconds: 3 }), never);
    await environment.run(shell(`sleep 0.5; ${tick('beside')}`), never);
    const whole = environment.run(shell(`${tick('within')} sleep 5; echo whole`), never);
    expect(endedOf(await timedOut)).toMatchObject({ timedOut: true });
    expect(endedOf(await whole)).toMatchObject({ exitCode: 0, stdout: { text: 'whole\n' } });
    const sizes = 'wc -c before beside within | grep -v total';
    const grown = endedOf(await environment.run(shell(`${sizes}; sleep 1; ${sizes}`), never));
    const lines = grown.stdout.text.trim().split('\n');
    expect(new Set(lines).size, grown.stdout.text).toBe(6);
  }, 30_000);

  it('an exit code that looks like a timeout is none', async () => {
    const ended = await run({}, 'exit 124');
    expect(ended).toMatchObject({ exitCode: 124, timedOut: false });
  });

  it('a command whose container was stopped under it is unknown for good, and the next one runs', async () => {
    const identity = newIdentity();
    const environment = await open(identity);
    const asked = shell('echo begun >/work/began; sleep 1000');
    const outcome = environment.run(asked, never);
    while (!(await environment.read('/work/began', 10, never).catch(() => null)));
    await docker.getContainer(environmentName(identity)).kill();
    expect(await outcome).toEqual({ type: 'unknown' });
    expect(await environment.run(asked, never)).toEqual({ type: 'unknown' });
    expect(endedOf(await environment.run(shell('cat /work/began'), never)).stdout.text).toBe('begun\n');
  });

  it('what nothing inside can end is ended with its container', async () => {
    const environment = await open(newIdentity({ limits: { maxProcesses: 32 } }));
    // Without `timeout` nothing of the command ends it in time.
    const fork = 'bomb() { bomb | bomb & }; bomb; sleep 1000';
    const ended = endedOf(await environment.run(shell(fork, { timeoutSeconds: 1 }), never));
    expect(ended.exitCode).not.toBe(0);
    expect(endedOf(await environment.run(shell('echo works'), never)).stdout.text).toBe('works\n');
  });

  it('says that memory ran out, and not where it did not', async () => {
    const python = (mebibytes: number) => `python3 -c 'print(len(bytearray(${mebibytes} * 1024 * 1024)))'`;
    const full = await run({ image: TOOLS, limits: { memoryMb: 64 } }, python(200));
    expect(full).toMatchObject({ exitCode: 137, outOfMemory: true, timedOut: false });
    const enough = await run({ image: TOOLS, limits: { memoryMb: 400 } }, python(200));
    expect(enough).toMatchObject({ exitCode: 0, outOfMemory: false });
  });

  it('a program or a directory that is not there is an exit code, not a failure', async () => {
    const environment = await open(newIdentity());
    expect(endedOf(await environment.run(command(['/no/such/program']), never)).exitCode).not.toBe(0);
    const lost = endedOf(await environment.run(shell('true', { cwd: '/nowhere' }), never));
    expect(lost).toMatchObject({ exitCode: expect.any(Number), stderr: { text: expect.stringContaining('/nowhere') } });
    expect(lost.exitCode).not.toBe(0);
  });

  it('one command knows nothing of the records of another', async () => {
    const environment = await open(newIdentity());
    await environment.run(shell('true'), never);
    const seen = endedOf(await environment.run(shell('ls /.holdfast; echo "$?"'), never));
    expect(seen.stdout.text).toBe('1\n');
  });
});
