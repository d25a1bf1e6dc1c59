import type { JsonObject } from '../json.js';
import type { PlanNode } from './plan.js';

/** The call that a node makes: the name of a tool, and a template of its arguments. */
export interface NodeCall {
  readonly tool: string;
  readonly arguments: JsonObject;
}

/** The tool that runs an agent for a plan. */
export const agentToolName = (agent: string): string =>
  `run_${agent
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 60)}`;

/** The tool that asks so many people. */
export const approvalToolName = (approvals: number): string => (approvals === 1 ? 'approve' : `approve_${approvals}`);

const present = (members: { readonly [name: string]: JsonObject[string] | undefined }): JsonObject =>
  Object.fromEntries(Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

/** Every node is one call of a tool, so that grants, intents, approvals and waits are those of calls. */
export function callOfNode(node: PlanNode): NodeCall {
  switch (node.type) {
    case 'tool':
      return { tool: node.tool, arguments: node.arguments ?? {} };
    case 'agent':
      return { tool: agentToolName(node.agent), arguments: { input: { $text: [node.input] } } };
    case 'ask': {
      const { question, approval, approvals = 1, choices, schema } = node;
      if (approval !== undefined)
        return { tool: approvalToolName(approvals), arguments: { what: { $text: [approval] } } };
      const answerSchema = schema === undefined ? undefined : JSON.stringify(schema);
      return {
        tool: 'ask_human',
        arguments: present({ question: { $text: [question ?? ''] }, choices, answerSchema }),
      };
    }
    case 'wait': {
      const { seconds, until, event, key, timeoutSeconds } = node;
      if (event === undefined) return { tool: 'sleep', arguments: present({ seconds, until }) };
      return { tool: 'wait_for_event', arguments: present({ name: event, key, timeoutSeconds }) };
    }
  }
}
