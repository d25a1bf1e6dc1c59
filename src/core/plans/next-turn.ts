import { HoldfastError } from '../errors/errors.js';
import type { JsonObject, JsonValue } from '../json.js';
import { isTrue } from './expression.js';
import { isUndo, undoName } from './node-call.js';
import {
  type CompiledBlock,
  type CompiledCall,
  type CompiledNode,
  type CompiledPlan,
  DEFAULT_AT_ONCE,
  DEFAULT_MOST,
  type LoopNode,
  type MapNode,
} from './plan.js';
import { fillTemplate, type Scope } from './template.js';
import { ValueBudget } from './value-budget.js';

/** How often a node is tried, and how long it waits in between. */
interface Retry {
  readonly attempts: number;
  readonly firstSeconds?: number;
  readonly longestSeconds?: number;
}

const DEFAULT_FIRST = 1;
const DEFAULT_LONGEST = 300;

/** The wait after a failed try: twice as long as the one before, up to the longest. */
const retryWaitSeconds = (
  { firstSeconds = DEFAULT_FIRST, longestSeconds = DEFAULT_LONGEST }: Retry,
  attempt: number,
): number => Math.min(longestSeconds, firstSeconds * 2 ** (attempt - 1));

/** What may pass. A refusal by a grant, a person or a schema stays what it is. */
const RETRYABLE: ReadonlySet<string> = new Set([
  ...['tool_failed', 'tool_timeout', 'tool_memory', 'tool_cpu', 'tool_exited', 'sub_agent_failed'],
]);

/** How a call of a node ended. */
export type NodeResult =
  | { readonly type: 'output'; readonly output: JsonValue }
  | { readonly type: 'error'; readonly code: string; readonly message: string };

/** A call that a plan has made. */
export interface MadeCall {
  /** The way to its node, with the rounds that it is in: `each.2.pay`. A further try of it has `~2` behind it. */
  readonly node: string;
  readonly tool: string;
  readonly result: NodeResult;
  /** Of a call that undoes because the time of the run was over: why it was. */
  readonly timeOver?: string | undefined;
}

/** A call that a plan makes next. */
export interface PlannedCall {
  readonly node: string;
  readonly tool: string;
  readonly arguments: JsonValue;
}

export type NextTurn =
  | {
      readonly type: 'calls';
      readonly calls: readonly PlannedCall[];
      /** Why the time of the run is over, where the calls undo for that. */
      readonly timeOver?: string;
    }
  | { readonly type: 'output'; readonly output: JsonValue };

/** What a node or a block has given; undefined: it has not ended. */
type Given = { readonly output: JsonValue } | undefined;

/**
 * Says what a plan does next, from its input, what its calls gave, and why its time is over (null: it is not). The same in every
 * execution: nothing else is read. When a node has failed for good, or the time is over, what can be undone is undone, the last
 * first. Throws `plan_failed`, `limit_elapsed` and `plan_undo_failed` when that is over, and `plan_changed` where the calls are not
 * those of this plan.
 */
export function nextTurn(
  plan: CompiledPlan,
  input: JsonValue,
  made: readonly MadeCall[],
  timeOver: string | null = null,
): NextTurn {
  const walk = new PlanWalk(made);
  const given = walk.block(plan.block, '', { input, nodes: {} });
  const over = overFor(made, timeOver);
  if (over !== null) walk.failed = new HoldfastError('limit_elapsed', over);
  const undone = walk.failed === null ? null : walk.undo();
  walk.assertAllKnown();
  if (undone !== null) return { type: 'calls', calls: [undone], ...(over !== null && { timeOver: over }) };
  if (walk.failed !== null) throw walk.failure();
  if (given !== undefined) return { type: 'output', output: given.output };
  return { type: 'calls', calls: walk.ready.slice(0, plan.document.atOnce ?? DEFAULT_AT_ONCE) };
}

/** Why the plan undoes for its time; null: it does not. One that undoes already goes on for the reason that it began with. */
function overFor(made: readonly MadeCall[], timeOver: string | null): string | null {
  const undoing = made.filter(({ node }) => isUndo(node));
  if (undoing.length === 0) return timeOver;
  return undoing.find((call) => call.timeOver !== undefined)?.timeOver ?? null;
}

interface Done {
  readonly call: CompiledCall;
  readonly node: string;
  readonly place: number;
  readonly scope: Scope;
}

/** Of the budget of values, for each node of each round: nested maps and loops multiply. */
const PER_NODE = 300;

/** One look at a plan from its beginning, along what its calls gave. */
class PlanWalk {
  readonly ready: PlannedCall[] = [];
  failed: HoldfastError | null = null;
  readonly #made: ReadonlyMap<string, MadeCall & { readonly place: number }>;
  readonly #seen = new Set<string>();
  /** What can be undone. */
  readonly #done: Done[] = [];
  readonly #notUndone: string[] = [];
  readonly #budget = new ValueBudget();

  constructor(made: readonly MadeCall[]) {
    this.#made = new Map(made.map((call, place) => [call.node, { ...call, place }]));
  }

  block({ nodes, output }: CompiledBlock, prefix: string, around: Scope): Given {
    const outputs: Record<string, JsonValue> = Object.create(null);
    const scope: Scope = { ...around, nodes: outputs };
    Object.assign(outputs, around['nodes']);
    let isWhole = true;
    for (const node of nodes) {
      const given = node.needs.every((need) => need in outputs)
        ? this.#node(node, `${prefix}${node.id}`, scope)
        : undefined;
      if (given === undefined) isWhole = false;
      else outputs[node.id] = given.output;
    }
    return isWhole
      ? this.#guarded(`${prefix}output`, () => ({ output: fillTemplate(output, scope, this.#budget) }))
      : undefined;
  }

  #node(compiled: CompiledNode, path: string, scope: Scope): Given {
    this.#budget.work(PER_NODE);
    const { node, call, blocks } = compiled;
    if (call !== null) return this.#call(compiled, call, path, scope);
    const [block] = blocks;
    if (node.type === 'branch')
      return this.#guarded(path, () => {
        const met = node.cases.findIndex(({ when }) => isTrue(when, scope, this.#budget));
        const index = met < 0 ? node.cases.length : met;
        const chosen = blocks[index];
        return chosen === undefined ? { output: null } : this.block(chosen, `${path}.${index}.`, scope);
      });
    if (block === undefined) return undefined;
    if (node.type === 'map') return this.#guarded(path, () => this.#map(node, block, path, scope));
    if (node.type === 'loop') return this.#guarded(path, () => this.#loop(node, block, path, scope));
    return this.block(block, `${path}.`, scope);
  }

  #map({ over, most = DEFAULT_MOST, atOnce = most }: MapNode, block: CompiledBlock, path: string, scope: Scope): Given {
    const items = fillTemplate(over, scope, this.#budget);
    if (!Array.isArray(items)) throw new HoldfastError('plan_failed', 'over is no list.');
    if (items.length > most)
      throw new HoldfastError('plan_failed', `over has ${items.length} items; the map takes ${most} (most).`);
    const outputs: JsonValue[] = [];
    let atWork = 0;
    for (const [index, item] of items.entries()) {
      if (atWork >= atOnce) return undefined;
      const given = this.block(block, `${path}.${index}.`, { ...scope, item, index });
      if (given === undefined) atWork++;
      else outputs.push(given.output);
    }
    return atWork > 0 ? undefined : { output: outputs };
  }

  #loop({ until, most }: LoopNode, block: CompiledBlock, path: string, scope: Scope): Given {
    let last: JsonValue = null;
    for (let index = 0; index < most; index++) {
      const given = this.block(block, `${path}.${index}.`, { ...scope, index, last });
      if (given === undefined) return undefined;
      last = given.output;
      if (isTrue(until, { ...scope, index, last }, this.#budget)) return { output: last };
    }
    throw new HoldfastError('plan_failed', `after ${most} rounds (most), ${until} is not true.`);
  }

  /** A call, tried again where its node says so. */
  #call({ id, node, undo }: CompiledNode, call: CompiledCall, path: string, scope: Scope): Given {
    const retry = 'retry' in node ? node.retry : undefined;
    for (let attempt = 1; ; attempt++) {
      const name = attempt === 1 ? path : `${path}~${attempt}`;
      const made = this.#look(name, call.tool);
      if (made === undefined) {
        this.#plan(name, call, scope);
        return undefined;
      }
      const { result, place } = made;
      if (result.type === 'output') {
        if (undo !== null) {
          const nodes = { ...(scope['nodes'] as JsonObject), [id]: result.output };
          this.#done.push({ call: undo, node: path, place, scope: { ...scope, nodes } });
        }
        return { output: result.output };
      }
      if (retry === undefined || attempt >= retry.attempts || !RETRYABLE.has(result.code)) {
        const tries = attempt === 1 ? '' : ` at the try ${attempt}`;
        const why = `The node ${path} (${call.tool}) failed${tries} with ${result.code}: ${result.message}`;
        this.failed ??= new HoldfastError('plan_failed', why);
        return undefined;
      }
      const seconds = retryWaitSeconds(retry, attempt);
      const wait = `${path}~wait${attempt}`;
      if (seconds > 0 && this.#look(wait, 'sleep') === undefined) {
        this.ready.push({ node: wait, tool: 'sleep', arguments: { seconds } });
        return undefined;
      }
    }
  }

  /** The call that undoes next, the last that was done first; null: all is undone. */
  undo(): PlannedCall | null {
    for (const { call, node, scope } of this.#done.toSorted((a, b) => b.place - a.place)) {
      const id = undoName(node);
      const made = this.#look(id, call.tool);
      if (made?.result.type === 'output') continue;
      if (made !== undefined) {
        this.#notUndone.push(`${node} (${call.tool}): ${made.result.type === 'error' ? made.result.message : ''}`);
        continue;
      }
      try {
        return { node: id, tool: call.tool, arguments: fillTemplate(call.arguments, scope) };
      } catch (error) {
        if (!(error instanceof HoldfastError)) throw error;
        this.#notUndone.push(`${node} (${call.tool}): ${error.message}`);
      }
    }
    return null;
  }

  failure(): HoldfastError {
    const why = this.failed ?? new HoldfastError('plan_failed', 'The plan failed.');
    if (this.#notUndone.length === 0) return why;
    return new HoldfastError('plan_undo_failed', `${why.message} Not undone: ${this.#notUndone.join('; ')}`);
  }

  /** Throws `plan_changed` for a call that the plan would not have made. */
  assertAllKnown(): void {
    for (const { node, tool } of this.#made.values())
      if (!this.#seen.has(node))
        throw new HoldfastError('plan_changed', `The run has called ${tool} for ${node}: the plan has no such call.`);
  }

  #look(id: string, tool: string): (MadeCall & { readonly place: number }) | undefined {
    const made = this.#made.get(id);
    // One of another tool is left to `assertAllKnown`.
    if (made?.tool !== tool) return undefined;
    this.#seen.add(id);
    return made;
  }

  #plan(node: string, { tool, arguments: given }: CompiledCall, scope: Scope): void {
    this.#guarded(node, () => {
      this.ready.push({ node, tool, arguments: fillTemplate(given, scope, this.#budget) });
      return undefined;
    });
  }

  /** A node that cannot be read fails like one whose call fails. */
  #guarded(path: string, work: () => Given): Given {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      this.failed ??= new HoldfastError('plan_failed', `The node ${path} failed: ${error.message}`, { cause: error });
      return undefined;
    }
  }
}
