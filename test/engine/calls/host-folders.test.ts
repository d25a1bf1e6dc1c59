import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Agent } from '@openai/agents';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DockerEngine } from '../../../src/containers/docker/docker-engine.js';
import type { Caller } from '../../../src/core/caller.js';
import { aboveCeilings, ceilings } from '../../../src/core/containers/ceilings.js';
import { type EnvironmentInput, environmentSpec, specHashOf } from '../../../src/core/containers/environment-spec.js';
import { HostFolders } from '../../../src/engine/tasks/host-folders.js';
import { createEngine, defineAgent, type HoldfastConfig } from '../../../src/index.js';
import { aTask } from '../../core/tasks/a-task.js';
import { createEngineDatabase } from '../../harness/database.js';
import { say, scripted } from '../../harness/script.js';

const ADMIN: Caller = { actor: 'zoe', role: 'admin', tenant: 'acme' };
const OTTO: Caller = { actor: 'otto', role: 'operator', tenant: 'acme' };
const image = 'busybox';

describe('What an environment of a task is given', () => {
  let host: string;
  let dataDir: string;
  let close: () => Promise<void>;
  let submit: (name: string, environment: object, caller?: Caller) => Promise<string>;

  beforeAll(async () => {
    host = mkdtempSync('/tmp/holdfast-test-');
    for (const name of ['books', 'out', 'other']) mkdirSync(join(host, name));
    const database = await createEngineDatabase('pglite');
    // Not below /dev, of which no container is given anything in any case.
    dataDir = join(host, 'installed');
    cpSync(database.options.dataDir, dataDir, { recursive: true });
    symlinkSync(dataDir, join(host, 'books', 'data'));
    symlinkSync('/etc', join(host, 'books', 'etc'));
    symlinkSync(join(host, 'missing'), join(host, 'books', 'dangling'));
    symlinkSync(join(host, 'books'), join(host, 'shelf'));
    const config: HoldfastConfig = {
      // Of a rate, so that nothing begins.
      agents: [
        defineAgent({
          agent: new Agent({ name: 'rare', model: scripted([[say('done')]]) }),
          rate: { runs: 1, perMs: 3_600_000 },
        }),
      ],
      hostFolders: [join(host, 'shelf'), { path: join(host, 'out'), writable: true }, dataDir],
      ceilings: { memoryMb: 1024, allowedEgress: ['pypi.org', '*.example.org'] },
    };
    const engine = await createEngine({ ...config, databaseUrl: null, dataDir, role: 'api' });
    close = async () => {
      await engine.stop({ graceMs: 0 });
      await database.drop();
    };
    submit = async (name, environment, caller = ADMIN) => {
      const task = aTask({ name, environment: { image, ...environment } });
      return engine.submitTask({ task, agent: 'rare' }, caller).then(
        ({ status }) => status,
        (error: unknown) => {
          const { code, fields } = error as { code: string; fields: { pointer: string; detail: string }[] };
          return [code, ...fields.map(({ pointer, detail }) => `${pointer} ${detail}`)].join('\n');
        },
      );
    };
  });
  afterAll(async () => {
    await close();
    rmSync(host, { recursive: true, force: true });
  });

  const mounting = (source: string, readOnly = true) => ({ mounts: [{ source, target: '/given', readOnly }] });

  test('is a folder that the configuration names, also by a link to it, and nothing else of the host', async () => {
    expect(await submit('book', mounting(join(host, 'books')))).toBe('queued');
    expect(await submit('shelf', mounting(join(host, 'shelf')))).toBe('queued');
    expect(await submit('out', mounting(join(host, 'out'), false))).toBe('queued');
    for (const source of [join(host, 'other'), '/etc', host, join(host, 'books-of-others')])
      expect(await submit('other', mounting(source))).toContain('forbidden\n/task/environment/mounts/0/source');
    expect(await submit('written', mounting(join(host, 'books'), false))).toContain('read only');
  });

  test('is no socket and no pipe, also behind a link', async () => {
    const socket = join(host, 'books', 'engine.sock');
    const server = createServer().listen(socket);
    await once(server, 'listening');
    execFileSync('mkfifo', [join(host, 'books', 'pipe')]);
    symlinkSync(socket, join(host, 'books', 'to-socket'));
    for (const name of ['engine.sock', 'pipe', 'to-socket'])
      expect(await submit('socket', mounting(join(host, 'books', name)))).toContain('is a socket, a pipe or a device');
    server.close();
  });

  test('is never the data directory, named or behind a link, nor what a link leads to elsewhere', async () => {
    for (const source of [dataDir, join(dataDir, 'pg'), join(host, 'books', 'data'), join(host, 'books', 'data', 'pg')])
      expect(await submit('data', mounting(source)), source).toContain('data directory');
    expect(await submit('etc', mounting(join(host, 'books', 'etc')))).toContain('hostFolders');
    expect(await submit('dangling', mounting(join(host, 'books', 'dangling')))).toContain('leads nowhere');
  });

  test('is none of what Holdfast keeps elsewhere: exports, artifacts, checkpoints, recordings, and files of secrets and tokens', () => {
    const at = (name: string) => join(host, 'out', name);
    const config = {
      agents: [],
      dataDir,
      hostFolders: [join(host, 'out')],
      exportDir: at('exports'),
      checkpoints: at('notes.jsonl'),
      artifacts: at('artifacts'),
      recordTo: at('recordings'),
      dockerCertPath: at('certificates'),
    };
    const own = new HostFolders(config, [], [at('keys/openai')]);
    const problem = (source: string, of: 'task' | 'any' = 'task') =>
      own.problems(environmentSpec.parse({ image, ...mounting(source) }), of).get(0);
    const kept = ['exports', 'exports/acme', 'notes.jsonl', 'keys', 'keys/openai', 'artifacts/run_1'];
    for (const name of [...kept, 'recordings', 'certificates/key.pem'])
      for (const of of ['task', 'any'] as const) expect(problem(at(name), of), name).toContain('what Holdfast keeps');
    expect(problem(join(host, 'out'))).toContain('what Holdfast keeps');
    expect(problem(at('books'))).toBeUndefined();
    expect(problem(at('keys/of-others'))).toBeUndefined();
  });

  test('is refused in one way outside of these folders, which says nothing of what there is on the host', () => {
    const config = {
      agents: [],
      dataDir,
      hostFolders: [join(host, 'books')],
      exportDir: join(host, 'other', 'exports'),
    };
    const folders = new HostFolders(config, [], [join(host, 'out', 'key')]);
    symlinkSync('/nowhere', join(host, 'nowhere'));
    const said = (source: string) =>
      ['task', 'any'].map((of) =>
        folders.problems(environmentSpec.parse({ image, ...mounting(source) }), of as 'task' | 'any').get(0),
      );
    const places = [
      dataDir,
      join(dataDir, 'pg'),
      host,
      join(host, 'other'),
      join(host, 'out', 'key'),
      '/etc',
      '/etc/mtab',
    ];
    for (const source of [
      ...places,
      join(host, 'books', 'data'),
      join(host, 'books', 'etc'),
      join(host, 'nowhere'),
      '/none',
    ])
      for (const one of said(source))
        expect(one).toBe(
          `${source} is in no folder that the configuration names in hostFolders: ${join(host, 'books')}`,
        );
  });

  test('is looked at again before a container is made, when a link leads elsewhere by then', async () => {
    const folders = new HostFolders({ agents: [], dataDir, hostFolders: [join(host, 'books')] }, []);
    const engine = new DockerEngine(
      { host: 'unix:///nowhere/engine.sock', certPath: null },
      {
        patienceMs: 0,
        assertMounts: (spec) => folders.assertMounts(spec),
      },
    );
    const open = (source: string) => {
      const spec = environmentSpec.parse({ image, ...mounting(source) });
      const name = { instance: 'i', runId: 'run_1', purpose: 'run' as const, attempt: 1 };
      const identity = {
        ...name,
        source: name,
        spec,
        specHash: specHashOf(spec),
        deadline: '2100-01-01T00:00:00.000Z',
      };
      return engine.open(identity, {
        ...{ begun: false, signal: AbortSignal.timeout(1000) },
        starting: async () => undefined,
        secrets: async () => new Map(),
      });
    };
    mkdirSync(join(host, 'books', 'one'));
    expect(
      folders.problems(environmentSpec.parse({ image, ...mounting(join(host, 'books', 'one')) }), 'task').size,
    ).toBe(0);
    rmSync(join(host, 'books', 'one'), { recursive: true });
    symlinkSync(dataDir, join(host, 'books', 'one'));
    await expect(open(join(host, 'books', 'one'))).rejects.toMatchObject({ code: 'environment_failed' });
  });

  test('stays below the ceilings where an operator asks, and an admin may go beyond them', async () => {
    const beyond: readonly (readonly [string, Omit<EnvironmentInput, 'image'>])[] = [
      ['limits/memoryMb', { limits: { memoryMb: null } }],
      ['limits/memoryMb', { limits: { memoryMb: 2048 } }],
      ['limits/cpuCores', { limits: { memoryMb: 512, cpuCores: 64 } }],
      ['limits/maxProcesses', { limits: { memoryMb: 512, maxProcesses: null } }],
      ['snapshots/most', { limits: { memoryMb: 512 }, snapshots: { most: 6 } }],
      ['snapshots/keepHours', { limits: { memoryMb: 512 }, snapshots: { keepHours: 169 } }],
      ['bestEffort', { limits: { memoryMb: 512 }, bestEffort: true }],
      ['security/readOnlyRoot', { limits: { memoryMb: 512 }, security: { readOnlyRoot: false } }],
      ['security/allowedEgress/0', { limits: { memoryMb: 512 }, security: { allowedEgress: ['*.com'] } }],
    ];
    for (const [index, [pointer, environment]] of beyond.entries()) {
      const refused = await submit(`beyond-${index}`, environment, OTTO);
      expect(refused).toContain(`forbidden\n/task/environment/${pointer} `);
      expect(await submit(`beyond-${index}`, environment)).toBe('queued');
    }
    const disk = environmentSpec.parse({ image });
    expect(aboveCeilings(disk, ceilings.parse({ diskGb: 10 }))).toEqual(['/limits/diskGb']);
    expect(aboveCeilings(disk, ceilings.parse({}))).toEqual([]);
    const below = {
      limits: { memoryMb: 512 },
      snapshots: {},
      security: { allowedEgress: ['pypi.org', 'a.example.org'] },
    };
    expect(await submit('below', below, OTTO)).toBe('queued');
  });

  test.each([
    ['pypi.org', true],
    ['pypi.org:443', true],
    ['pypi.org:22', false],
    ['*.org', false],
    ['a.example.org:8080', true],
    ['a.example.org', false],
    ['*.b.example.org:8080', true],
    ['example.org:8080', false],
  ])('a rule of hosts is below a ceiling that lets all of it through: %s %s', (rule, isBelow) => {
    const spec = environmentSpec.parse({ image, security: { allowedEgress: [rule] } });
    const most = ceilings.parse({ allowedEgress: ['pypi.org', '*.example.org:8080'] });
    expect(aboveCeilings(spec, most)).toEqual(isBelow ? [] : ['/security/allowedEgress/0']);
  });
});
