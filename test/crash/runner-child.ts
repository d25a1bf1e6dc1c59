import { appendFileSync } from 'node:fs';
import { Agent, tool } from '@openai/agents';
import { z } from 'zod';
import { functionModel, HoldfastRunner as Runner } from '../../src/index.js';
import { answerAfter } from '../../src/library/script.js';
import { call, say } from '../harness/script.js';

/** A program of the Agents SDK in which one import was changed. `DIE`: it is killed in its second model call. */
const note = tool({
  name: 'note',
  description: 'Notes a text.',
  parameters: z.object({ text: z.string() }),
  execute: ({ text }) => {
    appendFileSync(process.env['EFFECTS_FILE'] ?? '', `${text}\n`);
    return 'noted';
  },
});
const answers = [[call('note', { text: 'once' }, 'n1')], [say('It is noted.')]];
const model = functionModel('noter', ({ input }) => {
  const answer = [...answerAfter(answers, input)];
  if (process.env['DIE'] === '1' && answer.some((item) => item.type === 'message'))
    process.kill(process.pid, 'SIGKILL');
  return answer;
});
const agent = new Agent({ name: 'noter', model, tools: [note] });

const runner = new Runner({
  databaseUrl: process.env['DATABASE_URL'] ?? null,
  dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '',
  workerId: 'runner',
});
const result = await runner.run(agent, 'Note it.', { id: 'note-7' });
process.stdout.write(JSON.stringify({ output: result.finalOutput, runId: result.runId }));
// Nothing stops the engine: the process ends when it has been idle.
