import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, expect, it } from 'vitest';
import { createHttpServer } from '../../src/http/server.js';
import { bashTool, defineAgent, type SubmitTask } from '../../src/index.js';
import { BUSYBOX, DOCKER_HOST, describeDocker } from '../harness/docker.js';
import { ADMIN, dataOf, engineFor, restOf } from '../harness/engine.js';
import { call, say, scripted } from '../harness/script.js';
import { bearer, collectingLog, options } from '../http/door.js';

/** What is kept of an attempt: a patch, files and output, under their digests, until the run goes. */

const dir = mkdtempSync(join(tmpdir(), 'holdfast-artifacts-'));
afterAll(() => rmSync(dir, { recursive: true }));

const WORK = [
  'sed -i s/two/zwei/ notes; rm gone; mkdir -p out/deep; echo result >out/deep/a.log; echo new >fresh.txt',
  'chmod +x fresh.txt; ln -s /etc/passwd out/link.log; head -c 9000000 /dev/zero >out/big.log; mkfifo out/pipe.log',
  "printf 'a\\000b' >out/binary.log",
].join('; ');
const AGENTS = [
  defineAgent({
    agent: new Agent({
      name: 'worker',
      model: scripted([[call('bash', { command: WORK }, 'work')], [say('done')]]),
      tools: [bashTool()],
    }),
    grants: ['container:exec:shell'],
  }),
];
const task = (changes: object = {}): SubmitTask => ({
  agent: 'worker',
  task: {
    ...{ name: 'keeps', version: '1.0.0', category: 'test', difficulty: 'easy' as const },
    instruction: 'Work.',
    environment: { image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64 } },
    initialFiles: { notes: 'one\ntwo\nthree\n', gone: 'gone\n', kept: 'kept\n' },
    verification: {
      tests: [
        { name: 'says much', command: 'i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; echo bad >&2' },
        { name: 'spoils', command: 'echo spoilt >notes' },
      ],
      lint: 'echo clean',
    },
    artifacts: { patch: true, files: ['out/**/*.log'], commandOutput: true },
    ...changes,
  },
});

async function textOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(piece);
  return Buffer.concat(pieces).toString('latin1');
}

describeDocker('artifacts', () => {
  const t = engineFor('pglite', { agents: AGENTS, dockerHost: DOCKER_HOST, artifacts: dir });
  const execute = async (asked: SubmitTask) => {
    const { runId } = await t.engine.submitTask(asked, ADMIN);
    await restOf(t.engine, runId);
    return runId;
  };
  const read = async (runId: string, name: string) => textOf((await t.engine.readArtifact(runId, name, ADMIN)).content);

  it('the patch, chosen files and whole output of commands are kept with their digests, and go with the run', async () => {
    const runId = await execute(task());
    const { items, leftOut } = await t.engine.listArtifacts(runId, ADMIN);
    const named = items.map(({ name, kind, path, sizeBytes }) => [name, kind, path, sizeBytes]);
    expect(named).toEqual([
      ['file-1', 'file', 'out/binary.log', 3],
      ['file-2', 'file', 'out/deep/a.log', 7],
      ['patch.diff', 'patch', 'files of the task', expect.any(Number)],
      ['test-1.stdout', 'output', 'says much', expect.any(Number)],
      ['test-1.stderr', 'output', 'says much', 4],
      ['lint.stdout', 'output', 'lint', 6],
    ]);
    const why = Object.fromEntries(leftOut.map((one) => [one.path, one.why]));
    expect(why).toMatchObject({
      'out/link.log': 'it is a link',
      'out/pipe.log': 'it is no regular file',
      'out/big.log': expect.stringMatching(/bytes/),
      'out/binary.log': 'what is no text is in no patch',
    });
    // As the agent left it: no test had run.
    const patch = await read(runId, 'patch.diff');
    expect(patch).toContain('-two\n+zwei\n');
    expect(patch).toContain('diff --git a/fresh.txt b/fresh.txt\nnew file mode 100755\n');
    expect(patch).toContain('diff --git a/gone b/gone\ndeleted file mode 100644\n');
    expect(patch).not.toContain('kept');
    expect(await read(runId, 'file-2')).toBe('result\n');
    const output = await read(runId, 'test-1.stdout');
    expect([output.startsWith('line 0\n'), output.endsWith('line 2999\n')]).toEqual([true, true]);
    const [verified] = await dataOf(t.engine, runId, 'task.verified');
    expect(verified).toMatchObject({ artifacts: { items: items.map(({ sha256 }) => ({ sha256 })) } });
    // Of the evidence no more is kept than without artifacts.
    const [first] = (verified as { evidence: { tests: { stdout: string; omittedBytes: number }[] } }).evidence.tests;
    expect(first?.stdout.length).toBeLessThanOrEqual(4096);
    expect(first?.omittedBytes).toBe(output.length - (first?.stdout.length ?? 0));

    await expect(t.engine.readArtifact(runId, 'none', ADMIN)).rejects.toMatchObject({ code: 'artifact_unknown' });
    await expect(t.engine.listArtifacts(runId, { ...ADMIN, tenant: 'other' })).rejects.toMatchObject({
      code: 'run_unknown',
    });
    const small = items.find(({ name }) => name === 'file-2')?.sha256 ?? '';
    // A browser that opens one gets a file to save, of no type that it could show.
    const http = await createHttpServer(t.engine, options(collectingLog().log));
    const headers = bearer('vera');
    const answer = await fetch(`${http.url}/api/v1/runs/${runId}/artifacts/file-2`, { headers });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      ...{ 'content-type': 'application/octet-stream', 'x-content-type-options': 'nosniff' },
      ...{ 'content-disposition': "attachment; filename*=UTF-8''a.log", 'content-length': '7' },
    });
    expect(await answer.text()).toBe('result\n');
    await http.close(0);
    const verify = () => t.engine.verifyRun(runId, ADMIN);
    expect(await verify()).toMatchObject({ ok: true, artifacts: { whole: 6, wrong: [] } });
    writeFileSync(join(dir, runId, small), 'forged\n');
    rmSync(join(dir, runId, items.find(({ name }) => name === 'patch.diff')?.sha256 ?? ''));
    expect(await verify()).toMatchObject({
      ...{ ok: false, broken: null, complete: true },
      artifacts: {
        whole: 4,
        wrong: [{ name: 'file-2', what: expect.stringContaining('has other bytes') }, { name: 'patch.diff' }],
      },
    });
    await expect(read(runId, 'file-2')).rejects.toMatchObject({ code: 'artifact_damaged' });

    await t.engine.eraseRun(runId, { reason: 'asked' }, ADMIN);
    expect(await t.engine.listArtifacts(runId, ADMIN)).toEqual({ items: [], leftOut: [], more: 0 });
    expect(await verify()).toMatchObject({ ok: true, payloads: 'erased', artifacts: null });
    await expect.poll(() => readdirSync(dir), { timeout: 15_000 }).not.toContain(runId);
  });
});
