import { asJson, isRecord, type JsonObject } from '../json.js';
import {
  type AssistantMessage,
  type Conversation,
  type ConversationMessage,
  isAssistant,
  isToolMessage,
  type ToolMessage,
} from './conversation.js';
import type { Thread } from './thread.js';

/**
 * A thread as a `.traj.json` file of mini-swe-agent, version 1.1 of its format: the messages of the model with `extra` beside each, and
 * `info` of the whole. https://mini-swe-agent.com/latest/
 */
export const MINI_FORMAT = 'mini-swe-agent-1.1';

export function miniTrajectory(thread: Thread, { run }: Pick<Conversation, 'run'>): JsonObject {
  const answers = thread.messages.slice(thread.context).filter(isAssistant);
  const costs = answers.map(({ costUsd }) => costUsd);
  const status = exitStatus(run);
  const submission =
    typeof run.output === 'string' ? run.output : run.output === null ? '' : JSON.stringify(run.output);
  const system: JsonObject[] = thread.system === null ? [] : [{ role: 'system', content: thread.system }];
  const ended = { role: 'exit', content: submission, extra: { exit_status: status, submission } };
  return {
    info: {
      model_stats: {
        // What is not known costs nothing there.
        instance_cost: costs.reduce((sum, cost) => sum + Number(cost ?? 0), 0),
        api_calls: answers.length,
      },
      config: {
        agent: { name: thread.agent, version: run.agentVersion },
        agent_type: 'holdfast',
        model: { model_name: thread.models[0] ?? '' },
      },
      ...{ exit_status: status, submission },
    },
    messages: [...system, ...thread.messages.map(messageOf), ended],
    trajectory_format: MINI_FORMAT,
  };
}

const LIMITS: ReadonlySet<string> = new Set([
  ...['limit_turns', 'limit_tokens', 'limit_budget', 'limit_wall_time', 'limit_elapsed'],
]);

function exitStatus({ status, error }: Conversation['run']): string {
  if (status === 'completed') return 'Submitted';
  if (error === null) return status === 'cancelled' ? 'UserInterruption' : status;
  return LIMITS.has(error.code) ? 'LimitsExceeded' : error.code;
}

const secondsOf = (at: string): number => Date.parse(at) / 1000;

function messageOf(message: ConversationMessage): JsonObject {
  if (isToolMessage(message)) return observationOf(message);
  if (isAssistant(message)) return answerOf(message);
  return { role: message.role, content: message.text, extra: { timestamp: secondsOf(message.at) } };
}

function answerOf({ text, reasoning, calls, usage, costUsd, at }: AssistantMessage): JsonObject {
  const actions = calls.map(({ callId, tool, arguments: args }) => ({
    command: typeof args['command'] === 'string' ? args['command'] : `${tool} ${JSON.stringify(args)}`,
    tool_call_id: callId,
  }));
  return {
    ...{ role: 'assistant', content: text },
    ...(reasoning === null ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ callId, tool, arguments: args }) => ({
            ...{ id: callId, type: 'function', function: { name: tool, arguments: JSON.stringify(args) } },
          })),
        }),
    extra: {
      actions,
      ...(costUsd === null ? {} : { cost: Number(costUsd) }),
      ...(usage === null
        ? {}
        : { response: { usage: { prompt_tokens: usage.inputTokens, completion_tokens: usage.outputTokens } } }),
      timestamp: secondsOf(at),
    },
  };
}

function observationOf({ callId, text, outcome, at }: ToolMessage): JsonObject {
  const output = outcome?.type === 'output' && isRecord(outcome.output) ? outcome.output : {};
  const code = output['exitCode'];
  const failed = outcome !== null && outcome.type !== 'output';
  return {
    ...{ role: 'tool', tool_call_id: callId, content: text },
    extra: {
      raw_output: asJson(typeof output['stdout'] === 'string' ? output['stdout'] : text),
      returncode: typeof code === 'number' ? code : failed ? -1 : null,
      timestamp: secondsOf(at),
      exception_info: failed ? outcome.message : null,
    },
  };
}
