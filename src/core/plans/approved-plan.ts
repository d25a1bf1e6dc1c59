import { answerProblems } from '../interruptions/answer.js';
import { canonical, type JsonValue } from '../json.js';
import { Allowance } from '../limits/allowance.js';
import type { Closure } from './closure.js';
import { waitsToRetry } from './node-call.js';
import { type CompiledBlock, type CompiledCall, type CompiledNode, type CompiledPlan, DEFAULT_MOST } from './plan.js';
import { fillTemplate, readTemplate } from './template.js';

/** A call that a run of a plan makes. */
export interface CallOfPlan {
  readonly callId: string;
  readonly tool: string;
  readonly arguments: JsonValue;
  /** The segment that the run was rebuilt at, whose calls have it behind their ids; null: it was not. */
  readonly rebuilt: number | null;
}

/**
 * Whether an id is that of a call at this place, in any round of the maps and loops around it. Two nodes never share an id: the number of a
 * case stands in the place too.
 */
function isAt(path: string, id: string): boolean {
  const steps = path.split('.');
  let at = 0;
  for (const step of id.split('.')) {
    if (step === steps[at]) at++;
    else if (!/^\d+$/.test(step)) return false;
  }
  return at === steps.length;
}

/** The id that the plan gave a call: without what a rebuilt segment puts behind it, and the number of its try. */
const plannedId = ({ callId, rebuilt }: CallOfPlan): string => {
  const suffix = rebuilt === null ? '' : `_s${rebuilt}`;
  return (callId.endsWith(suffix) ? callId.slice(0, callId.length - suffix.length) : callId).replace(/~\d+$/, '');
};

/**
 * Whether a call is one that was approved with the plan: of one of its nodes, with the arguments that the plan and its input say, or within the
 * `bounds` of the node. A question to people is never answered by it.
 */
export function isApproved(plan: CompiledPlan, input: JsonValue, call: CallOfPlan): boolean {
  const id = plannedId(call);
  return plan.calls.some(
    (one) => one.tool === call.tool && one.node.type !== 'ask' && isAt(one.path, id) && hasArguments(one, input, call),
  );
}

function hasArguments(one: CompiledCall, input: JsonValue, call: CallOfPlan): boolean {
  const { references } = readTemplate(one.arguments, '');
  if (references.every(({ pointer }) => pointer === '/input' || pointer.startsWith('/input/')))
    return canonical(fillTemplate(one.arguments, { input })) === canonical(call.arguments);
  const bounds = one.node.type === 'tool' ? one.node.bounds : undefined;
  if (bounds === undefined) return false;
  return (
    answerProblems({ choices: null, schema: bounds }, call.arguments, new Allowance({}, 'of the call')).length === 0
  );
}

/** How many calls a plan makes at most, with those that take others back, and the waits between tries. */
export const mostCalls = ({ block }: CompiledPlan): number => callsIn(block);

const callsIn = ({ nodes }: CompiledBlock): number => nodes.reduce((sum, node) => sum + callsOf(node), 0);

function callsOf({ node, call, undo, blocks }: CompiledNode): number {
  if (call !== null) {
    const tries = 'retry' in node && node.retry !== undefined ? node.retry.attempts : 1;
    const waits = waitsToRetry(node) ? tries - 1 : 0;
    return tries + waits + (undo === null ? 0 : 1);
  }
  const inside = blocks.map(callsIn);
  if (node.type === 'branch') return Math.max(0, ...inside);
  const rounds = node.type === 'loop' ? node.most : node.type === 'map' ? (node.most ?? DEFAULT_MOST) : 1;
  return rounds * (inside[0] ?? 0);
}

/** Characters of each part of what people read: none pushes another one out. */
const MOST_LISTED = 1500;
const MOST_DESCRIBED = 1000;

/** What people read who approve a plan: its nodes, what it can need, and its bounds. The arguments have the whole plan. */
export function textOfPlan(plan: CompiledPlan, closure: Closure, digest: string): string {
  const asked = plan.calls.filter((call) => !isFixed(call) && !isBounded(call) && call.node.type === 'tool');
  const said = [
    `Execute the plan ${digest}? It makes at most ${mostCalls(plan)} calls.`,
    described(plan.document.description ?? ''),
    `Nodes: ${listed(plan.calls.map(({ path, tool }) => `${path} (${tool})`))}.`,
    `It can need: ${listed([...closure.own.keys()])}.`,
    closure.passedOn.size === 0 ? '' : `Its agents can need: ${listed([...closure.passedOn.keys()])}.`,
    asked.length === 0 ? '' : `Asked for again where an approval is needed: ${listed(asked.map(({ path }) => path))}.`,
  ];
  return said.filter((one) => one !== '').join('\n');
}

/** A description is what the agent wrote: in quotes and on one line it passes for nothing else. */
function described(description: string): string {
  if (description === '') return '';
  const isCut = description.length > MOST_DESCRIBED;
  return `The agent says: ${JSON.stringify(description.slice(0, MOST_DESCRIBED).toWellFormed())}${isCut ? ' …' : ''}`;
}

/** As many of a list as fit, and how many more there are. */
function listed(items: readonly string[]): string {
  let left = MOST_LISTED;
  const shown = items.filter((item) => {
    left -= item.length + 2;
    return left >= 0;
  });
  const more = items.length - shown.length;
  return more === 0 ? items.join(', ') : `${[...shown, `and ${more} more`].join(', ')} (the arguments have all)`;
}

const isFixed = ({ arguments: given }: CompiledCall): boolean =>
  readTemplate(given, '').references.every(({ pointer }) => pointer === '/input' || pointer.startsWith('/input/'));

const isBounded = ({ node }: CompiledCall): boolean => node.type === 'tool' && node.bounds !== undefined;
