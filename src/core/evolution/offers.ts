import type { ScaffoldName } from '../agents/scaffold.js';
import { canonical, type JsonObject, toJson } from '../json.js';
import type { ToolSpec } from '../tools/tool.js';
import { refused } from './refused.js';

/** What the configuration offers to patches of an agent, and what of it may take the place of what the agent has. */
export interface Offers {
  /** Models that a patch may name; `prefix/*` is all of a provider. */
  readonly models: readonly string[];
  /** Other versions of tools. */
  readonly tools: readonly ToolSpec[];
  readonly scaffolds: readonly ScaffoldName[];
}

/** The tools of an agent that `defineTool` made, by name. */
export interface OwnTools {
  readonly declared: ReadonlyMap<string, ToolSpec>;
  /** Names of those that its scaffold brings. */
  readonly ofScaffold: ReadonlySet<string>;
}

/**
 * The version of a tool that a patch puts in the place of the one that an agent has. Throws `patch_out_of_reach`, `patch_widens_grants`,
 * `patch_loosens_approval`.
 */
export function offeredVersion(
  { declared, ofScaffold }: OwnTools,
  { tools }: Offers,
  { name, version }: { readonly name: string; readonly version: string },
): ToolSpec {
  const at = `/tools/${name}/version`;
  const before = declared.get(name);
  if (ofScaffold.has(name)) throw refused('patch_out_of_reach', at, 'the version of a tool of the scaffold');
  if (before === undefined) throw refused('patch_out_of_reach', at, 'a tool that `defineTool` did not make');
  const versions = tools.filter((one) => one.name === name);
  const found = versions.find((one) => one.version === version);
  if (found === undefined) {
    const list = versions.map((one) => one.version).join(', ') || 'none';
    throw refused(
      'patch_out_of_reach',
      at,
      `it to a version that \`evolution.tools\` does not offer (of ${name}: ${list})`,
    );
  }
  assertNoMore(before, found);
  return found;
}

/** Functions are compared by what they are, since no one can compare what they do. */
function assertNoMore(before: ToolSpec, after: ToolSpec): void {
  const at = `/tools/${after.name}`;
  const of = `version ${after.version} of ${after.name}`;
  const more = moreNeeded(before, after);
  if (more !== null) throw refused('patch_widens_grants', at, `what a tool needs: ${of} ${more}`);
  const asked = (
    ['approvals', 'separateRequester', 'approvalExpiresInMs', 'effect', 'onUnknownEffect', 'label'] as const
  ).find((member) => before[member] !== after[member]);
  const differs = before.rules.approval === after.rules.approval ? asked : 'approval';
  if (differs !== undefined)
    throw refused('patch_loosens_approval', at, `when people are asked: ${of} has another ${differs}`);
  if (before.isolated !== undefined && before.isolated.isolation !== after.isolated?.isolation)
    throw refused('patch_out_of_reach', at, `where a body works: ${of} works elsewhere`);
}

function moreNeeded({ name, rules: before }: ToolSpec, { rules: after }: ToolSpec): string | null {
  if (before.capabilities === after.capabilities) return null;
  if (!Array.isArray(before.capabilities) || !Array.isArray(after.capabilities))
    return 'computes its capabilities by another function';
  const own = `tool:call:${name}`;
  const needs = (list: readonly unknown[]) => (list.length === 0 ? [own] : list.map(String));
  const known = new Set(needs(before.capabilities));
  const more = needs(after.capabilities).filter((one) => !known.has(one));
  return more.length === 0 ? null : `also needs ${more.join(', ')}`;
}

/** The scaffold that a patch puts in the place of the one that an agent has. Throws `patch_out_of_reach`, `patch_loosens_approval`. */
export function offeredScaffold(
  before: JsonObject,
  after: JsonObject,
  { declared, ofScaffold }: OwnTools,
  { scaffolds }: Offers,
): ScaffoldName {
  const at = '/scaffold';
  if (before['scaffold'] === undefined) throw refused('patch_out_of_reach', at, 'an agent that has no scaffold');
  const wanted = canonical(after['scaffold'] ?? null);
  const found = scaffolds.find(({ name, version }) => canonical(toJson({ name, version })) === wanted);
  if (found === undefined) {
    const list = scaffolds.map(({ name, version }) => `${name} ${version}`).join(', ') || 'none';
    throw refused(
      'patch_out_of_reach',
      at,
      `it to a scaffold that \`evolution.scaffolds\` does not offer (it offers ${list})`,
    );
  }
  const asking = [...ofScaffold].find((name) => asks(declared.get(name)));
  if (asking !== undefined) throw refused('patch_loosens_approval', at, `a scaffold whose ${asking} asks people`);
  return found;
}

const asks = (spec: ToolSpec | undefined): boolean =>
  spec !== undefined && (spec.rules.approval !== false || spec.approvals > 1 || spec.separateRequester === true);
