import type { Agent, FunctionTool } from '@openai/agents';
import { HoldfastError } from '../../core/errors/errors.js';
import type { JsonObject } from '../../core/json.js';
import { Allowance } from '../../core/limits/allowance.js';
import type { InterruptionRow } from '../../storage/interruptions/interruption-rows.js';
import type { RunOfCall } from '../../storage/runs/runs-to-resume.js';
import { toolSpecOf } from '../../tools/define/define-tool.js';
import { findReachableAgent } from '../../tools/define/reachable-agents.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
import { toolNamed } from '../agents/tool-named.js';
import type { EngineContext } from '../engine-context.js';
import { checksFor, problemOf } from './approval-terms.js';

/** Why a call would not run now, and where that is. */
interface Unfit {
  readonly pointer: '/arguments' | '/tool';
  readonly text: string;
}

/**
 * Why a call that waits for an approval would not run as this process knows its tool: the tool is gone, its arguments no longer fit,
 * or it needs by now what the run is denied. Null: nothing is known against it.
 */
export function unfitNow(context: Pick<EngineContext, 'agents'>, run: RunOfCall, row: InterruptionRow): Unfit | null {
  const registered = context.agents.get(run.agent);
  if (row.kind !== 'approval' || row.tool === null || registered === undefined) return null;
  const { tool: name } = row;
  const tool = toolNamed(context, { runAgent: run.agent, agent: row.agent, tool: name });
  if (tool === undefined)
    return isGone(registered, row.agent, name) ? { pointer: '/tool', text: `the tool ${name} is gone` } : null;
  // Written by the engine from arguments that the tool has parsed.
  const args = JSON.parse(row.arguments) as JsonObject;
  const problem = knownProblem(tool, args);
  if (problem !== null)
    return { pointer: '/arguments', text: `its arguments no longer fit: ${problem.replace(/\.$/, '')}` };
  const denied = checksFor(run, args, tool).find(({ effect }) => effect === 'deny');
  if (denied === undefined) return null;
  return { pointer: '/arguments', text: `by now ${name} needs ${denied.capability}, and ${denied.reason}` };
}

/** Of one item of a list: where finding out takes more, nothing is known. */
const WORK_EACH = 10_000;

function knownProblem(tool: FunctionTool, args: JsonObject): string | null {
  try {
    return problemOf(tool, args, new Allowance({ work: WORK_EACH }));
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'payload_too_large') return null;
    throw error;
  }
}

/** Whether a tool is gone. Tools of servers, and of agents behind tools, are only known while a run works. */
export function isGone({ agent: start, scaffold }: RegisteredAgent, name: string, tool: string): boolean {
  const agent: Agent | undefined = findReachableAgent(start, name);
  if (agent === undefined || agent.mcpServers.length > 0) return false;
  const tools = agent === start ? [...agent.tools, ...(scaffold?.tools ?? [])] : agent.tools;
  return !tools.some((one) => one.type === 'function' && (one.name === tool || toolSpecOf(one).name === tool));
}

/** Throws `call_unfit`, so that nobody approves what would be refused when it is about to run. */
export function assertRunsNow(context: EngineContext, run: RunOfCall, row: InterruptionRow, isEdited: boolean): void {
  const unfit = unfitNow(context, run, row);
  // Edited arguments are judged for themselves.
  if (unfit === null || (isEdited && unfit.pointer === '/arguments')) return;
  const hint =
    unfit.pointer === '/tool'
      ? 'Deploy a build that has its tool: without it the run fails when it goes on.'
      : row.reason === 'unknown_effect'
        ? 'Answer with the result if the call happened, or reject it.'
        : 'Approve it with `arguments` that fit, or reject it.';
  const { pointer, text } = unfit;
  throw new HoldfastError('call_unfit', `Interruption ${row.id} cannot be approved: ${text}. Nothing was decided.`, {
    fields: [{ pointer, detail: text }],
    hint,
  });
}
