import type { z } from 'zod';
import { type FieldError, HoldfastError } from '../errors/errors.js';
import { fieldErrorsOf } from '../field-errors.js';
import { addTo } from '../grouped.js';
import { assertAnswerable } from '../interruptions/answer.js';
import { isRecord, type JsonObject, type JsonValue } from '../json.js';
import type { ToolSpec } from '../tools/tool.js';
import { readExpression } from './expression.js';
import { callOfNode, RETRY_WAIT, undoOfNode, waitsToRetry } from './node-call.js';
import {
  type CompiledBlock,
  type CompiledCall,
  type CompiledNode,
  type CompiledPlan,
  conditionsOf,
  type InnerBlock,
  innerBlocks,
  MOST_NODES,
  type PlanNode,
  planDocument,
} from './plan.js';
import { fillTemplate, type Reference, readTemplate, stepsOf } from './template.js';

/** The tools that a plan may call by their names. */
export type PlanTools = ReadonlyMap<string, ToolSpec>;

/**
 * Reads a plan: its shape, its references, the tools that it names, and the order of its nodes. Throws `plan_invalid`, with a pointer for
 * everything that is wrong.
 */
export function compilePlan(name: string, given: unknown, tools: PlanTools): CompiledPlan {
  if (isTooDeep(given)) throw invalidPlan(name, [{ pointer: '', detail: `nests deeper than ${MOST_LEVELS} levels` }]);
  const hidden = prototypeNode(given, '');
  if (hidden !== null) throw invalidPlan(name, [{ pointer: hidden, detail: 'expected another name of a node' }]);
  const parsed = planDocument.safeParse(given);
  if (!parsed.success) throw invalidPlan(name, fieldErrorsOf(parsed.error as z.ZodError));
  const document = parsed.data;
  const reader = new PlanReader(tools);
  reader.schema(document.input, '/input');
  const { block } = reader.block(document, '', { visible: new Set(), names: new Set(['input']), prefix: '' });
  if (reader.nodes.length > MOST_NODES)
    reader.wrong('/nodes', `has ${reader.nodes.length} nodes; expected at most ${MOST_NODES}`);
  if (reader.problems.length > 0) throw invalidPlan(name, reader.problems);
  return { document, block, nodes: reader.nodes, calls: reader.calls };
}

const MOST_LEVELS = 200;

/** Whether a value nests deeper than what reads plans may call itself. */
const isTooDeep = (value: unknown, level = 0): boolean =>
  isRecord(value) && (level >= MOST_LEVELS || Object.values(value).some((one) => isTooDeep(one, level + 1)));

/** Where a block has a node of the one name that parsing would leave out; null: nowhere. */
function prototypeNode(block: unknown, pointer: string): string | null {
  if (!isRecord(block)) return null;
  const { nodes, cases, else: other } = block;
  if (isRecord(nodes) && Object.hasOwn(nodes, '__proto__')) return `${pointer}/nodes/__proto__`;
  const inner: readonly (readonly [string, unknown])[] = [
    ...Object.entries(isRecord(nodes) ? nodes : {}).map(([id, node]) => [`nodes/${id}`, node] as const),
    ...Object.entries(Array.isArray(cases) ? cases : []).map(([index, one]) => [`cases/${index}`, one] as const),
    ['else', other],
  ];
  return inner.map(([place, one]) => prototypeNode(one, `${pointer}/${place}`)).find((found) => found !== null) ?? null;
}

export function invalidPlan(name: string, fields: readonly FieldError[], cause?: unknown): HoldfastError {
  const said = fields.slice(0, 5).map(({ pointer, detail }) => `${pointer || 'it'}: ${detail.replace(/\.$/, '')}`);
  const more = fields.length > said.length ? `; and ${fields.length - said.length} more` : '';
  return new HoldfastError('plan_invalid', `The plan ${name} is not valid: ${said.join('; ')}${more}.`, {
    ...{ fields, cause },
  });
}

/** What a place of a plan can read. */
interface Surroundings {
  /** Nodes around it and beside it. */
  readonly visible: ReadonlySet<string>;
  /** What else there is: the input, and what a map or a loop gives. */
  readonly names: ReadonlySet<string>;
  /** The way to it. */
  readonly prefix: string;
}

const withNames = (around: Surroundings, names: readonly string[]): Surroundings => ({
  ...around,
  names: new Set([...around.names, ...names]),
});

/** Nodes that are read, also of those around. */
type Reads = readonly string[];

class PlanReader {
  readonly problems: FieldError[] = [];
  readonly nodes: CompiledNode[] = [];
  readonly calls: CompiledCall[] = [];
  readonly #tools: PlanTools;
  /** The agents of nodes, by the tools that run them. */
  readonly #agents = new Map<string, string>();

  constructor(tools: PlanTools) {
    this.#tools = tools;
  }

  wrong(pointer: string, detail: string): void {
    this.problems.push({ pointer, detail });
  }

  /** What keeps values from being checked against a schema. */
  schema(schema: JsonObject | undefined, pointer: string, choices: readonly string[] = []): void {
    try {
      assertAnswerable({ choices: choices.length === 0 ? null : choices, schema: schema ?? null });
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      this.wrong(pointer, error.message.replace(/^This question cannot be answered: /, '').replace(/\.$/, ''));
    }
  }

  /** Reads a block. Its nodes read those around them, and have other names than these. */
  block(
    { nodes, output }: InnerBlock['block'],
    at: string,
    around: Surroundings,
  ): { readonly block: CompiledBlock; readonly reads: Reads } {
    const ids = Object.keys(nodes);
    if (ids.length === 0) this.wrong(`${at}/nodes`, 'expected at least one node');
    for (const id of ids)
      if (around.visible.has(id))
        this.wrong(`${at}/nodes/${id}`, 'a node around it has this name; expected another one');
    const inside = { ...around, visible: new Set([...around.visible, ...ids]) };
    const read = ids.map((id) => this.#node(id, nodes[id] as PlanNode, `${at}/nodes/${id}`, inside));
    const own = new Set(ids);
    const compiled = read.map(({ node, reads }) => ({
      ...node,
      needs: [...new Set(reads)].filter((id) => own.has(id)),
    }));
    this.nodes.push(...compiled);
    const { ordered, cycle } = inOrder(compiled);
    if (cycle.length > 0) this.wrong(`${at}/nodes/${cycle[0]}`, `the nodes need one another: ${cycle.join(' needs ')}`);
    const ofOutput = output === undefined ? [] : this.#template(output, `${at}/output`, inside);
    const reads = [...read.flatMap((one) => one.reads), ...ofOutput].filter((id) => !own.has(id));
    return { block: { nodes: ordered, output: output ?? outputOfLast(compiled) }, reads };
  }

  #node(
    id: string,
    node: PlanNode,
    at: string,
    around: Surroundings,
  ): { readonly node: Omit<CompiledNode, 'needs'>; readonly reads: Reads } {
    const path = `${around.prefix}${id}`;
    const call = callOfNode(node, path, at);
    const undo = undoOfNode(node, path, at);
    if (waitsToRetry(node)) this.calls.push({ ...RETRY_WAIT, path: `${path}~wait`, at: `${at}/retry` });
    if (node.type === 'ask') this.schema(node.schema, `${at}/schema`, node.choices);
    if (node.type === 'tool') this.schema(node.bounds, `${at}/bounds`);
    const conditions = conditionsOf(node, at).flatMap(({ type, value, at: place, names }) =>
      type === 'template'
        ? this.#template(value, place, withNames(around, names))
        : this.#expression(String(value), place, withNames(around, names)),
    );
    const blocks = innerBlocks(node, at).map(({ block, at: place, key, names }) =>
      this.block(block, place, { ...withNames(around, names), prefix: `${path}.${key}` }),
    );
    const reads = [
      ...this.#after(node.after ?? [], at, around),
      ...(call === null ? [] : this.#call(call, around)),
      // What its own node gave is there by then.
      ...(undo === null ? [] : this.#call(undo, around).filter((one) => one !== id)),
      ...conditions,
      ...blocks.flatMap((block) => block.reads),
    ];
    return { node: { id, path, node, call, undo, blocks: blocks.map(({ block }) => block) }, reads };
  }

  #after(after: readonly string[], at: string, { visible }: Surroundings): Reads {
    for (const [index, id] of after.entries())
      if (!visible.has(id)) this.wrong(`${at}/after/${index}`, `there is no node ${id}`);
    return after;
  }

  #call(call: CompiledCall, around: Surroundings): Reads {
    this.calls.push(call);
    const { node, at, tool } = call;
    const place = node.type === 'tool' ? `${at}/arguments` : at;
    if (node.type === 'agent') this.#agent(node.agent, call);
    const before = this.problems.length;
    const pointers = this.#pointers(call.arguments, place);
    const reads = this.#judge(pointers, around);
    if (node.type !== 'tool') return reads;
    const spec = this.#tools.get(tool);
    if (spec === undefined) {
      const known = [...this.#tools.keys()].join(', ') || 'none';
      this.wrong(`${at}/tool`, `there is no tool ${tool}; the plan has: ${known}`);
    } else if (pointers.length === 0 && this.problems.length === before) {
      const parsed = spec.parse(fillTemplate(call.arguments, {}));
      if (!parsed.ok) this.wrong(place, parsed.problem);
    }
    return reads;
  }

  /** One tool runs one agent: two whose tools had one name would be the same. */
  #agent(agent: string, { tool, at }: CompiledCall): void {
    const other = this.#agents.get(tool) ?? agent;
    this.#agents.set(tool, other);
    if (other !== agent)
      this.wrong(`${at}/agent`, `${agent} and ${other} have one tool, ${tool}; expected agents with other names`);
  }

  #template(template: JsonValue, at: string, around: Surroundings): Reads {
    return this.#judge(this.#pointers(template, at), around);
  }

  #pointers(template: JsonValue, at: string): readonly Reference[] {
    const { references, problems } = readTemplate(template, at);
    this.problems.push(...problems);
    return references;
  }

  #expression(text: string, at: string, around: Surroundings): Reads {
    const { pointers, problem } = readExpression(text);
    if (problem !== null) this.wrong(at, problem);
    return this.#judge(
      pointers.map((pointer) => ({ pointer, at })),
      around,
    );
  }

  /** The nodes among what is read; what is not there is a problem. */
  #judge(references: readonly Reference[], { visible, names }: Surroundings): Reads {
    return references.flatMap(({ pointer, at }) => {
      const [first = '', second] = stepsOf(pointer);
      if (names.has(first)) return [];
      if (first !== 'nodes') {
        const known = [...names].map((name) => `/${name}`).join(', ');
        this.wrong(at, `${pointer} begins with none of ${known}, /nodes`);
      } else if (second === undefined) this.wrong(at, '/nodes names no node');
      else if (!visible.has(second)) this.wrong(at, `there is no node ${second}`);
      else return [second];
      return [];
    });
  }
}

/** The outputs of the nodes that no other node needs, by their names. */
function outputOfLast(nodes: readonly CompiledNode[]): JsonObject {
  const needed = new Set(nodes.flatMap(({ needs }) => needs));
  const last = nodes.filter(({ id }) => !needed.has(id));
  return Object.fromEntries(last.map(({ id }) => [id, { $from: `/nodes/${id}` }]));
}

/** Something that comes after others. */
interface Needing {
  readonly id: string;
  readonly needs: readonly string[];
}

interface Ordered<T> {
  readonly ordered: readonly T[];
  /** Nodes that need one another, the first of them again at the end; empty: there are none. */
  readonly cycle: readonly string[];
}

/** Puts nodes into an order in which each comes after those that it needs. */
function inOrder<T extends Needing>(nodes: readonly T[]): Ordered<T> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const left = new Map(nodes.map((node) => [node.id, node.needs.length]));
  const needed = new Map<string, string[]>();
  for (const { id, needs } of nodes) {
    for (const need of needs) addTo(needed, need, id);
  }
  const ordered = nodes.filter(({ needs }) => needs.length === 0);
  // It grows while it is read.
  for (const { id } of ordered) {
    for (const next of needed.get(id) ?? []) {
      const count = (left.get(next) ?? 0) - 1;
      left.set(next, count);
      const node = byId.get(next);
      if (count === 0 && node !== undefined) ordered.push(node);
    }
  }
  const done = new Set(ordered.map(({ id }) => id));
  return { ordered, cycle: ordered.length === nodes.length ? [] : cycleAmong(byId, done) };
}

/** Follows what is needed among the nodes that could not be ordered: each of these needs another one of them. */
function cycleAmong(byId: ReadonlyMap<string, Needing>, done: ReadonlySet<string>): readonly string[] {
  const way: string[] = [];
  let id = [...byId.keys()].find((one) => !done.has(one));
  while (id !== undefined && !way.includes(id)) {
    way.push(id);
    id = byId.get(id)?.needs.find((need) => !done.has(need));
  }
  return id === undefined ? way : [...way.slice(way.indexOf(id)), id];
}

/** The plan of an agent; undefined: it is none. */
export type PlanOfAgent = (agent: string) => CompiledPlan | undefined;

/** Throws `plan_invalid` where a plan runs itself, perhaps by others: none of them would end. Looks at each plan once. */
export function assertNoPlanCycle(name: string, plan: CompiledPlan, planOf: PlanOfAgent): void {
  const seen = new Set<string>();
  /** The way from here back to the plan; null: there is none. */
  const wayBack = (from: string, compiled: CompiledPlan): readonly string[] | null => {
    for (const { node } of compiled.calls) {
      if (node.type !== 'agent') continue;
      if (node.agent === name) return [from, name];
      const next = seen.has(node.agent) ? undefined : planOf(node.agent);
      seen.add(node.agent);
      const way = next === undefined ? null : wayBack(node.agent, next);
      if (way !== null) return [from, ...way];
    }
    return null;
  };
  const way = wayBack(name, plan);
  if (way === null) return;
  const [, through] = way;
  const call = plan.calls.find(({ node }) => node.type === 'agent' && node.agent === through);
  const detail = `plans run one another without an end: ${way.join(' runs ')}. A \`loop\` repeats`;
  throw invalidPlan(name, [{ pointer: `${call?.at ?? ''}/agent`, detail }]);
}
