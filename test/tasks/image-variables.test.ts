import { afterAll, beforeAll, expect, it } from 'vitest';
import type { SubmitTask } from '../../src/index.js';
import { DOCKER_HOST, describeDocker, TOOLS } from '../harness/docker.js';
import { ADMIN, dataOf, engineFor } from '../harness/engine.js';
import { dockerOf } from '../harness/on-docker.js';
import { obedient, told } from './obedient.js';
import { ownVersion } from './own-version.js';

/** An image whose variables have every program load files of the workspace, where the agent writes what it likes. */

const IMAGE = 'holdfast-test/variables:1';

const VARIABLES: Readonly<Record<string, string>> = {
  PATH: '/opt/linked:/work/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/more',
  PYTHONPATH: '/work/lib:/opt/python',
  NODE_OPTIONS: '--require=/work/lib/evil.js',
  BASH_ENV: '/work/lib/evil.sh',
  ENV: '/work/lib/evil.sh',
  LD_PRELOAD: '/work/lib/evil.so',
  LD_LIBRARY_PATH: '/work/lib',
  GIT_CONFIG_GLOBAL: '/work/lib/gitconfig',
  XDG_CONFIG_HOME: '/work/lib',
  CC: '/work/lib/cc',
  SHELL: '/work/lib/sh',
  RUSTC: '/work/lib/rustc',
  AWKPATH: '/work/lib',
  CPATH: '/work/lib:/opt/python',
  SPEC_OPTS: '-r/work/lib/evil.rb',
  TAR_OPTIONS: '--checkpoint-action=exec=/work/lib/evil.sh',
  GNUMAKEFLAGS: '--eval=x:=/work/lib',
  LUA_INIT_5_4: '@/work/lib/evil.lua',
  NODE_COMPILE_CACHE: '/work/lib',
  MAVEN_OPTS: '-javaagent:/work/lib/evil.jar',
  CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER: '/work/lib/evil.sh',
  LD: 'ld',
};

/** What is in the image beside that: a place of programs that leads into the workspace, and two that do not. */
const MAKE = `
mkdir -p /work /opt/more /opt/python /opt/mine && chown 1000:1000 /opt/mine && ln -s /work/bin /opt/linked
printf '#!/bin/sh\\necho more\\n' >/opt/more/more && chmod 755 /opt/more/more
echo 'NAME = "outside"' >/opt/python/outside.py
`;

const AGENT = [
  'mkdir -p bin lib; echo "import os; os._exit(0)" >lib/sitecustomize.py; echo "NAME = 5" >lib/inside.py',
  'echo "process.exit(0)" >lib/evil.js; echo "exit 0" >lib/evil.sh; echo no library >lib/evil.so',
  'printf "[alias]\\n  judge = !true\\n" >lib/gitconfig',
  // The last one: from here on its own commands find nothing else.
  'for name in sh bash env timeout rm mkdir cat python3 node git grep; do printf "#!/bin/bash\\nexit 0\\n" >bin/$name; done; chmod 755 bin/*',
].join(' && ');

const fails = (name: string, command: string | readonly string[]) => ({ name, command });

const FORGED = [
  fails('shell', 'exit 7'),
  fails('program', ['sh', '/tmp/tests/check.sh']),
  fails('bash', ['bash', '/tmp/tests/check.sh']),
  fails('python', ['python3', '-c', 'raise SystemExit(7)']),
  fails('node', ['node', '-e', 'process.exit(7)']),
  fails('git', ['git', 'judge']),
];

/** Says the variables of a test, and what it is to say. */
const HONEST = [
  {
    name: 'variables',
    command:
      'env; [ "$PYTHONPATH:$CPATH:$LD" = /opt/python:/opt/python:ld ] && ! env | grep -E "^[A-Z_]+=.*/work/lib" | grep -Ev "^(HOLDFAST_|OLDPWD=)"',
  },
  { name: 'places that stay', command: '[ "$(more)" = more ] && python3 -c "import outside"' },
  {
    name: 'what a test tries',
    command:
      '[ "$(/.holdfast/try /usr/bin/python3 -S -c "import inside; print(inside.NAME)")" = 5 ] && [ "$(/.holdfast/try /bin/sh -c "command -v git")" = /opt/linked/git ]',
  },
  {
    name: 'what a test changes',
    command: '[ "$(PYTHONPATH=/other /.holdfast/try /usr/bin/printenv PYTHONPATH)" = /other ]',
  },
];

describeDocker('variables of an image that point into the workspace', () => {
  const t = engineFor('pglite', { agents: [obedient], dockerHost: DOCKER_HOST });
  const docker = dockerOf(DOCKER_HOST);

  beforeAll(async () => {
    const made = await docker.createContainer({ Image: TOOLS, Entrypoint: [], Cmd: ['sh', '-c', MAKE], User: '0:0' });
    await made.start();
    expect(await made.wait()).toMatchObject({ StatusCode: 0 });
    const [repo, tag] = IMAGE.split(':');
    const changes = Object.entries(VARIABLES).map(([name, value]) => `ENV ${name}=${value}`);
    await made.commit({ repo, tag, changes } as never);
    await made.remove();
  });
  afterAll(() => docker.getImage(IMAGE).remove({ force: true }));

  const unset = Object.fromEntries(Object.keys(VARIABLES).map((name) => [name, '']));
  const verified = async (tests: readonly object[], environment: object = {}, commands = AGENT) => {
    const task = ownVersion({
      ...{ name: 'variables', version: '1.0.0', category: 'shell', difficulty: 'easy' as const },
      instruction: told(commands),
      environment: { image: IMAGE, limits: { memoryMb: 256, maxProcesses: 64 }, ...environment },
      verification: { files: { 'check.sh': 'exit 7\n' }, tests },
    });
    const { runId } = await t.engine.submitTask({ task, agent: 'obedient' } as unknown as SubmitTask, ADMIN);
    await t.engine.getRun(runId, ADMIN, { waitMs: 60_000 });
    const [found] = await dataOf(t.engine, runId, 'task.verified');
    return (found as never as { evidence: { tests: { name: string; share: number; stderr: string }[] } }).evidence
      .tests;
  };

  it('do not have a test load them', async () => {
    const tests = await verified(FORGED);
    expect(tests.map(({ name, share }) => [name, share])).toEqual(FORGED.map(({ name }) => [name, 0]));
    expect(tests.map(({ stderr }) => stderr).join()).not.toContain('ld.so');
  }, 90_000);

  it('are there again for what a test tries', async () => {
    const tests = await verified(HONEST);
    expect(tests).toMatchObject(HONEST.map(({ name }) => ({ name, share: 1 })));
  }, 90_000);

  it('nor does a directory of the agent in a root that can be written to', async () => {
    const program = 'printf "#!/bin/bash\\nexit 0\\n" >/opt/mine/sh && chmod 755 /opt/mine/sh';
    const env = { ...unset, PATH: '/opt/mine:/opt/more:/usr/bin:/bin' };
    const kept = { name: 'kept', command: ['sh', '-c', '[ "$PATH" = /opt/more:/usr/bin:/bin ]'] };
    const tests = await verified([FORGED[1] ?? {}, kept], { env, security: { readOnlyRoot: false } }, program);
    expect(tests.map(({ share }) => share)).toEqual([0, 1]);
  }, 90_000);

  it('nor does a place of the image that leads through a link of the agent', async () => {
    const program = [
      'ln -s /usr/bin chosen; mkdir evil; printf "#!/bin/bash\\nexit 0\\n" >evil/grep; chmod 755 evil/grep',
      'echo "ln -sfn /work/evil /work/chosen" >flip.sh',
    ].join(' && ');
    const env = { ...unset, PATH: '/proc/self/cwd/chosen:/usr/bin:/bin' };
    const flipped = { name: 'flipped', command: '/.holdfast/try sh flip.sh; grep -q yes /dev/null' };
    const tests = await verified([flipped], { env }, program);
    expect(tests.map(({ share }) => share)).toEqual([0]);
  }, 90_000);

  it('nor do those of the task', async () => {
    const env = { PYTHONPATH: '/work/lib', PATH: '/work/bin:/usr/bin:/bin' };
    const tests = await verified(FORGED.slice(0, 4), { image: TOOLS, env });
    expect(tests.map(({ share }) => share)).toEqual([0, 0, 0, 0]);
  }, 90_000);
});
