import { HoldfastError } from '../errors/errors.js';
import type { JsonObject, JsonValue } from '../json.js';
import { type CompiledNode, type CompiledPlan, DEFAULT_AT_ONCE } from './plan.js';
import { fillTemplate, type Scope } from './template.js';

/** How a call of a node ended. */
export type NodeResult =
  | { readonly type: 'output'; readonly output: JsonValue }
  | { readonly type: 'error'; readonly code: string; readonly message: string };

/** A call that a plan has made. */
export interface MadeCall {
  readonly node: string;
  readonly tool: string;
  readonly result: NodeResult;
}

/** A call that a plan makes next. */
export interface PlannedCall {
  readonly node: string;
  readonly tool: string;
  readonly arguments: JsonValue;
}

export type NextTurn =
  | { readonly type: 'calls'; readonly calls: readonly PlannedCall[] }
  | { readonly type: 'output'; readonly output: JsonValue };

/**
 * What a plan does next, from its input and what its calls gave. The same in every execution: nothing else is read. Throws `plan_failed`
 * when a node has failed, and `plan_changed` where the calls are not those of this plan.
 */
export function nextTurn(plan: CompiledPlan, input: JsonValue, made: readonly MadeCall[]): NextTurn {
  const outputs = outputsOf(plan, made);
  const scope: Scope = { input, nodes: outputs };
  const ready = plan.nodes.filter(({ id, needs }) => !(id in outputs) && needs.every((need) => need in outputs));
  if (ready.length === 0) return { type: 'output', output: outputOf(plan, scope) };
  const most = plan.document.atOnce ?? DEFAULT_AT_ONCE;
  return { type: 'calls', calls: ready.slice(0, most).map((node) => callOf(node, scope)) };
}

/** The outputs of the nodes that have ended, on an object without a prototype: a node may be called `constructor`. */
function outputsOf(plan: CompiledPlan, made: readonly MadeCall[]): JsonObject {
  const outputs: Record<string, JsonValue> = Object.create(null);
  const nodes = new Map(plan.nodes.map((node) => [node.id, node]));
  for (const { node: id, tool, result } of made) {
    const node = nodes.get(id);
    if (node?.tool !== tool)
      throw new HoldfastError(
        'plan_changed',
        `The run has called ${tool} for the node ${id}: the plan has no such node.`,
      );
    if (result.type === 'error')
      throw new HoldfastError('plan_failed', `The node ${id} (${tool}) failed with ${result.code}: ${result.message}`);
    outputs[id] = result.output;
  }
  return outputs;
}

const callOf = (node: CompiledNode, scope: Scope): PlannedCall => ({
  ...{ node: node.id, tool: node.tool },
  arguments: inNode(node.id, () => fillTemplate(node.arguments, scope)),
});

function outputOf({ document, nodes }: CompiledPlan, scope: Scope): JsonValue {
  const { output } = document;
  if (output !== undefined) return inNode('output', () => fillTemplate(output, scope));
  const needed = new Set(nodes.flatMap(({ needs }) => needs));
  const last = nodes.filter(({ id }) => !needed.has(id));
  return Object.fromEntries(last.map(({ id }) => [id, fillTemplate({ $from: `/nodes/${id}` }, scope)]));
}

function inNode<T>(id: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    throw new HoldfastError(error.code, `The node ${id} could not begin: ${error.message}`, { cause: error });
  }
}
