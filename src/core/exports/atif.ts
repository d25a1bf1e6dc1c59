/**
 * ATIF, the Agent Trajectory Interchange Format, version 1.7 (Harbor, RFC 0001). What it has no field for is in `extra`: every
 * other object of the format is closed.
 */
import { type AgentPrompt, toolNamed } from '../agents/agent-prompt.js';
import { asJson, type JsonObject, type JsonValue } from '../json.js';
import { type ChatTool, chatTools } from './chat-row.js';
import {
  type AssistantMessage,
  type Conversation,
  type ConversationCall,
  isAssistant,
  isToolMessage,
  type Loop,
  type ToolMessage,
} from './conversation.js';

export const ATIF_VERSION = 'ATIF-v1.7';

export interface AtifStep {
  readonly step_id: number;
  readonly timestamp?: string;
  readonly source: 'system' | 'user' | 'agent';
  readonly model_name?: string;
  readonly message: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly {
    readonly tool_call_id: string;
    readonly function_name: string;
    readonly arguments: JsonObject;
    readonly extra?: JsonObject;
  }[];
  readonly observation?: { readonly results: readonly AtifResult[] };
  readonly metrics?: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly cost_usd?: number };
  readonly is_copied_context?: true;
  readonly llm_call_count?: number;
  readonly extra?: JsonObject;
}

interface AtifResult {
  readonly source_call_id: string;
  readonly content?: string;
  readonly subagent_trajectory_ref?: readonly { readonly trajectory_id: string }[];
  readonly extra?: JsonObject;
}

export interface AtifTrajectory {
  readonly schema_version: typeof ATIF_VERSION;
  readonly session_id: string;
  readonly trajectory_id: string;
  readonly agent: {
    readonly name: string;
    readonly version: string;
    readonly model_name?: string;
    readonly tool_definitions?: readonly ChatTool[];
    readonly extra?: JsonObject;
  };
  readonly steps: readonly AtifStep[];
  readonly final_metrics: {
    readonly total_prompt_tokens: number;
    readonly total_completion_tokens: number;
    readonly total_cost_usd?: number;
    readonly total_steps: number;
    readonly extra?: JsonObject;
  };
  readonly extra?: JsonObject;
  readonly subagent_trajectories?: readonly AtifTrajectory[];
}

/** A run with what its agents were told, and the runs that its calls started. */
export interface Family {
  readonly conversation: Conversation;
  readonly prompts: ReadonlyMap<string, AgentPrompt>;
  /** By run id; a child that is not there is named, and not referred to. */
  readonly children: ReadonlyMap<string, Family>;
}

/** What is said of a run in `extra`, such as what it was rewarded with. */
export interface AtifNotes {
  readonly root?: JsonObject;
  readonly final?: JsonObject;
}

/** One run as one document: agents behind tools and sub-agents are documents within it. Null: there is no step in it. */
export function atifOf(family: Family, notes: AtifNotes = {}): AtifTrajectory | null {
  const { run, head, loops } = family.conversation;
  const [main] = loops;
  if (main === undefined || main.messages.length === 0) return null;
  const document = documentOf(family, main);
  return {
    ...document,
    final_metrics: {
      total_prompt_tokens: run.usage.inputTokens,
      total_completion_tokens: run.usage.outputTokens,
      ...(run.costUsd === null ? {} : { total_cost_usd: Number(run.costUsd) }),
      total_steps: document.steps.length,
      ...(notes.final === undefined ? {} : { extra: notes.final }),
    },
    extra: {
      status: run.status,
      output: run.output,
      ...(run.error === null ? {} : { error: { code: run.error.code, message: run.error.message } }),
      metadata: run.metadata,
      head: { ...head },
      ...notes.root,
    },
  };
}

function documentOf(family: Family, loop: Loop): AtifTrajectory {
  const { run } = family.conversation;
  const steps = stepsOf(family, loop);
  const answers = loop.messages.filter(isAssistant);
  const [model] = answers.flatMap((one) => (one.model === null || one.copied ? [] : [one.model]));
  const tools = [...loop.offered].flatMap(([agent, names]) =>
    names.map((tool) => toolNamed(family.prompts.get(agent), tool)),
  );
  const once = [...new Map(tools.map((tool) => [tool.name, tool])).values()];
  const usage = answers.flatMap((one) => one.usage ?? []);
  const below = answers.flatMap(({ calls }) => calls.flatMap((call) => documentBelow(family, call) ?? []));
  return {
    schema_version: ATIF_VERSION,
    session_id: run.id,
    trajectory_id: loop.within === null ? run.id : loopId(run.id, loop.within),
    agent: {
      name: loop.within === null ? run.agent : (answers[0]?.agent ?? run.agent),
      version: run.agentVersion,
      ...(model === undefined ? {} : { model_name: model }),
      ...(once.length === 0 ? {} : { tool_definitions: chatTools(once) }),
    },
    steps,
    final_metrics: {
      total_prompt_tokens: usage.reduce((sum, one) => sum + one.inputTokens, 0),
      total_completion_tokens: usage.reduce((sum, one) => sum + one.outputTokens, 0),
      total_steps: steps.length,
    },
    ...(below.length === 0 ? {} : { subagent_trajectories: below }),
  };
}

const loopId = (runId: string, callId: string): string => `${runId}:${callId}`;

/** The document of what went on inside of a call; null: there is none. */
function idBelow({ conversation: { run, loops }, children }: Family, call: ConversationCall): string | null {
  if (loops.some(({ within }) => within === call.callId)) return loopId(run.id, call.callId);
  const child = call.childRunId === null ? undefined : children.get(call.childRunId);
  return child?.conversation.loops[0]?.messages.length ? child.conversation.run.id : null;
}

/** What went on inside of a call: an agent behind a tool, or the run that it started. */
function documentBelow(family: Family, { callId, childRunId }: ConversationCall): AtifTrajectory | null {
  const loop = family.conversation.loops.find(({ within }) => within === callId);
  if (loop !== undefined) return documentOf(family, loop);
  const child = childRunId === null ? undefined : family.children.get(childRunId);
  return child === undefined ? null : atifOf(child);
}

type Draft = Omit<AtifStep, 'step_id'>;

function stepsOf(family: Family, loop: Loop): AtifStep[] {
  const { run } = family.conversation;
  const results = new Map(loop.messages.filter(isToolMessage).map((one) => [one.callId, one]));
  const agent = loop.messages.find(isAssistant)?.agent ?? run.agent;
  const system = family.prompts.get(agent)?.instructions ?? null;
  const drafts: Draft[] = [];
  if (system !== null) drafts.push({ timestamp: run.createdAt, source: 'system', message: system });
  for (const message of loop.messages) {
    if (isToolMessage(message)) continue;
    const copied = message.copied ? { is_copied_context: true as const } : {};
    if (isAssistant(message)) drafts.push({ ...agentStep(family, message, results), ...copied });
    else drafts.push({ timestamp: message.at, source: message.role, message: message.text, ...copied });
  }
  const last = drafts.at(-1);
  if (last !== undefined && loop.within === null)
    drafts.splice(-1, 1, { ...last, extra: { ...last.extra, done: true } });
  return drafts.map((draft, index) => ({ step_id: index + 1, ...draft }));
}

function agentStep(family: Family, message: AssistantMessage, results: ReadonlyMap<string, ToolMessage>): Draft {
  const { calls, usage, costUsd, error, other } = message;
  const seen = calls.flatMap((call) => observed(family, call, results.get(call.callId)));
  const extra: Record<string, JsonValue> = {
    agent: message.agent,
    event: message.seq,
    ...(message.hash === null ? {} : { event_hash: message.hash }),
    ...(message.stateHashBefore === null ? {} : { state_hash_before: message.stateHashBefore }),
    ...(message.stateHashAfter === null ? {} : { state_hash_after: message.stateHashAfter }),
    ...(message.hash === null ? {} : { started_at: message.startedAt }),
    ...(error === null ? {} : { error: { ...error } }),
    ...(other.length === 0 ? {} : { other_items: other }),
  };
  return {
    timestamp: message.at,
    source: 'agent',
    ...(message.model === null ? {} : { model_name: message.model }),
    message: message.text,
    ...(message.reasoning === null ? {} : { reasoning_content: message.reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(toolCall) }),
    ...(seen.length === 0 ? {} : { observation: { results: seen } }),
    ...(usage === null ? {} : { metrics: metricsOf(usage, costUsd) }),
    ...(message.hash === null ? {} : { llm_call_count: 1 }),
    extra,
  };
}

const metricsOf = (usage: NonNullable<AssistantMessage['usage']>, costUsd: string | null) => ({
  prompt_tokens: usage.inputTokens,
  completion_tokens: usage.outputTokens,
  ...(costUsd === null ? {} : { cost_usd: Number(costUsd) }),
});

function toolCall({ callId, tool, arguments: args, asked, decision, checks }: ConversationCall) {
  const capability = checks.map(({ capability, effect, rule }) => ({ capability, effect, rule }));
  const extra: Record<string, JsonValue> = {
    ...(decision === null ? {} : { decision, capability }),
    ...(asked === null ? {} : { asked_arguments: asked }),
  };
  return {
    tool_call_id: callId,
    function_name: tool,
    arguments: args,
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

function observed(family: Family, call: ConversationCall, result: ToolMessage | undefined): AtifResult[] {
  const below = idBelow(family, call);
  if (result === undefined && below === null) return [];
  const { outcome = null, handoff = null } = result ?? {};
  const extra: Record<string, JsonValue> = {
    ...(outcome === null || outcome.type === 'output' ? {} : { outcome: outcome.type }),
    ...(outcome?.type === 'refused' ? { refused: outcome.why } : {}),
    ...(outcome?.type === 'error' ? { error: outcome.code } : {}),
    ...(handoff === null ? {} : { handoff }),
    ...(result?.workspace === undefined ? {} : { workspace: asJson(result.workspace) }),
    ...(call.childRunId === null ? {} : { child_run_id: call.childRunId }),
  };
  return [
    {
      source_call_id: call.callId,
      ...(result === undefined ? {} : { content: result.text }),
      ...(below === null ? {} : { subagent_trajectory_ref: [{ trajectory_id: below }] }),
      ...(Object.keys(extra).length === 0 ? {} : { extra }),
    },
  ];
}
