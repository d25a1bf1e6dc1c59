import { randomBytes } from 'node:crypto';
import { Agent } from '@openai/agents';
import { afterAll, expect, it } from 'vitest';
import { defineAgent, functionModel, sweScaffold } from '../../../src/index.js';
import { BUSYBOX, DOCKER_HOST, describeDocker, TOOLS } from '../../harness/docker.js';
import { ADMIN, dataOf, engineFor, restOf } from '../../harness/engine.js';
import { removeLeft } from '../../harness/on-docker.js';
import { call, resultsIn, say, scripted } from '../../harness/script.js';

/** Work on code through windows, searches and edits, in real containers. */

const limits = { memoryMb: 256, maxProcesses: 64 };
const grants = ['container:exec:shell', 'container:read:/work/**', 'container:write:/work/**', 'tool:call:submit'];
const bash = (command: string, id: string) => call('bash', { command }, id);
const open = (path: string, id: string, line?: number) => call('open_file', { path, ...(line && { line }) }, id);
const edit = (path: string, firstLine: number, lastLine: number, text: string, id: string) =>
  call('edit_lines', { path, firstLine, lastLine, text }, id);
const create = (path: string, text: string, id: string) => call('create_file', { path, text }, id);

const agent = (name: string, outputs: Parameters<typeof scripted>[0], changes: object = {}, image = TOOLS) =>
  defineAgent({
    agent: new Agent({ name, model: scripted(outputs) }),
    ...{ grants, environment: { image, limits }, scaffold: sweScaffold({ windowLines: 10 }), ...changes },
  });

const program = Array.from({ length: 30 }, (_, index) => `x${index + 1} = ${index + 1}`).join('\n');
const shown: string[][] = [];

const config = {
  dockerHost: DOCKER_HOST,
  dockerPatienceMs: 500,
  workerId: `swe-${randomBytes(3).toString('hex')}`,
  agents: [
    agent('views', [
      [create('/work/a.py', program, 'new')],
      [open('/work/a.py', 'open')],
      [call('scroll', { path: '/work/a.py', firstLine: 1, direction: 'down' }, 'down')],
      [call('scroll', { path: '/work/a.py', firstLine: 9, direction: 'up' }, 'up')],
      [call('goto_line', { path: '/work/a.py', line: 15 }, 'goto')],
      [call('goto_line', { path: '/work/a.py', line: 99 }, 'far')],
      [open('/work/none', 'none')],
      [
        bash(
          'head -c 100 /dev/urandom >bin; mkdir sub; echo needle >sub/n.txt; echo "a needle" >m.txt; ln -s /etc/passwd out',
          'more',
        ),
      ],
      [open('/work/bin', 'bin')],
      [call('search_file', { path: '/work/a.py', text: 'x2' }, 'in-file')],
      [call('search_directory', { path: '/work', text: 'needle' }, 'in-dir')],
      [call('search_directory', { path: '/work', text: '-e' }, 'dash')],
      [call('find_file', { path: '/work', name: '*.txt' }, 'find')],
      [call('submit', { summary: 'Looked at everything.' }, 'done')],
      [say('never said')],
    ]),
    agent('edits', [
      [create('/work/a.py', 'def f():\n    return 1\n', 'new'), create('/work/c.json', '{"a": 1}', 'json')],
      [edit('/work/a.py', 2, 2, '    return (1', 'broken')],
      [bash('cat a.py; ls -A', 'kept')],
      [edit('/work/a.py', 2, 2, '    return 2', 'right'), edit('/work/c.json', 1, 1, '{"a": }', 'bad-json')],
      [edit('/work/a.py', 3, 2, '\nprint(f())', 'append')],
      [edit('/work/a.py', 9, 9, 'x', 'beyond'), edit('/work/none.py', 1, 1, 'x', 'none')],
      [bash('printf "one\\ntwo" >t.txt; chmod 750 t.txt; echo "if" >b.sh', 'open-end')],
      [edit('/work/t.txt', 3, 2, "it's $HOME `id` \\\\n", 'quoted'), edit('/work/b.sh', 1, 1, 'fi', 'was-broken')],
      [edit('/work/t.txt', 1, 1, '', 'delete')],
      [bash('python3 a.py; cat t.txt; stat -c %a t.txt; cat b.sh; ls -A', 'end')],
      [call('submit', { summary: 'Edited.' }, 'done')],
    ]),
    agent('node', [
      [create('/work/a.mjs', 'export const a = 1;\n', 'new'), create('/work/a.sh', 'echo a\n', 'sh')],
      [edit('/work/a.mjs', 1, 1, 'export const a = ;', 'broken'), edit('/work/a.sh', 1, 1, 'if then', 'sh-broken')],
      [call('submit', { summary: 'Kept.' }, 'done')],
    ]),
    agent(
      'small',
      [
        [create('/work/a.py', 'x = 1', 'new')],
        [edit('/work/a.py', 1, 1, 'x = (', 'unchecked'), call('find_file', { path: '/work', name: '?.py' }, 'find')],
        [edit('/work/a.py', 2, 1, 'y = 2', 'append')],
        [call('search_directory', { path: '/work', text: 'y = 2' }, 'search'), bash('cat a.py', 'cat')],
      ],
      {},
      BUSYBOX,
    ),
    agent(
      'denied',
      [
        [
          bash(
            'mkdir src; echo key >secret.txt; echo key >src/k.txt; ln -s /work/secret.txt src/l; ln -s / src/root',
            'make',
          ),
        ],
        [call('search_directory', { path: '/work/src', text: 'key' }, 'search')],
        [call('search_directory', { path: '/work/src/root', text: 'key' }, 'root')],
        [open('/work/src/l', 'link'), edit('/work/src/l', 1, 1, 'x', 'write')],
        [create('/work/new.txt', 'x', 'outside')],
      ],
      {
        grants: [
          ...grants.slice(0, 1),
          'container:read:/work/src/**',
          'container:read:/work/src',
          'container:write:/work/src/**',
          'tool:call:submit',
        ],
        onDenied: 'tell',
      },
      BUSYBOX,
    ),
    agent('racing', [
      [create('/work/a.txt', 'a\nb\nc\n', 'new')],
      [edit('/work/a.txt', 1, 1, 'A', 'first'), edit('/work/a.txt', 3, 3, 'C', 'second')],
      [bash('cat a.txt; ls -A', 'cat')],
    ]),
    defineAgent({
      agent: new Agent({
        name: 'forgets',
        model: functionModel('forgets', ({ input }) => {
          const results = resultsIn(input);
          shown.push(results.map(({ text }) => text));
          return results.length < 4
            ? [bash(`echo ${results.length}`, `c${results.length}`)]
            : [call('submit', { summary: 'x' })];
        }),
      }),
      ...{ grants, environment: { image: BUSYBOX, limits }, scaffold: sweScaffold({ lastObservations: 2 }) },
    }),
  ],
};

describeDocker('the scaffold for work on code', () => {
  const t = engineFor('pglite', config);
  const mine: string[] = [];
  afterAll(() => removeLeft(DOCKER_HOST, mine));
  const rest = async (name: string) => {
    const { id } = await t.engine.startRun({ agent: name, input: 'go' }, ADMIN);
    mine.push(id);
    return restOf(t.engine, id);
  };
  const said = async (id: string): Promise<Record<string, string>> =>
    Object.fromEntries(
      (await dataOf(t.engine, id, 'call.finished')).map((one) => {
        const { callId, outcome } = one as { callId: string; outcome: { output?: unknown; message?: string } };
        return [callId, outcome.message ?? String(outcome.output)];
      }),
    );

  it('shows files through a window, and finds what is in them', async () => {
    const run = await rest('views');
    expect(run).toMatchObject({ status: 'completed', output: 'Looked at everything.', turns: 14 });
    const found = await said(run.id);
    expect(found['open']).toMatch(/^\[\/work\/a.py, lines 1 to 10 of 30\]\n1: x1 = 1\n[\s\S]*\n\(20 lines below\)$/);
    expect(found['down']).toContain('lines 9 to 18 of 30]\n(8 lines above)\n9: x9 = 9');
    expect(found['up']).toContain('lines 1 to 10');
    expect(found['goto']).toContain('lines 15 to 24');
    expect(found['far']).toContain('there is no line 99');
    expect(found['none']).toContain('there is no such file');
    expect(found['bin']).toContain('not text in UTF-8');
    expect(found['in-file']).toMatch(/^11 lines of \/work\/a.py hold it\n2: x2 = 2\n20: /);
    expect(found['in-dir']).toBe('2 files hold it\n/work/m.txt:1:a needle\n/work/sub/n.txt:1:needle');
    expect(found['dash']).toBe('0 files hold it');
    expect(found['find']).toBe('2 files have such a name\n/work/m.txt\n/work/sub/n.txt');
    expect(await t.engine.getTrajectory(run.id, ADMIN)).toMatchObject({ scaffold: 'swe' });
  });

  it('edits lines, and refuses what would not parse any more', async () => {
    const run = await rest('edits');
    expect(run).toMatchObject({ status: 'completed', output: 'Edited.' });
    const found = await said(run.id);
    expect(found['broken']).toMatch(/would not parse any more, and is as it was\. [\s\S]*\/work\/a.py", line 2/);
    expect(found['kept']).toBe('def f():\n    return 1\na.py\nc.json\n');
    expect(found['right']).toContain('2:     return 2');
    expect(found['bad-json']).toContain('it is JSON, and would not be any more');
    expect(found['append']).toContain('4: print(f())');
    expect(found['beyond']).toContain('it has 4 lines');
    expect(found['none']).toContain('make it with create_file');
    expect(found['was-broken']).toContain('It does not parse.');
    expect(found['end']).toBe("2\ntwo\nit's $HOME `id` \\\\n\n750\nfi\na.py\nb.sh\nc.json\nt.txt\n");
  });

  it('knows what does not parse of other languages', async () => {
    const found = await said((await rest('node')).id);
    expect(found['broken']).toContain('SyntaxError');
    expect(found['sh-broken']).toContain('would not parse any more');
  });

  it('works with the programs of busybox, and does not refuse what nothing there can parse', async () => {
    const run = await rest('small');
    expect(run.status).toBe('completed');
    const found = await said(run.id);
    expect(found['unchecked']).toContain('1: x = (');
    expect(found['find']).toBe('1 files have such a name\n/work/a.py');
    expect(found['search']).toBe('1 files hold it\n/work/a.py:2:y = 2');
    expect(found['cat']).toBe('x = (\ny = 2\n');
  });

  it('reaches no further than it was granted, also through links', async () => {
    const found = await said((await rest('denied')).id);
    expect(found['search']).toBe('1 files hold it\n/work/src/k.txt:1:key');
    expect(found['root']).toContain('container:read:/');
    expect(found['link']).toContain('/work/secret.txt');
    expect(found['write']).toContain('/work/secret.txt');
    expect(found['outside']).toContain('Not allowed');
  });

  it('loses no edit of two at once: the later one is refused', async () => {
    const found = await said((await rest('racing')).id);
    const cat = found['cat'] ?? '';
    const refused = [found['first'], found['second']].filter((text) =>
      /was changed meanwhile|another call is editing it/.test(text ?? ''),
    );
    expect(['A\nb\nC\na.txt\n', 'A\nb\nc\na.txt\n', 'a\nb\nC\na.txt\n']).toContain(cat);
    expect(refused).toHaveLength(cat === 'A\nb\nC\na.txt\n' ? 0 : 1);
  });

  it('leaves out what was observed long ago, if it is told to', async () => {
    expect(await rest('forgets')).toMatchObject({ status: 'completed' });
    expect(shown.at(-1)).toEqual([
      ...['(An observation of long ago, left out.)', '(An observation of long ago, left out.)', '2\n', '3\n'],
    ]);
  });
});
