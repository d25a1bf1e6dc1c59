import type { z } from 'zod';
import { type FieldError, HoldfastError } from '../errors/errors.js';
import { fieldErrorsOf } from '../field-errors.js';
import { assertAnswerable } from '../interruptions/answer.js';
import type { JsonObject } from '../json.js';
import type { ToolSpec } from '../tools/tool.js';
import { callOfNode } from './node-call.js';
import { type CompiledNode, type CompiledPlan, MOST_NODES, type PlanDocument, planDocument } from './plan.js';
import { fillTemplate, type Reference, readTemplate, stepsOf } from './template.js';

/** The tools that a plan may call by their names. */
export type PlanTools = ReadonlyMap<string, ToolSpec>;

/**
 * Reads a plan: its shape, its references, the tools that it names, and the order of its nodes. Throws `plan_invalid`, which has a pointer
 * for everything that is wrong.
 */
export function compilePlan(name: string, given: unknown, tools: PlanTools): CompiledPlan {
  const parsed = planDocument.safeParse(given);
  if (!parsed.success) throw invalidPlan(name, fieldErrorsOf(parsed.error as z.ZodError));
  const document = parsed.data;
  const ids = Object.keys(document.nodes);
  if (ids.length === 0 || ids.length > MOST_NODES)
    throw invalidPlan(name, [{ pointer: '/nodes', detail: `has ${ids.length} nodes; expected 1 to ${MOST_NODES}` }]);
  const problems: FieldError[] = [];
  const nodes = ids.map((id) => compileNode(document, id, tools, problems));
  problems.push(...schemaProblems(document.input, '/input'));
  readOutput(document, problems);
  if (problems.length > 0) throw invalidPlan(name, problems);
  const { ordered, depth } = inOrder(name, nodes);
  return { document, nodes: ordered, depth };
}

export function invalidPlan(name: string, fields: readonly FieldError[], cause?: unknown): HoldfastError {
  const said = fields.slice(0, 5).map(({ pointer, detail }) => `${pointer === '' ? 'it' : pointer}: ${detail}`);
  const more = fields.length > said.length ? `; and ${fields.length - said.length} more` : '';
  return new HoldfastError('plan_invalid', `The plan ${name} is not valid: ${said.join('; ')}${more}.`, {
    ...{ fields, cause },
  });
}

function compileNode(document: PlanDocument, id: string, tools: PlanTools, problems: FieldError[]): CompiledNode {
  const at = `/nodes/${id}`;
  const node = document.nodes[id] as CompiledNode['node'];
  const call = callOfNode(node);
  const reading = readTemplate(call.arguments, `${at}/${placeOfArguments(node.type)}`);
  problems.push(...reading.problems);
  const needs = new Set<string>();
  for (const [index, other] of (node.after ?? []).entries()) {
    if (Object.hasOwn(document.nodes, other)) needs.add(other);
    else problems.push({ pointer: `${at}/after/${index}`, detail: `there is no node ${other}` });
  }
  for (const reference of reading.references) {
    const found = nodeOf(document, reference);
    if (found.problem !== null) problems.push(found.problem);
    if (found.node !== null) needs.add(found.node);
  }
  const isConstant = reading.references.length + reading.problems.length === 0;
  problems.push(...toolProblems(node, at, tools, isConstant));
  if (node.type === 'ask') problems.push(...schemaProblems(node.schema, `${at}/schema`, node.choices));
  return { id, node, ...call, needs: [...needs] };
}

/** Of other nodes than those of tools, what becomes their arguments stands in the node itself. */
const placeOfArguments = (type: CompiledNode['node']['type']): string => (type === 'tool' ? 'arguments' : type);

/** The node that a reference names; null: the input. */
function nodeOf(
  { nodes }: PlanDocument,
  { pointer, at }: Reference,
): { readonly node: string | null; readonly problem: FieldError | null } {
  const [first, second] = stepsOf(pointer);
  if (first === 'input') return { node: null, problem: null };
  const problem = (detail: string) => ({ node: null, problem: { pointer: at, detail } });
  if (first !== 'nodes') return problem(`${pointer} begins with neither /input nor /nodes`);
  if (second === undefined) return problem('/nodes names no node');
  return Object.hasOwn(nodes, second) ? { node: second, problem: null } : problem(`there is no node ${second}`);
}

function toolProblems(
  node: CompiledNode['node'],
  at: string,
  tools: PlanTools,
  isConstant: boolean,
): readonly FieldError[] {
  if (node.type !== 'tool') return [];
  const spec = tools.get(node.tool);
  if (spec === undefined) {
    const known = [...tools.keys()].join(', ');
    return [{ pointer: `${at}/tool`, detail: `there is no tool ${node.tool}; the plan has: ${known || 'none'}` }];
  }
  if (!isConstant) return [];
  const parsed = spec.parse(fillTemplate(node.arguments ?? {}, {}));
  return parsed.ok ? [] : [{ pointer: `${at}/arguments`, detail: parsed.problem }];
}

/** What keeps values from being checked against a schema. */
function schemaProblems(
  schema: JsonObject | undefined,
  pointer: string,
  choices: readonly string[] = [],
): readonly FieldError[] {
  try {
    assertAnswerable({ choices: choices.length === 0 ? null : choices, schema: schema ?? null });
    return [];
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    return [{ pointer, detail: error.message.replace(/^This question cannot be answered: /, '').replace(/\.$/, '') }];
  }
}

function readOutput(document: PlanDocument, problems: FieldError[]): void {
  if (document.output === undefined) return;
  const reading = readTemplate(document.output, '/output');
  problems.push(...reading.problems);
  for (const reference of reading.references) {
    const { problem } = nodeOf(document, reference);
    if (problem !== null) problems.push(problem);
  }
}

/** The nodes in an order in which each comes after those that it needs. Throws `plan_invalid`, which names a cycle. */
function inOrder(
  name: string,
  nodes: readonly CompiledNode[],
): { readonly ordered: readonly CompiledNode[]; readonly depth: number } {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const left = new Map(nodes.map((node) => [node.id, node.needs.length]));
  const needed = new Map<string, string[]>();
  for (const { id, needs } of nodes) for (const need of needs) needed.set(need, [...(needed.get(need) ?? []), id]);
  const levels = new Map<string, number>();
  const ready = nodes.filter(({ needs }) => needs.length === 0);
  const ordered: CompiledNode[] = [];
  for (let node = ready.shift(); node !== undefined; node = ready.shift()) {
    ordered.push(node);
    levels.set(node.id, 1 + Math.max(0, ...node.needs.map((need) => levels.get(need) ?? 0)));
    for (const id of needed.get(node.id) ?? []) {
      const count = (left.get(id) ?? 0) - 1;
      left.set(id, count);
      const next = byId.get(id);
      if (count === 0 && next !== undefined) ready.push(next);
    }
  }
  if (ordered.length < nodes.length) {
    const cycle = cycleAmong(byId, new Set(ordered.map(({ id }) => id)));
    const detail = `the nodes need one another: ${cycle.join(' needs ')}`;
    throw invalidPlan(name, [{ pointer: `/nodes/${cycle[0] ?? ''}`, detail }]);
  }
  return { ordered, depth: Math.max(0, ...levels.values()) };
}

/** Follows what is needed among the nodes that could not be ordered: each of these needs another one of them. */
function cycleAmong(byId: ReadonlyMap<string, CompiledNode>, done: ReadonlySet<string>): readonly string[] {
  const way: string[] = [];
  let id = [...byId.keys()].find((one) => !done.has(one));
  while (id !== undefined && !way.includes(id)) {
    way.push(id);
    id = byId.get(id)?.needs.find((need) => !done.has(need));
  }
  return id === undefined ? way : [...way.slice(way.indexOf(id)), id];
}
