import { Agent } from '@openai/agents';
import { aiderScaffold, createEngine, defineAgent, functionModel, openHandsScaffold } from '../../src/index.js';
import { TOOLS } from '../harness/docker.js';
import { call, say, scripted } from '../harness/script.js';
import { drive, REVIEWER } from './careful-person.js';
import { arm, install } from './kill-switch.js';
import { nothingLeft } from './nothing-left.js';
import { print, reportOf } from './report.js';

/** One process that runs an agent with the scaffold that SCAFFOLD names to its end and replays it, or dies where it is told to. */
install();
const block = (path: string, search: string, replace: string) =>
  `${path}\n\`\`\`\n<<<<<<< SEARCH\n${search}=======\n${replace}>>>>>>> REPLACE\n\`\`\`\n`;
const ANSWERS = [
  `First.\n\n${block('a.py', '', 'x = 1\n')}${block('b.py', '', 'print("b")\n')}`,
  `Second.\n\n${block('a.py', 'x = 1\n', 'x = (\n')}`,
  `Third.\n\n${block('a.py', 'x = (\n', 'x = 2\n')}${block('b.py', 'print("b")\n', 'print("c")\n')}`,
  '/add .git/tests a.py b.py',
  'Done.',
];
const environment = { image: TOOLS, limits: { memoryMb: 256, maxProcesses: 64 } };
const grants = ['container:exec:shell', 'container:read:/work/**', 'container:write:/work/**'];
const aider = defineAgent({
  agent: new Agent({
    name: 'aider',
    model: functionModel('aider', ({ input }) => {
      const items = Array.isArray(input) ? input : [];
      return [say(ANSWERS[items.filter((item) => 'role' in item && item.role === 'assistant').length] ?? 'Done.')];
    }),
  }),
  scaffold: {
    ...aiderScaffold({ test: 'git rev-list --count HEAD >>.git/tests', untilAnswer: true }),
    initialize: async (container) => {
      await container.run(['git', 'init', '-q', '.']);
    },
  },
  ...{ grants: [...grants, 'tool:call:explain_format'], environment },
});
const bash = (command: string, id: string) => call('execute_bash', { command }, id);
const openhands = defineAgent({
  agent: new Agent({
    name: 'openhands',
    model: scripted([
      [bash('mkdir d; cd d; export N=1; echo one >>log', 'one')],
      [bash('sleep 0.3; echo "$N $(pwd)" >>log', 'two')],
      [call('str_replace_editor', { command: 'create', path: '/work/d/a', file_text: 'a\n' }, 'create')],
      [call('str_replace_editor', { command: 'str_replace', path: '/work/d/a', old_str: 'a', new_str: 'b' }, 'edit')],
      [call('execute_ipython_cell', { code: 'n = 1\nopen("log", "a").write("cell\\n")' }, 'cell')],
      [call('execute_ipython_cell', { code: 'n += 1\nn' }, 'more')],
      [call('str_replace_editor', { command: 'undo_edit', path: '/work/d/a' }, 'undo')],
      [bash('cat log a /work/log', 'cat')],
      [call('finish', { message: 'Done.' }, 'end')],
    ]),
  }),
  scaffold: openHandsScaffold(),
  ...{ grants: [...grants, 'tool:call:think', 'tool:call:finish'], environment },
});
const engine = await createEngine({
  agents: [aider, openhands],
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
  dockerHost: process.env['ENGINE_HOST'] ?? '',
  workerId: 'crash',
  crashLimit: 1000,
  approvalTimeoutMs: null,
});
arm();
const { id } = await engine.startRun({ agent: process.env['SCAFFOLD'] ?? '', input: 'go' }, REVIEWER, 'the-run');
const run = await drive(engine, id, {});
await nothingLeft(process.env['ENGINE_HOST'] ?? '', id);
const { differences } = await engine.replayRun(id, {}, REVIEWER);
if (differences.length > 0) throw new Error(`The replay differs: ${JSON.stringify(differences)}`);
const report = await reportOf(engine, run);
await engine.stop();
print([report]);
process.exit(0);
