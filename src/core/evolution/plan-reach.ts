import { canonical, type JsonObject, type JsonValue, toJson } from '../json.js';
import type { CompiledCall, CompiledNode, CompiledPlan } from '../plans/plan.js';
import { changedMembers, membersOf, refused } from './changed-members.js';
import { type AgentPatch, patchedDefinition, patchInvalid } from './patch.js';

/** What a patch of a plan may change: its nodes, but nothing that an approval stands before, or that leads to one. */

const OPEN_MEMBERS: ReadonlySet<string> = new Set(['nodes', 'output', 'description', 'atOnce']);

export interface JudgedPlan {
  readonly definition: JsonObject;
  /** The document of the plan as the patch makes it, which is to be read as any other. */
  readonly document: JsonValue;
}

/** Applies a patch to the definition of a plan. Throws `patch_invalid` and `patch_out_of_reach`. */
export function patchedPlan(before: JsonObject, patch: AgentPatch): JudgedPlan {
  const definition = patchedDefinition(before, patch);
  const beyond = changedMembers(before, definition).find((field) => field !== 'plan');
  if (beyond !== undefined) throw refused('patch_out_of_reach', `/${beyond}`, 'this field of a plan');
  const [old, now] = [membersOf(before['plan']), membersOf(definition['plan'])];
  const changed = changedMembers(old, now);
  if (changed.length === 0) throw patchInvalid('it changes nothing');
  const closed = changed.find((member) => !OPEN_MEMBERS.has(member));
  if (closed !== undefined) throw refused('patch_out_of_reach', `/plan/${closed}`, 'this member of a plan');
  return { definition, document: now };
}

/**
 * Compares a plan before and after a patch. A node that has an approval in it, those before and after it, and those before these stay as
 * they are: otherwise people would be asked less, or about something else. What was called behind approvals alone is called nowhere else.
 * Throws `patch_loosens_approval`.
 */
export function assertApprovalsKept(before: CompiledPlan, after: CompiledPlan): void {
  const { frozen, behind } = guarded(before.block.nodes);
  if (frozen.size === 0) return;
  const now = new Map(after.block.nodes.map((node) => [node.id, node]));
  for (const { id, node } of before.block.nodes) {
    if (!frozen.has(id)) continue;
    const kept = now.get(id);
    if (kept === undefined || textOf(kept.node) !== textOf(node))
      throw refused('patch_loosens_approval', `/plan/nodes/${id}`, 'a node that an approval stands before or after');
  }
  const calledBehind = toolsOf(before.calls, (id) => behind.has(id));
  const calledOpenly = toolsOf(before.calls, (id) => !behind.has(id));
  const stray = after.calls.find(
    (call) => !frozen.has(topOf(call)) && calledBehind.has(call.tool) && !calledOpenly.has(call.tool),
  );
  if (stray !== undefined)
    throw refused('patch_loosens_approval', `/plan${stray.at}`, `where ${stray.tool} is called without its approval`);
}

/** Nodes that stay, and among them those that begin only when someone has approved. */
function guarded(nodes: readonly CompiledNode[]): {
  readonly frozen: ReadonlySet<string>;
  readonly behind: ReadonlySet<string>;
} {
  const behind = new Set(nodes.filter(hasApproval).map(({ id }) => id));
  // Nodes are in an order in which each comes after those that it needs.
  for (const { id, needs } of nodes) if (needs.some((need) => behind.has(need))) behind.add(id);
  const frozen = new Set(behind);
  for (const { id, needs } of nodes.toReversed()) if (frozen.has(id)) for (const need of needs) frozen.add(need);
  return { frozen, behind };
}

const hasApproval = ({ node, blocks }: CompiledNode): boolean =>
  (node.type === 'ask' && node.approval !== undefined) || blocks.some((block) => block.nodes.some(hasApproval));

/** The node of the plan itself that a call is of, or in. Names of nodes have no such signs. */
const topOf = ({ path }: CompiledCall): string => path.split(/[.~]/)[0] ?? '';

const toolsOf = (calls: readonly CompiledCall[], isOf: (top: string) => boolean): ReadonlySet<string> =>
  new Set(calls.filter((call) => isOf(topOf(call))).map(({ tool }) => tool));

const textOf = (value: unknown): string => canonical(toJson(value));
