import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, expect, it } from 'vitest';
import { bashTool, defineAgent, type SubmitTask } from '../../src/index.js';
import { BUSYBOX, DOCKER_HOST, describeDocker } from '../harness/docker.js';
import { ADMIN, engineFor, restOf } from '../harness/engine.js';
import { describePodman, PODMAN_HOST } from '../harness/podman.js';
import { call, say, scripted } from '../harness/script.js';

/** Git makes of the files of a task, by the patch of an attempt, what the agent left. */

const dir = mkdtempSync(join(tmpdir(), 'holdfast-patches-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** Repositories in the workspace, names of one file, files in place of folders, and names that are hard to quote. */
const ODD = String.raw`
  mkdir -p sub/.git/refs sub/.GIT. out; echo x >sub/.git/config; echo x >sub/.GIT./x; echo y >sub/y; echo z >git~1
  ln hard aaa; ln out.txt zzz; echo more >>out.txt; chmod +x "a b"
  rm turns; mkdir turns; echo in >turns/in; rm -r tree; echo now >tree
  : >empty; : >'e m p t y '; printf 'a\r\nb' >crlf; echo q >'say "hi"'; echo u >ünï
  printf t >"$(printf 'tab\tline\nbreak')"; echo n >"$(printf 'no\377text')"; ln -s crlf soft; ln soft softer`;
/** More than a patch has room for. */
const MANY = String.raw`
  i=0; while [ $i -lt 12 ]; do head -c 1000000 /dev/zero | tr '\000' x >long$i; i=$((i+1)); done; echo small >zsmall`;

const INITIAL = {
  ...{ hard: 'hard\n', 'out.txt': 'out\n', 'big.txt': 'big\n'.repeat(300_000), 'a b': 'mode\n', turns: 'file\n' },
  ...{ 'tree/one': 'one\n', 'tree/two': 'two', 'old/.git/config': 'not for git\n' },
};

const agents = Object.entries({ odd: ODD, many: MANY }).map(([name, command]) =>
  defineAgent({
    agent: new Agent({
      name,
      model: scripted([[call('bash', { command }, 'work')], [say('done')]]),
      tools: [bashTool()],
    }),
    grants: ['container:exec:shell'],
  }),
);
const task = (agent: string): SubmitTask => ({
  agent,
  task: {
    ...{ name: 'patched', version: '1.0.0', category: 'test', difficulty: 'easy' as const, instruction: 'Work.' },
    environment: { image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64 } },
    initialFiles: INITIAL,
    verification: { tests: [{ name: 'says', command: 'echo tested' }] },
    artifacts: { patch: true, files: ['**'] },
  },
});

const filesBelow = (root: string): string[] =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));

const suite = (dockerHost: string): void => {
  const t = engineFor('pglite', { agents, dockerHost, artifacts: join(dir, 'store') });
  const executed = async (agent: string) => {
    const { runId } = await t.engine.submitTask(task(agent), ADMIN);
    expect(await restOf(t.engine, runId)).toMatchObject({ status: 'completed' });
    const { items, leftOut } = await t.engine.listArtifacts(runId, ADMIN);
    const read = async (name: string): Promise<Buffer> => {
      const pieces: Uint8Array[] = [];
      for await (const piece of (await t.engine.readArtifact(runId, name, ADMIN)).content) pieces.push(piece);
      return Buffer.concat(pieces);
    };
    const why = Object.fromEntries(leftOut.map((one) => [one.path, one.why]));
    return { items, why, read, patch: await read('patch.diff') };
  };
  const applied = (patch: Buffer): string => {
    const root = mkdtempSync(join(dir, 'tree-'));
    for (const [path, text] of Object.entries(INITIAL)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    const env = { ...process.env, GIT_CEILING_DIRECTORIES: dir };
    execFileSync('git', ['apply', '--whitespace=nowarn', '-'], { cwd: root, input: patch, env });
    return root;
  };

  it('are applied by git, whatever the agent did with files and names', async () => {
    const { items, why, read, patch } = await executed('odd');
    const root = applied(patch);
    const isOfGit = (path: string) => /\.git|git~1/i.test(path);
    const kept = items.filter(({ kind, path }) => kind === 'file' && !isOfGit(path) && !path.includes('\uFFFD'));
    expect(
      filesBelow(root)
        .filter((path) => !isOfGit(path))
        .sort(),
    ).toEqual(kept.map(({ path }) => path).sort());
    for (const { name, path } of kept) expect(readFileSync(join(root, path)).equals(await read(name)), path).toBe(true);
    expect(statSync(join(root, 'a b')).mode & 0o100).toBe(0o100);
    expect(why).toMatchObject({ soft: 'it is a link', softer: 'it is a link' });
    expect(Object.keys(why).sort()).toEqual([expect.stringMatching(/^no.*text$/), 'soft', 'softer']);
  });

  it('leave out files beyond their size, and keep the others', async () => {
    const { why, patch } = await executed('many');
    const root = applied(patch);
    expect(readFileSync(join(root, 'zsmall'), 'utf8')).toBe('small\n');
    expect(filesBelow(root).filter((path) => path.startsWith('long'))).toHaveLength(8);
    expect(Object.entries(why).filter(([path]) => path.startsWith('long'))).toHaveLength(4);
    expect(Object.values(why).every((text) => text === 'a patch has at most 8388608 bytes')).toBe(true);
  });
};
describeDocker('patches of attempts', () => suite(DOCKER_HOST));
describePodman('patches of attempts', () => suite(PODMAN_HOST));
