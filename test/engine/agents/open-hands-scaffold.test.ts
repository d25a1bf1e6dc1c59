import { randomBytes } from 'node:crypto';
import { Agent } from '@openai/agents';
import { afterAll, expect, it } from 'vitest';
import { askHumanTool, defineAgent, openHandsScaffold } from '../../../src/index.js';
import { condensed } from '../../../src/tools/openhands/open-hands-scaffold.js';
import { BUSYBOX, DOCKER_HOST, describeDocker, TOOLS } from '../../harness/docker.js';
import { ADMIN, BOB, dataOf, decideAndRest, engineFor, restOf } from '../../harness/engine.js';
import { removeLeft } from '../../harness/on-docker.js';
import { call, scripted } from '../../harness/script.js';

/** A model with the tools of OpenHands' CodeActAgent, in real containers. */

const grants = [
  ...['container:exec:shell', 'container:read:/work', 'container:read:/work/**', 'container:write:/work/**'],
  ...['tool:call:think', 'tool:call:finish', 'human:ask:question'],
];
const bash = (command: string, id: string, more: { is_input?: 'true'; timeout?: number } = {}) =>
  call('execute_bash', { command, ...more }, id);
const edit = (asked: Record<string, unknown>, id: string) => call('str_replace_editor', asked as never, id);
const cell = (code: string, id: string) => call('execute_ipython_cell', { code }, id);
const finish = [call('finish', { message: 'Done.' }, 'end')];

const agent = (name: string, outputs: Parameters<typeof scripted>[0], changes: object = {}, image = TOOLS) =>
  defineAgent({
    agent: new Agent({ name, model: scripted(outputs), tools: [askHumanTool()] }),
    ...{ grants, environment: { image, limits: { memoryMb: 256, maxProcesses: 64 } }, onDenied: 'tell' },
    ...{ scaffold: openHandsScaffold({ quietSeconds: 1, maxOutputBytes: 1000 }), ...changes },
  });

const config = {
  dockerHost: DOCKER_HOST,
  workerId: `hands-${randomBytes(3).toString('hex')}`,
  agents: [
    agent('session', [
      [bash('mkdir -p a/b; cd a/b; export X=1; y="two words"; f() { echo "f $1 $y"; }; (exit 3)', 'set')],
      [bash('pwd; echo $X; f 1; ls /nope', 'get')],
      [call('ask_human', { question: 'On?' }, 'ask')],
      [bash('pwd; f $X', 'after')],
      [bash('read -p "name? " name; echo "hello $name"; sleep 0.2; exit 7', 'reads')],
      [bash('echo too early', 'busy')],
      [bash('you', 'answer', { is_input: 'true', timeout: 20 })],
      [bash('echo "$name"', 'kept')],
      [bash('cat', 'cat', { timeout: 1 })],
      [bash('C-d', 'eof', { is_input: 'true', timeout: 20 })],
      [bash('sleep 600', 'sleep', { timeout: 1 })],
      [bash('C-c', 'interrupt', { is_input: 'true', timeout: 20 })],
      [bash('nothing', 'none', { is_input: 'true' })],
      [bash('head -c 3000 /dev/zero | tr "\\0" x', 'long')],
      [bash('if then', 'syntax')],
      [bash('echo one >>log', 'one'), bash('echo two >>log', 'two')],
      [bash('sort log; cd /; rm -r /work/a', 'gone')],
      [call('think', { thought: 'So.' }, 'think')],
      finish,
    ]),
    agent(
      'busybox',
      [
        [bash('cd /tmp; export A="it\'s"; echo "$A"', 'set')],
        [bash('pwd; echo "$A"; exit 4', 'get')],
        [bash('sleep 600', 'sleep', { timeout: 1 })],
        [bash('C-c', 'interrupt', { is_input: 'true', timeout: 20 })],
        [cell('1', 'python')],
        finish,
      ],
      {},
      BUSYBOX,
    ),
    agent('cells', [
      [
        cell(
          'import math\nclass P:\n    def __init__(self, x): self.x = x\ndef area(p): return math.pi * p.x\npath = P(2)\nsame = path',
          'define',
        ),
      ],
      [cell('same.x = 3\nround(area(path), 2)', 'use')],
      [cell('f = open("o.txt", "w"); f.write("text")\ndouble = lambda n: n * 2', 'file')],
      [call('ask_human', { question: 'On?' }, 'ask')],
      [cell('!cat o.txt\nprint(double(path.x), "f" in globals())', 'magic')],
      [cell('def broken(:', 'syntax')],
      [cell('x = 5\n1 / 0', 'raises')],
      [cell('x', 'kept')],
      [cell('import sys; sys.exit(2)', 'exits')],
      finish,
    ]),
    agent('edits', [
      [edit({ command: 'create', path: '/work/a.py', file_text: 'a = 1\nb = 2\nb = 2\n' }, 'create')],
      [edit({ command: 'create', path: '/work/a.py', file_text: 'x' }, 'again')],
      [edit({ command: 'str_replace', path: '/work/a.py', old_str: 'b = 2', new_str: 'c' }, 'twice')],
      [edit({ command: 'str_replace', path: '/work/a.py', old_str: 'a = 1', new_str: 'a = $&' }, 'replace')],
      [edit({ command: 'insert', path: '/work/a.py', insert_line: 1, new_str: 'new' }, 'insert')],
      [edit({ command: 'insert', path: '/work/a.py', insert_line: 9, new_str: 'new' }, 'beyond')],
      [
        edit({ command: 'view', path: '/work/a.py' }, 'view'),
        edit({ command: 'view', path: '/work/a.py', view_range: [2, -1] }, 'range'),
      ],
      [edit({ command: 'undo_edit', path: '/work/a.py' }, 'undo')],
      [edit({ command: 'undo_edit', path: '/work/a.py' }, 'undo-2')],
      [edit({ command: 'undo_edit', path: '/work/a.py' }, 'undo-3')],
      [bash('cat a.py; mkdir -p d/e/f; touch d/e/f/deep d/x .hidden; ln -s /etc out', 'cat')],
      [edit({ command: 'view', path: '/work' }, 'list')],
      [edit({ command: 'create', path: '/work/none/x', file_text: 'x' }, 'no-directory')],
      [
        edit({ command: 'view', path: '/work/out/passwd' }, 'link'),
        edit({ command: 'view', path: '/work/out' }, 'link-list'),
        edit({ command: 'create', path: '/work/out/x', file_text: 'x' }, 'link-write'),
        edit({ command: 'view', path: '/work/../etc/passwd' }, 'dots'),
        edit({ command: 'create', path: '/work/nul', file_text: 'a\u0000b' }, 'nul'),
        edit({ command: 'create', path: '/work/big', file_text: 'x'.repeat(200_000) }, 'big'),
      ],
      finish,
    ]),
  ],
};

describeDocker('the scaffold with the tools of OpenHands', () => {
  const t = engineFor('pglite', config);
  const mine: string[] = [];
  afterAll(() => removeLeft(DOCKER_HOST, mine));
  const rest = async (name: string) => {
    const { id } = await t.engine.startRun({ agent: name, input: 'go' }, ADMIN);
    mine.push(id);
    return restOf(t.engine, id);
  };
  /** What calls gave, of a run that ends with `finish`. */
  const saidBy = async (id: string) => {
    expect(await t.engine.getRun(id, ADMIN)).toMatchObject({ status: 'completed', output: 'Done.', error: null });
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
    expect(await t.engine.replayRun(id, {}, ADMIN)).toMatchObject({ differences: [] });
    return Object.fromEntries(
      (await dataOf(t.engine, id, 'call.finished')).map((one) => {
        const { callId, outcome } = one as { callId: string; outcome: { output?: unknown; message?: string } };
        return [callId, outcome.message ?? String(outcome.output)];
      }),
    );
  };
  const answered = async (name: string) => {
    const run = await rest(name);
    expect(run.status).toBe('paused');
    await decideAndRest(t.engine, run.id, { verdict: 'answer', value: 'yes' }, BOB);
    return saidBy(run.id);
  };

  it('has a shell session that stays, also where its container was stopped, and talks with a command at work', async () => {
    const said = await answered('session');
    const at = (cwd: string, code: number) =>
      `[Current working directory: ${cwd}]\n[Command finished with exit code ${code}]`;
    expect(said['set']).toBe(at('/work/a/b', 3));
    expect(said['get']).toMatch(/^\/work\/a\/b\n1\nf 1 two words\nls: [^\n]*\n\[Current/);
    expect(said['get']).toContain('exit code 2');
    expect(said['after']).toBe(`/work/a/b\nf 1 two words\n${at('/work/a/b', 0)}`);
    expect(said['reads']).toContain('[The command is still at work: exit code -1]');
    expect(said['busy']).toContain('A command is still at work in the session.');
    expect(said['answer']).toBe(`hello you\n${at('/work/a/b', 7)}`);
    expect(said['kept']).toBe(`you\n${at('/work/a/b', 0)}`);
    expect(said['cat']).toContain('exit code -1');
    expect(said['eof']).toBe(at('/work/a/b', 0));
    expect(said['sleep']).toContain('exit code -1');
    expect(said['interrupt']).toContain('exit code 130');
    expect(said['none']).toContain('No command is at work');
    expect(said['long']).toMatch(/^x{1000}\n\[2000 more bytes of the output are left out\.\]/);
    expect(said['syntax']).toContain('syntax error');
    expect([said['one'], said['two']]).toEqual(Array(2).fill(at('/work/a/b', 0)));
    expect(said['gone']).toBe(`one\ntwo\n${at('/', 0)}`);
    expect(said['think']).toBe('The thought was written down.');
  });

  it('keeps exported variables and the directory in a shell that is not bash', async () => {
    const { id } = await rest('busybox');
    const said = await saidBy(id);
    expect(said['get']).toBe("/tmp\nit's\n[Current working directory: /tmp]\n[Command finished with exit code 4]");
    expect(said['interrupt']).toMatch(/finished with exit code (130|143|137)/);
    expect(said['python']).toBe('[The image has no python3.]');
  });

  it('executes cells that share names, also where its container was stopped', async () => {
    const said = await answered('cells');
    expect(said['define']).toBe('[No output]');
    expect(said['use']).toBe('9.42\n');
    expect(said['file']).toBe('(Not kept for the next cell: f)\n');
    expect(said['magic']).toBe('text6 False\n');
    expect(said['syntax']).toContain('SyntaxError');
    expect(said['raises']).toContain('File "<cell>", line 2, in <module>\nZeroDivisionError');
    expect(said['raises']).not.toContain('<string>');
    expect(said['kept']).toBe('5\n');
    expect(said['exits']).toBe('[No output]');
  });

  it('edits files, takes edits back, and reaches no further than it was granted', async () => {
    const { id } = await rest('edits');
    const said = await saidBy(id);
    expect(said['create']).toBe('/work/a.py was created.');
    expect(said['again']).toContain('it is there already');
    expect(said['twice']).toContain('more than once, in lines 2 and 3');
    expect(said['replace']).toContain('     1\ta = $&\n');
    expect(said['insert']).toContain('     1\ta = $&\n     2\tnew\n     3\tb = 2');
    expect(said['beyond']).toContain('there is no line 9');
    expect(said['view']).toBe(
      '/work/a.py, lines 1 to 4 of 4:\n     1\ta = $&\n     2\tnew\n     3\tb = 2\n     4\tb = 2',
    );
    expect(said['range']).toMatch(/^\/work\/a.py, lines 2 to 4 of 4:\n {5}2\tnew/);
    expect(said['undo']).toContain('was taken back');
    expect(said['undo-2']).toContain('     1\ta = 1\n');
    expect(said['undo-3']).toContain('there is no edit of it to take back');
    expect(said['cat']).toMatch(/^a = 1\nb = 2\nb = 2\n\[/);
    expect(said['list']).toBe(
      '/work, two levels without hidden files:\n/work/a.py\n/work/d\n/work/d/e\n/work/d/x\n/work/out',
    );
    expect(said['no-directory']).toContain('cannot be edited: nothing can be written there');
    for (const id of ['link', 'link-list']) expect(said[id]).toContain('container:read:/etc');
    expect(said['link-write']).toContain('container:write:/etc/x');
    expect(said['dots']).toContain('not valid');
    expect(said['nul']).toContain('NUL');
    expect(said['big']).toContain('changes at most 100000 bytes');
  });
});

it('masks results between the first and the last items, and leaves calls as they are', () => {
  const items = Array.from({ length: 10 }, (_, at) => ({
    ...{ type: at % 2 === 0 ? 'function_call' : 'function_call_result', callId: `c${at >> 1}`, output: at },
  }));
  expect(condensed(items, 2, 4).map(({ output }) => (typeof output === 'number' ? output : 'masked'))).toEqual([
    ...[0, 1, 2, 'masked', 4, 'masked', 6, 7, 8, 9],
  ]);
  expect(condensed(items, 20, 20)).toEqual(items);
});

it.each([{ quietSeconds: 0 }, { condenser: { keepLast: 0 } }, { cellSeconds: 9999 }, { other: 1 }])(
  'options %j are refused',
  (options) => {
    expect(() => openHandsScaffold(options as never)).toThrow(expect.objectContaining({ code: 'agent_invalid' }));
  },
);
