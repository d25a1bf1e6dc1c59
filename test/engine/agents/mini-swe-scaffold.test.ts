import { randomBytes } from 'node:crypto';
import { Agent } from '@openai/agents';
import { afterAll, expect, it } from 'vitest';
import { defineAgent, functionModel, miniSweScaffold } from '../../../src/index.js';
import { BUSYBOX, DOCKER_HOST, describeDocker } from '../../harness/docker.js';
import { ADMIN, engineFor, eventsOf, runToRest } from '../../harness/engine.js';
import { removeLeft } from '../../harness/on-docker.js';
import { say } from '../../harness/script.js';

/** A model that answers with one code block a turn, in a real container. */

const block = (command: string, thought = 'THOUGHT: on.') => `${thought}\n\n\`\`\`bash\n${command}\n\`\`\``;
const TEXTS = [
  block('echo out; echo err >&2; export X=1; echo kept >a.txt; exit 3'),
  'I would rather talk.',
  `${block('echo one')}\n${block('echo two')}`,
  block('cat a.txt; echo "[$X]"'),
  block('head -c 3000 /dev/zero | tr "\\0" x'),
  block('echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; exit 1'),
  block('echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat a.txt'),
];

const heard: unknown[] = [];
const config = {
  dockerHost: DOCKER_HOST,
  workerId: `mini-${randomBytes(3).toString('hex')}`,
  agents: [
    defineAgent({
      agent: new Agent({
        name: 'mini',
        model: functionModel('mini', async ({ input, tools }) => {
          const items = Array.isArray(input) ? input : [];
          heard.push({ tools: tools.length, last: items.at(-1), first: items[0] });
          return [say(TEXTS[items.filter((item) => 'role' in item && item.role === 'assistant').length] ?? 'Lost.')];
        }),
      }),
      scaffold: miniSweScaffold({ outputChars: 1000 }),
      grants: ['container:exec:shell', 'tool:call:explain_format'],
      environment: { image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 32 } },
    }),
  ],
};

describeDocker('a model that acts by text', () => {
  const t = engineFor('pglite', config);
  const mine: string[] = [];
  afterAll(() => removeLeft(DOCKER_HOST, mine));

  it('executes one command a turn, hears its output as a message, and hands in what it prints behind the marker', async () => {
    const ended = await runToRest(t.engine, 'mini', 'Make a.txt.');
    mine.push(ended.id);
    expect(ended).toMatchObject({ status: 'completed', output: 'kept\n', turns: 7 });
    const said = heard.map((one) => (one as { last: { content: unknown } }).last.content);
    expect(JSON.stringify(said[0])).toContain('Solve this task:\\n\\nMake a.txt.');
    expect(said[1]).toBe('<returncode>3</returncode>\n<output>\nout\nerr\n</output>');
    expect(said[2]).toMatch(/^Your answer has 0 code blocks/);
    expect(said[3]).toMatch(/^Your answer has 2 code blocks/);
    expect(said[4]).toBe('<returncode>0</returncode>\n<output>\nkept\n[]\n</output>');
    expect(said[5]).toContain('<elided_chars>2000</elided_chars>');
    expect(said[6]).toMatch(/^<returncode>1<\/returncode>/);
    expect(heard.every((one) => (one as { tools: number }).tools === 0)).toBe(true);
    expect(heard[0]).toMatchObject({ first: { role: 'system' } });
    const calls = await eventsOf(t.engine, ended.id, 'call.finished');
    expect(calls.map(({ data }) => (data as { tool: string }).tool)).toEqual([
      'bash',
      'explain_format',
      'explain_format',
      'bash',
      'bash',
      'bash',
      'bash',
    ]);
    expect(await t.engine.verifyRun(ended.id, ADMIN)).toMatchObject({ ok: true });
    expect(await t.engine.replayRun(ended.id, {}, ADMIN)).toMatchObject({ differences: [] });
  });
});
