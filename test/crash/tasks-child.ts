import { Agent } from '@openai/agents';
import { bashTool, createEngine, defineAgent } from '../../src/index.js';
import { BUSYBOX } from '../harness/docker.js';
import { call, say, scripted } from '../harness/script.js';
import { drive, REVIEWER } from './careful-person.js';
import { arm, install } from './kill-switch.js';
import { nothingLeft } from './nothing-left.js';
import { print, reportOf } from './report.js';

/** One process that executes a task to its end, until nothing of its containers is left, or dies where it is told to. */
install();
/** A test that passes if it runs once in its container. */
const once = (name: string) => ({
  name,
  command: `echo ran >>${name}.log; sleep 0.2; sh /tmp/tests/same.sh "$(cat ${name}.log)" ran`,
});
const task = {
  ...{ name: 'crash', version: '1.0.0', category: 'crash', difficulty: 'easy' as const },
  instruction: 'Write work.log.',
  environment: { image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64 } },
  initialFiles: { start: 'start\n', 'bin/tool': { text: 'echo tool\n', mode: '755' as const } },
  verification: {
    files: { 'same.sh': '[ "$1" = "$2" ]\n' },
    tests: [
      once('first'),
      { name: 'agent', command: 'sh /tmp/tests/same.sh "$(cat work.log)" "start tool"' },
      once('second'),
      { name: 'never', command: 'false' },
    ],
    compile: 'sh -n bin/tool',
  },
  artifacts: { patch: true, files: ['*.log'], commandOutput: true },
  ...{ maxTurns: 5, timeoutSeconds: 600 },
};
const agent = defineAgent({
  agent: new Agent({
    name: 'worker',
    model: scripted([[call('bash', { command: 'echo $(cat start) $(bin/tool) >>work.log' }, 'work')], [say('done')]]),
    tools: [bashTool()],
  }),
  grants: ['container:exec:shell'],
});
const engine = await createEngine({
  agents: [agent],
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
  dockerHost: process.env['ENGINE_HOST'] ?? '',
  workerId: 'crash',
  crashLimit: 1000,
  approvalTimeoutMs: null,
});
arm();
const { id, runId } = await engine.submitTask({ task, agent: 'worker', seed: 1 }, REVIEWER, 'the-task');
const run = await drive(engine, runId, {});
await nothingLeft(process.env['ENGINE_HOST'] ?? '', runId);
const { status, result, reward } = await engine.getTask(id, REVIEWER);
const { items } = await engine.listRewards(runId, { after: 0, limit: 10 }, REVIEWER);
const report = await reportOf(engine, run);
await engine.stop();
print([{ ...report, output: { status, result, reward, rewards: items.length } }]);
process.exit(0);
