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

const MOST_SAID = 6000;

/** What people read who approve a plan: its nodes, what it can need, and its bounds. */
export function textOfPlan(plan: CompiledPlan, closure: Closure, digest: string): string {
  const asked = plan.calls.filter((call) => !isFixed(call) && !isBounded(call) && call.node.type === 'tool');
  const said = [
    `Execute the plan ${digest}? It makes at most ${mostCalls(plan)} calls.`,
    plan.document.description ?? '',
    `Nodes: ${plan.calls.map(({ path, tool }) => `${path} (${tool})`).join(', ')}.`,
    `It can need: ${[...closure.own.keys()].join(', ')}.`,
    closure.passedOn.size === 0 ? '' : `Its agents can need: ${[...closure.passedOn.keys()].join(', ')}.`,
    asked.length === 0
      ? ''
      : `Asked for again where an approval is needed: ${asked.map(({ path }) => path).join(', ')}.`,
  ];
  const text = said.filter((one) => one !== '').join('\n');
  return text.length <= MOST_SAID
    ? text
    : `${text.slice(0, MOST_SAID).toWellFormed()} … (the arguments have the whole plan)`;
}

const isFixed = ({ arguments: given }: CompiledCall): boolean =>
  readTemplate(given, '').references.every(({ pointer }) => pointer === '/input' || pointer.startsWith('/input/'));

const isBounded = ({ node }: CompiledCall): boolean => node.type === 'tool' && node.bounds !== undefined;
