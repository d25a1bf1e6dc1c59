import { Agent } from '@openai/agents';
import { askHumanTool, bashTool, defineAgent } from '../../src/index.js';
import { BUSYBOX } from '../harness/docker.js';
import { call, scripted } from '../harness/script.js';

const bash = (command: string, id: string) => call('bash', { command }, id);

const boxed = (name: string, outputs: Parameters<typeof scripted>[0], environment: object = {}) =>
  defineAgent({
    agent: new Agent({ name, model: scripted(outputs), tools: [bashTool(), askHumanTool()] }),
    grants: ['container:exec:shell', 'human:ask:question'],
    environment: { image: BUSYBOX, limits: { memoryMb: 128, maxProcesses: 64 }, ...environment },
  });

/** Agents whose runs keep something in a container: over a pause, and over the death of their worker. */
export const agents = [
  boxed('asker', [
    [bash('echo kept >file', 'begin')],
    [call('ask_human', { question: 'On?' }, 'ask')],
    [bash('cat file', 'after')],
  ]),
  boxed('short', [[bash('sleep 3', 'wait')]]),
  boxed('labelled', [[bash('echo run >>file; sleep 6; cat file', 'long')]], { requires: { labels: { gpu: 'a100' } } }),
  boxed('lasting', [[bash('echo run >>file; sleep 12; cat file', 'long')]]),
];
