import { Agent } from '@openai/agents';
import { askHumanTool, createEngine, defineAgent, minimalScaffold } from '../../src/index.js';
import { BUSYBOX } from '../harness/docker.js';
import { call, scripted } from '../harness/script.js';
import { drive, REVIEWER } from './careful-person.js';
import { arm, install } from './kill-switch.js';
import { nothingLeft } from './nothing-left.js';
import { print, reportOf } from './report.js';

/** One process that runs an agent with a container to its end, until nothing of the container is left, or dies where it is told to. */
install();
const worker = defineAgent({
  agent: new Agent({
    name: 'worker',
    model: scripted([
      [call('bash', { command: 'echo one >>log; sleep 0.2; cat log prepared written' }, 'one')],
      [call('edit', { path: '/work/log', oldText: 'one\n', newText: 'first\n' }, 'edit')],
      [call('ask_human', { question: 'On?' }, 'ask')],
      [
        call('bash', { command: 'echo two >>log; exit 5' }, 'two'),
        call('bash', { command: 'echo three >>more' }, 'three'),
      ],
      [call('read', { path: '/work/log' }, 'read')],
    ]),
    tools: [askHumanTool()],
  }),
  grants: ['container:exec:shell', 'container:read:/work/**', 'container:write:/work/**', 'human:ask:question'],
  scaffold: {
    ...{ ...minimalScaffold(), name: 'prepared' },
    initialize: async (environment) => {
      await environment.run(['sh', '-c', 'echo prepared >>prepared; sleep 0.2']);
      await environment.write(`${environment.workdir}/written`, Buffer.from('written\n'));
    },
  },
  environment: { image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64 } },
});
const engine = await createEngine({
  agents: [worker],
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
  dockerHost: process.env['ENGINE_HOST'] ?? '',
  workerId: 'crash',
  crashLimit: 1000,
  approvalTimeoutMs: null,
});
arm();
const { id } = await engine.startRun({ agent: 'worker', input: 'go' }, REVIEWER, 'the-run');
const run = await drive(engine, id, {
  decide: async (_engine, item) => {
    if (item.kind !== 'question') return false;
    await engine.decide(item.id, { verdict: 'answer', value: 'yes' }, REVIEWER);
    return true;
  },
});
await nothingLeft(process.env['ENGINE_HOST'] ?? '', id);
const report = await reportOf(engine, run);
await engine.stop();
print([report]);
process.exit(0);
