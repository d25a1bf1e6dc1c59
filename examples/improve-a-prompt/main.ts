import { Agent } from '@openai/agents';
import { type Caller, createEngine, defineAgent, defineConfig, functionModel, LOCAL_CALLER } from 'holdfast';
import { asked, say } from '../scripted-model.js';

/** It shouts unless its instructions ask it not to. */
const model = functionModel('echo', (request) => {
  const quiet = request.systemInstructions?.includes('Do not shout') === true;
  return [say(quiet ? asked(request) : asked(request).toUpperCase())];
});

const config = defineConfig({
  agents: [defineAgent({ agent: new Agent({ name: 'echo', instructions: 'Repeat what you hear.', model }) })],
  evolution: { agents: ['echo'], approvals: 2 },
});
const engine = await createEngine({
  ...config,
  ...{ databaseUrl: null, dataDir: process.env['HOLDFAST_DATA_DIR'] ?? '.holdfast' },
});
const person = (actor: string): Caller => ({ ...LOCAL_CALLER, actor });

// An agent or a person proposes a patch, with ten cases that the agent should do.
const words = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
const proposal = {
  agent: 'echo',
  base: (await engine.getAgent('echo', LOCAL_CALLER)).definitionHash,
  patch: [{ op: 'replace', path: '/instructions', value: 'Repeat what you hear. Do not shout.' }],
  reason: 'It shouts.',
  cases: words.map((word) => ({ input: word, expect: { equals: word } })),
  share: 20,
};
const { id } = await engine.startRun({ agent: 'evolve', input: JSON.stringify(proposal) }, person('paul'));

// Two others decide, once it was tried.
async function approve(actor: string): Promise<void> {
  for (;;) {
    const { items } = await engine.listInterruptions({ status: 'pending', runId: id, limit: 10 }, LOCAL_CALLER);
    const item = items.find(({ kind }) => kind === 'approval');
    if (item !== undefined) return void (await engine.decide(item.id, { verdict: 'approve' }, person(actor)));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
await approve('rita');
await approve('ruth');
await engine.getRun(id, LOCAL_CALLER, { waitMs: 60_000 });
const { items } = await engine.listEvents(id, { after: 0, limit: 200, kind: 'call.finished' }, LOCAL_CALLER);
const report = JSON.parse(JSON.stringify(items[0]?.data)).outcome.output;
console.log(
  `before: ${report.before.passed} of ${report.before.of}, after: ${report.after.passed} of ${report.after.of}`,
);

async function quietRuns(count: number): Promise<number> {
  const started = [];
  for (let n = 0; n < count; n++) started.push(await engine.startRun({ agent: 'echo', input: 'hello' }, LOCAL_CALLER));
  let quiet = 0;
  for (const run of started)
    if ((await engine.getRun(run.id, LOCAL_CALLER, { waitMs: 60_000 })).output === 'hello') quiet++;
  return quiet;
}
const quiet = await quietRuns(60);
console.log(`with 20 %: ${quiet > 0 && quiet < 60 ? 'some runs are quiet' : `${quiet} runs are quiet`}`);
await engine.rollbackAgent('echo', { reason: 'People liked the shouting.' }, person('rita'));
console.log(`taken back: ${await quietRuns(10)} of 10 are quiet`);
await engine.stop();
