import { type JsonObject, sha256 } from '../json.js';
import type { CallNode, CompiledCall, PlanNode } from './plan.js';

/** The tool that runs an agent for a plan. A name without a letter or digit of ASCII is told from others by its digest. */
export function agentToolName(agent: string): string {
  const word = agent
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 60);
  return `run_${word === '' ? sha256(agent).slice('sha256:'.length, 'sha256:'.length + 12) : word}`;
}

/** The tool that asks so many people. */
export const approvalToolName = (approvals: number): string => (approvals === 1 ? 'approve' : `approve_${approvals}`);

const present = (members: { readonly [name: string]: JsonObject[string] | undefined }): JsonObject =>
  Object.fromEntries(Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

const isCallNode = (node: PlanNode): node is CallNode =>
  node.type === 'tool' || node.type === 'agent' || node.type === 'ask' || node.type === 'wait';

/** The call of a node, so that grants, intents, approvals and waits are those of calls. Null: it has nodes inside. */
export function callOfNode(node: PlanNode, path: string, at: string): CompiledCall | null {
  if (!isCallNode(node)) return null;
  const stated = node.type === 'tool' ? (node.capabilities ?? null) : null;
  return { path, at, node, stated, ...toolOfNode(node) };
}

/** The id of the call that takes back what a node did. */
export const undoName = (node: string): string => `${node}~undo`;

/** Whether a call takes back what a node did. The calls of a segment that was rebuilt have its number behind their ids. */
export const isUndo = (callId: string): boolean => /~undo(_s\d+)?$/.test(callId);

/** The call that takes back what a node did; null: nothing does. */
export function undoOfNode(node: PlanNode, path: string, at: string): CompiledCall | null {
  if ((node.type !== 'tool' && node.type !== 'agent') || node.undo === undefined) return null;
  const call = { ...node.undo, type: 'tool' as const };
  return callOfNode(call, undoName(path), `${at}/undo`);
}

/** The call between two tries of a node. */
export const RETRY_WAIT: Pick<CompiledCall, 'node' | 'tool' | 'arguments' | 'stated'> = {
  ...{ node: { type: 'wait', seconds: 1 }, tool: 'sleep', arguments: { seconds: 1 }, stated: null },
};

export const waitsToRetry = (node: PlanNode): boolean =>
  'retry' in node && node.retry !== undefined && node.retry.firstSeconds !== 0;

function toolOfNode(node: CallNode): Pick<CompiledCall, 'tool' | 'arguments'> {
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
