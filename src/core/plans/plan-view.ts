import { z } from 'zod';
import { jsonObject, nameText } from '../json.js';
import type { Closure } from './closure.js';
import type { CompiledBlock, CompiledPlan } from './plan.js';

const plannedNode = z.object({
  id: z.string().describe('The way to it: the names of the nodes that it is in, and its own.'),
  type: z.string(),
  tool: z.string().nullable().describe('Tool that the node calls. Null: it has nodes inside.'),
  needs: z.array(z.string()).describe('Nodes that end before it.'),
  description: z.string().nullable(),
});

const need = z.object({
  capability: z.string(),
  nodes: z.array(z.string()).describe('Nodes that need it.'),
  passedOn: z
    .boolean()
    .describe('Whether an agent of these nodes holds it, so that the plan must be able to pass it on.'),
});

const readPlan = z.object({
  nodes: z.array(plannedNode).describe('In an order in which each comes after those that it needs.'),
  capabilities: z.array(need).describe('Everything that the plan can ever need.'),
  mermaid: z.string().describe('Its graph, as Mermaid draws it.'),
});

/** A plan of the configuration. */
export const planView = readPlan
  .extend({
    name: z.string(),
    version: z.string(),
    definitionHash: z.string(),
    plan: jsonObject.describe('The plan as JSON.'),
  })
  .meta({ id: 'PlanView' });
export type PlanView = z.infer<typeof planView>;

export const planCheckRequest = z.strictObject({
  plan: jsonObject.describe('A plan as JSON, with the tools and the grants of the named one.'),
});
export type PlanCheckRequest = z.infer<typeof planCheckRequest>;

/** What a check of a plan found. */
export const planCheck = z
  .object({
    ok: z.boolean(),
    code: z.enum(['plan_invalid', 'plan_not_granted']).nullable().describe('Null: nothing is wrong.'),
    problems: z.array(z.object({ pointer: z.string(), detail: z.string() })),
    read: readPlan.nullable().describe('Null: the plan cannot be read.'),
  })
  .meta({ id: 'PlanCheck' });
export type PlanCheck = z.infer<typeof planCheck>;

export const planPath = z.strictObject({ name: nameText });

/** A plan and what it can need, as people and programs read it. */
export function readingOf(compiled: CompiledPlan, { own, passedOn }: Closure): z.infer<typeof readPlan> {
  const needs = (of: Closure['own'], isPassedOn: boolean) =>
    [...of].map(([capability, calls]) => ({ capability, nodes: calls.map(({ path }) => path), passedOn: isPassedOn }));
  return {
    nodes: nodesIn(compiled.block),
    capabilities: [...needs(own, false), ...needs(passedOn, true)],
    mermaid: mermaidOf(compiled),
  };
}

type PlannedNode = z.infer<typeof plannedNode>;

const nodesIn = ({ nodes }: CompiledBlock): PlannedNode[] =>
  nodes.flatMap(({ path, node, call, needs, blocks }) => [
    {
      ...{ id: path, type: node.type, tool: call?.tool ?? null, needs: [...needs] },
      description: node.description ?? null,
    },
    ...blocks.flatMap(nodesIn),
  ]);

/** Texts of users may have any characters. */
const labelOf = (text: string): string => text.replaceAll(/["<>&#\n]/g, (one) => `#${one.codePointAt(0)};`);

function mermaidOf({ block, nodes }: CompiledPlan): string {
  // Some names of nodes are words of Mermaid.
  const ids = new Map(nodes.map(({ path }, index) => [path, `n${index}`]));
  const linesOf = (of: CompiledBlock, indent: string): string[] =>
    of.nodes.flatMap(({ id, path, node, call, needs, blocks }) => {
      const own = ids.get(path) ?? '';
      const arrows = needs.map((need) => `${indent}${ids.get(`${path.slice(0, -id.length)}${need}`)} --> ${own}`);
      if (call === null) {
        const inner = blocks.flatMap((one) => linesOf(one, `${indent}  `));
        return [`${indent}subgraph ${own}["${id}: ${node.type}"]`, ...inner, `${indent}end`, ...arrows];
      }
      const label = labelOf(`${id}: ${node.type === 'agent' ? node.agent : call.tool}`);
      return [`${indent}${own}["${label}"]`, ...arrows];
    });
  return ['flowchart TD', ...linesOf(block, '  ')].join('\n');
}
