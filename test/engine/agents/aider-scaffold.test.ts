import { randomBytes } from 'node:crypto';
import { Agent } from '@openai/agents';
import { afterAll, expect, it } from 'vitest';
import { type AiderScaffoldOptions, aiderScaffold, defineAgent, functionModel } from '../../../src/index.js';
import { BUSYBOX, DOCKER_HOST, describeDocker, TOOLS } from '../../harness/docker.js';
import { ADMIN, dataOf, engineFor, restOf } from '../../harness/engine.js';
import { removeLeft } from '../../harness/on-docker.js';
import { say } from '../../harness/script.js';

/** A model that writes edits into its answers, as with aider, in real containers. */

const GRANTS = [
  ...['container:exec:shell', 'container:read:/work/**', 'container:write:/work/**', 'tool:call:explain_format'],
  // The directory itself, for the map.
  'container:read:/work',
];
const block = (path: string, search: string, replace: string) =>
  `${path}\n\`\`\`python\n<<<<<<< SEARCH\n${search}=======\n${replace}>>>>>>> REPLACE\n\`\`\`\n`;
const diff = (path: string, hunk: string) => `\`\`\`diff\n--- ${path}\n+++ ${path}\n@@ ... @@\n${hunk}\`\`\`\n`;

/** What the model heard before each answer: all of it, and the end. */
const heard: Record<string, { all: string; last: string }[]> = {};
const SETUP = `git init -q . && git -c user.name=x -c user.email=x@x commit -q --allow-empty -m first`;

const agent = (
  name: string,
  answers: readonly string[],
  options: AiderScaffoldOptions = {},
  changes: {
    setup?: string;
    image?: string;
    grants?: (string | { capability: string; effect: 'deny' })[];
    maxTurns?: number;
  } = {},
) => {
  const scaffold = aiderScaffold(options);
  return defineAgent({
    agent: new Agent({
      name,
      model: functionModel(name, ({ input }) => {
        const items = Array.isArray(input) ? input : [];
        const turn = items.filter((item) => 'role' in item && item.role === 'assistant').length;
        const said = items.map((item) => ('content' in item && typeof item.content === 'string' ? item.content : ''));
        heard[name] = [...(heard[name] ?? []), { all: said.join('\n'), last: said.at(-2) ?? '' }];
        return [say(answers[turn] ?? 'Nothing more.')];
      }),
    }),
    scaffold: {
      ...scaffold,
      initialize: async (environment) => {
        await environment.run(['sh', '-c', changes.setup ?? SETUP]);
      },
    },
    ...{ grants: changes.grants ?? GRANTS, onDenied: 'tell', maxTurns: changes.maxTurns ?? 20 },
    environment: { image: changes.image ?? TOOLS, limits: { memoryMb: 256, maxProcesses: 64 } },
  });
};

const GREET = 'def greet():\\n    print("hi")\\n';
const files = `printf '${GREET}' >greet.py; printf 'from greet import greet\\ngreet()\\n' >main.py; mkdir docs; echo text >docs/a.md`;

const config = {
  dockerHost: DOCKER_HOST,
  workerId: `aider-${randomBytes(3).toString('hex')}`,
  agents: [
    agent(
      'works',
      [
        '/map',
        'I look at it.\n/add greet.py main.py',
        `I greet by name.\n\n${block('greet.py', 'def greet():\n    print("hello")\n', 'def greet(name):\n    print(name)\n')}`,
        `Once more.\n\n${block('greet.py', 'def greet():\n    print("hi")\n', 'def greet(name):\n    print("hi", name\n')}`,
        `The bracket.\n\n${block('greet.py', 'print("hi", name\n', 'print("hi", name)\n')}`,
        `The call.\n\n${block('main.py', 'greet()\n', 'greet("you")\n')}${block('tests/new/test_greet.py', '', 'print("tested")\n')}`,
      ],
      { test: 'python3 main.py', maxReflections: 5 },
      {
        setup: `${SETUP}; ${files}; git add .; git -c user.name=x -c user.email=x@x commit -qm files; echo '# mine' >>main.py`,
      },
    ),
    agent(
      'diffs',
      [diff('greet.py', '-    print("hi")\n+    print("ho")\n'), 'Done.'],
      { editFormat: 'udiff', untilAnswer: true, lint: { '.py': 'grep -n ho' } },
      { setup: files },
    ),
    agent('small', ['a.txt\n```\none\ntwo\n```\n'], { editFormat: 'whole' }, { image: BUSYBOX, setup: 'true' }),
    agent('stubborn', Array(9).fill(block('none.py', 'a\n', 'b\n')), { maxReflections: 2 }),
    agent('shapeless', ['<<<<<<< SEARCH\na\n', block('a.txt', '', 'a\n')]),
    agent(
      'hostile',
      [
        block('../etc/passwd', 'root\n', 'x\n'),
        block('/etc/passwd', 'root\n', 'x\n'),
        block('out/x', '', 'x\n'),
        block('link', 'secret\n', 'x\n'),
        block('a\u0000b', '', 'x\n'),
        `${block('$(touch pwned).py', '', 'x = 1\n')}${block("-e'`touch pwned`.py", '', 'x = 1\n')}`,
        '/add ../etc/passwd\n/add out/passwd\n/add link',
        block('a.py', '', 'x\n').repeat(101),
        block('a.py', '', `${'x'.repeat(200_000)}\n`),
        block('a/b/c.py', '', 'x = 1\n'),
        '/map',
      ],
      { maxReflections: 50, untilAnswer: true },
      {
        setup: `${SETUP}; ln -s /etc out; mkdir priv; echo secret >priv/s; ln -s priv/s link; echo f >a; printf '#!/bin/sh\\ntouch hooked\\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit`,
        grants: [
          ...GRANTS,
          { capability: 'container:write:/work/priv/**', effect: 'deny' },
          { capability: 'container:read:/work/priv/**', effect: 'deny' },
        ],
      },
    ),
  ],
};

describeDocker('the scaffold that works like aider', () => {
  const t = engineFor('pglite', config);
  const mine: string[] = [];
  afterAll(() => removeLeft(DOCKER_HOST, mine));
  const rest = async (name: string) => {
    const { id } = await t.engine.startRun({ agent: name, input: 'Greet by name.' }, ADMIN);
    mine.push(id);
    return restOf(t.engine, id);
  };
  const proven = async (id: string) => {
    expect(await t.engine.verifyRun(id, ADMIN)).toMatchObject({ ok: true });
    expect(await t.engine.replayRun(id, {}, ADMIN)).toMatchObject({ differences: [] });
  };

  it('adds files, makes edits, commits them, and has what is wrong mended', async () => {
    const run = await rest('works');
    const [first, mapped, added, unmatched, unparsed, untested] = heard['works'] ?? [];
    expect(first?.all).toContain('No files are in the chat yet.');
    expect(mapped?.all).toContain('greet.py:\n1│def greet():');
    expect(mapped?.all).toContain('docs/a.md');
    expect(added?.all).toContain('greet.py\n```\ndef greet():\n    print("hi")\n```');
    expect(added?.all).toContain('main.py is in the chat.');
    expect(unmatched?.last).toContain('1 edit was not made');
    expect(unmatched?.last).toContain(
      'Did you mean these, as they stand there?\n```\ndef greet():\n    print("hi")\n```',
    );
    expect(unparsed?.last).toContain('Mend what the check of the files says');
    expect(unparsed?.last).toContain('SyntaxError');
    expect(unparsed?.all).toContain('print("hi", name\n```');
    expect(untested?.last).toContain('Mend what makes the tests fail');
    expect(untested?.last).toContain('TypeError');
    expect(run).toMatchObject({
      status: 'completed',
      turns: 6,
      output: expect.stringMatching(/^Edited: .* Commit [0-9a-f]{7}\.$/),
    });
    await proven(run.id);
    const { steps } = await t.engine.getTrajectory(run.id, ADMIN);
    expect(JSON.stringify(steps)).toContain('def greet(name)');
  });

  it('applies diffs, tells what a linter of the agent says, and works without git in a small image', async () => {
    const diffs = await rest('diffs');
    expect(diffs).toMatchObject({ status: 'completed', output: 'Done.', turns: 2 });
    expect(heard['diffs']?.[1]?.last).toBe('Edited: /work/greet.py.');
    const small = await rest('small');
    expect(small).toMatchObject({ status: 'completed', output: 'Edited: /work/a.txt.' });
    await proven(diffs.id);
  });

  it('gives up after so many answers, and tells a model how to write edits', async () => {
    expect(await rest('stubborn')).toMatchObject({
      ...{
        status: 'completed',
        turns: 3,
        output: expect.stringContaining('This was mended 2 times, and is left as it is.'),
      },
    });
    expect(await rest('shapeless')).toMatchObject({ status: 'completed', turns: 2 });
    expect(heard['shapeless']?.[1]?.last).toContain(
      'The answer cannot be read, and nothing of it was done. A block has no name of a file.',
    );
  });

  it('edits nothing that it was not granted, and runs nothing that stands in names', async () => {
    const run = await rest('hostile');
    const told = (heard['hostile'] ?? []).map(({ last }) => last);
    expect(told.slice(1, 3)).toEqual(Array(2).fill('Not allowed: no grant covers it'));
    expect(told[3]).toContain('/etc/x');
    expect(told[4]).toContain('/work/priv/s');
    expect(told[8]).toContain('has 101 edits');
    expect(told[9]).toContain('changes at most 100000 bytes');
    expect(told[10]).toContain('no file that can be read');
    expect(run.status).toBe('completed');
    const calls = await dataOf(t.engine, run.id, 'call.finished');
    expect(JSON.stringify(calls)).not.toContain('secret');
    expect(JSON.stringify(calls)).toMatch(/touch pwned.{0,80}Commit [0-9a-f]{7}/);
    expect(heard['hostile']?.at(-1)?.all).toContain('The map of the repository');
    expect(heard['hostile']?.at(-1)?.all).not.toMatch(/^(hooked|pwned)$/m);
    await proven(run.id);
  });
});

it.each([
  { editFormat: 'patch' },
  { lint: { py: 'x' } },
  { maxReflections: -1 },
  { commits: { name: 'a\nb', email: 'x' } },
  { other: 1 },
])('options %j are refused', (options) => {
  expect(() => aiderScaffold(options as never)).toThrow(expect.objectContaining({ code: 'agent_invalid' }));
});
