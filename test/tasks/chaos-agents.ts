import { Agent } from '@openai/agents';
import { bashTool, defineAgent } from '../../src/index.js';
import { call, type Output, say, scripted } from '../harness/script.js';

/** Agents that do a task, a part of it, and nothing. */

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
