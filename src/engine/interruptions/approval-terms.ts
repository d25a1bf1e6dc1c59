import type { Agent, FunctionTool } from '@openai/agents';
import { z } from 'zod';
import { differenceOf } from '../../core/difference.js';
import { type FieldError, HoldfastError } from '../../core/errors/errors.js';
import { checksOf } from '../../core/grants/capability.js';
import { parseGrants } from '../../core/grants/grants.js';
import { answerProblems } from '../../core/interruptions/answer.js';
import type { ApprovalExtras, Choice } from '../../core/interruptions/decision.js';
import type { Always, ArgumentEdit } from '../../core/interruptions/interruption.js';
import {
  type Standing,
  type StandingRule,
  standingFor,
  standingId,
  standingOf,
} from '../../core/interruptions/standing.js';
import { canonical, isObject, type JsonObject, type JsonValue, jsonObject } from '../../core/json.js';
import { Allowance } from '../../core/limits/allowance.js';
import { schemaInLinearTime, spendSchemaWork } from '../../core/limits/linear-schema.js';
import type { CapabilityCheck } from '../../core/log/event.js';
import { callDigest } from '../../core/runs/call.js';
import type { InterruptionRow } from '../../storage/interruptions/interruption-rows.js';
import { argumentsOf, capabilitiesOf, waitOf } from '../../storage/interruptions/interruptions.js';
import { grantsOf, type RunRow } from '../../storage/runs/run-row.js';
import type { RunOfCall } from '../../storage/runs/runs-to-resume.js';
import { isDeclared, toolSpecOf } from '../../tools/define/define-tool.js';
import { findReachableAgent } from '../../tools/define/reachable-agents.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
import { toolNamed, toolSpecNamed } from '../agents/tool-named.js';
import type { EngineContext } from '../engine-context.js';
import { allowanceOfRequest } from '../engine-context.js';

/**
 * Judges the edit and the standing decision of an approval as far as this process knows the tool; the segment that runs the
 * call judges both again. Throws `invalid_request`, `capability_denied`, `capability_invalid`.
 */
export function judgeExtras(
  agents: EngineContext['agents'],
  run: RunRow,
  row: InterruptionRow,
  choice: Choice,
  actor: string,
): ApprovalExtras {
  const tool = toolNamed({ agents }, { runAgent: run.agent, agent: row.agent, tool: row.tool ?? '' });
  const edit = choice.arguments === null ? null : editOf(run, row, choice.arguments, tool);
  const { always } = choice;
  if (always === null) return { edit, always, standing: null };
  const needs = edit === null ? capabilitiesOf(row) : neededBy(run, edit.arguments, tool);
  return { edit, always, standing: ruleOf(row, always, needs, actor) };
}

const invalid = (pointer: string, detail: string): HoldfastError =>
  new HoldfastError('invalid_request', `${pointer}: ${detail}`, { fields: [{ pointer, detail }] });

function editOf(run: RunRow, row: InterruptionRow, args: JsonObject, tool: FunctionTool | undefined): ArgumentEdit {
  const problem = tool === undefined ? null : problemOf(tool, args, allowanceOfRequest());
  if (problem !== null) throw invalid('/arguments', problem);
  const grants = parseGrants(grantsOf(run), { allowEverything: true });
  const denied = tool && checksFor(run, args, tool).find((check) => check.effect === 'deny');
  if (denied !== undefined) {
    const detail = `with these, ${row.tool} needs ${denied.capability}, and ${denied.reason}`;
    throw new HoldfastError('capability_denied', `/arguments: ${detail}. Nothing was decided.`, {
      fields: [{ pointer: '/arguments', detail }],
      hint: 'Approve arguments that the run is granted, or reject the call.',
    });
  }
  const digest = callDigest({
    ...{ runId: row.run_id, callId: row.call_id ?? '', tool: row.tool ?? '', toolVersion: row.tool_version },
    ...{ arguments: args, policyVersion: grants.policyVersion },
  });
  return { arguments: args, difference: differenceOf(argumentsOf(row), args, allowanceOfRequest()), digest };
}

/** What is wrong with arguments by the schema of their tool; a plain SDK tool has a JSON schema. Throws what the allowance throws. */
function problemOf(tool: FunctionTool, args: JsonObject, allowance: Allowance): string | null {
  const parsed = toolSpecOf(tool).parse(args);
  if (!parsed.ok) return parsed.problem;
  if (isDeclared(tool)) return null;
  const schema = jsonSchemaOf(tool);
  if (schema === null) return null;
  spendSchemaWork(schema, args, allowance);
  const result = schemaOf(schema, allowance)?.safeParse(args);
  return result === undefined || result.success ? null : z.prettifyError(result.error).replaceAll('\n', ' ');
}

/**
 * The Agents SDK writes a member that may be left out as one that is required and may be null. What left it out was taken by the tool, and
 * is taken again.
 */
function withOptionals(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(withOptionals);
  if (!isObject(schema)) return schema;
  const whole = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, withOptionals(value)]));
  const { required, properties } = schema;
  if (!Array.isArray(required) || !isObject(properties)) return whole;
  return { ...whole, required: required.filter((name) => !takesNull(properties[String(name)])) };
}

function takesNull(schema: JsonValue | undefined): boolean {
  if (!isObject(schema)) return false;
  const { type, anyOf, oneOf } = schema;
  if (type === 'null' || (Array.isArray(type) && type.includes('null'))) return true;
  return [anyOf, oneOf].some((context) => Array.isArray(context) && context.some(takesNull));
}

/** The JSON schema of what a tool takes; null: it has none that is an object. */
export const jsonSchemaOf = (tool: FunctionTool): JsonObject | null =>
  jsonObject.safeParse(withOptionals(JSON.parse(canonical(tool.parameters)))).data ?? null;

function schemaOf(schema: JsonObject, allowance: Allowance): z.ZodType | null {
  try {
    return schemaInLinearTime(schema, allowance);
  } catch (error) {
    if (error instanceof HoldfastError && error.code === 'payload_too_large') throw error;
    // A schema that zod cannot read is left to the tool itself, which parses before its body runs.
    return null;
  }
}

/** What a call needs, checked against the grants of its run; nothing is known of arguments that do not fit. */
export function checksFor(run: Pick<RunRow, 'id' | 'grants'>, args: JsonObject, tool: FunctionTool): CapabilityCheck[] {
  const spec = toolSpecOf(tool);
  const parsed = spec.parse(args);
  const grants = parseGrants(grantsOf(run), { allowEverything: true });
  return parsed.ok ? checksOf(grants, spec, parsed.input) : [];
}

function neededBy(run: RunRow, args: JsonObject, tool: FunctionTool | undefined): readonly string[] {
  if (tool === undefined)
    throw invalid('/always', 'this process does not know the tool, so that it cannot say what the edited call needs');
  return checksFor(run, args, tool).map((check) => check.capability);
}

/** The standing decision that an approval makes. It must cover the call that it is made with. */
function ruleOf(row: InterruptionRow, always: Always, needs: readonly string[], actor: string): StandingRule {
  const call = { agent: row.agent, tool: row.tool ?? '', version: row.tool_version, needs };
  const rule: StandingRule = {
    ...{ id: standingId(row.id), agent: row.agent, tool: call.tool, toolVersion: row.tool_version, actor },
    ...(always === true ? { scope: [...new Set(needs)], exact: true } : { scope: always.scope, exact: false }),
  };
  if (standingFor([readScope(rule)], call) !== null) return rule;
  throw invalid('/always', `the scope does not cover what this call needs: ${needs.join(', ') || 'nothing is known'}`);
}

function readScope(rule: StandingRule): Standing {
  try {
    return standingOf(rule);
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const { code, message, hint } = error;
    const fields = error.fields.map(({ pointer, detail }) => ({
      pointer: pointer.replace('/grants', '/always/scope'),
      detail,
    }));
    throw new HoldfastError(code, message.replace('The grant at /grants', 'The capability at /always/scope'), {
      ...{ cause: error, hint, fields },
    });
  }
}

/** Why a call would not run now, and where that is. */
interface Unfit {
  readonly pointer: '/arguments' | '/tool';
  readonly text: string;
}

/**
 * Why a call that waits for an approval would not run as this process knows its tool: the tool is gone, its arguments no longer fit,
 * or it needs by now what the run is denied. Null: nothing is known against it.
 */
export function unfitNow(agents: EngineContext['agents'], run: RunOfCall, row: InterruptionRow): Unfit | null {
  const registered = agents.get(run.agent);
  if (row.kind !== 'approval' || row.tool === null || registered === undefined) return null;
  const { tool: name } = row;
  const tool = toolNamed({ agents }, { runAgent: run.agent, agent: row.agent, tool: name });
  if (tool === undefined)
    return isGone(registered, row.agent, name) ? { pointer: '/tool', text: `the tool ${name} is gone` } : null;
  // Written by the engine from arguments that the tool has parsed.
  const args = argumentsOf(row) as JsonObject;
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

/** Throws `call_unfit`, so that no one approves what would be refused when it is about to run. */
export function assertRunsNow(
  agents: EngineContext['agents'],
  run: RunOfCall,
  row: InterruptionRow,
  isEdited: boolean,
): void {
  const unfit = unfitNow(agents, run, row);
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

/**
 * Holds an answer against what it must be: the choices or the schema of its question, and, where it stands for the output
 * of the tool, the shape of that. Throws `invalid_request` with a pointer to every wrong field.
 */
export function assertFits(
  agents: EngineContext['agents'],
  runAgent: string,
  row: InterruptionRow,
  value: JsonValue,
): void {
  const tool = row.tool ?? '';
  const spec = toolSpecNamed({ agents }, { runAgent, agent: row.agent, tool });
  const wait = waitOf(row)?.spec;
  if (wait?.kind === 'question') {
    refuse(answerProblems(wait, value, allowanceOfRequest()), (problem) => problem);
    if (spec === undefined || spec.resume !== null) return;
  }
  const parsed = spec?.parseOutput(value);
  if (parsed === undefined || parsed.ok) return;
  refuse([{ pointer: '', detail: parsed.problem }], (problem) => `${tool} does not return this: ${problem}`);
}

function refuse(problems: readonly FieldError[], say: (problem: string) => string): void {
  const [first] = problems;
  if (first === undefined) return;
  const fields = problems.map(({ pointer, detail }) => ({ pointer: `/value${pointer}`, detail }));
  throw new HoldfastError('invalid_request', `/value${first.pointer}: ${say(first.detail)}`, { fields });
}
