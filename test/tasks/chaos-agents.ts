import { Agent } from '@openai/agents';
import { bashTool, defineAgent } from '../../src/index.js';
import { call, type Output, say, scripted } from '../harness/script.js';

/** Agents whose commands do the same when they are done again: whoever is asked about one of unknown effect lets it run. */

const bash = (command: string, id: string) => [call('bash', { command }, id)];

const agent = (name: string, outputs: readonly Output[]) =>
  defineAgent({
    agent: new Agent({ name, model: scripted(outputs, 50), tools: [bashTool()] }),
    grants: ['container:exec:shell'],
  });

export const agents = [
  agent('oracle', [
    bash('sleep 0.2; echo one >first', 'one'),
    bash('sleep 0.2; echo two >second', 'two'),
    [say('done')],
  ]),
  agent('partial', [bash('sleep 0.2; echo one >first', 'one'), [say('done')]]),
  agent('idle', [[say('I have done it.')]]),
];

/** What becomes of a task of each. */
export const RESULTS: Readonly<Record<string, string>> = {
  oracle: 'success',
  partial: 'partial_success',
  idle: 'failure',
};
